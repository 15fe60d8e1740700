from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import pytest

from tests.crowds import overloaded
from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare, Member
from vidpipe.sources.sieve import Sieve
from vidpipe.sources.skipping import DecodeMode, DecodePlan
from vidpipe.sources.vitals import Vitals

FRAME_S = 0.04
GROUP = 50


@dataclass(frozen=True)
class Packet:
    dts: int | None
    is_keyframe: bool
    time_base: Fraction | None = Fraction(1, 25)
    is_corrupt: bool = False


def packets(numbers: Iterable[int], *, has_times: bool = True, first: int = 0) -> list[Packet]:
    return [Packet(n if has_times else None, (n - first) % GROUP == 0) for n in numbers]


def admitted(sieve: Sieve, some: list[Packet]) -> list[int]:
    """Return the indices of the packets that go to the decoder."""
    found = []
    for n, packet in enumerate(some):
        sieve.holds(packet)
        found += [n] * sieve.admits(packet)
    return found


def crowded(clock: FakeClock) -> Member:
    """Return the part of a stream beside others, who are better off and take all places."""
    share = overloaded(clock)
    others = list(share._members)
    member = share.join(lambda: 0)
    assert all(one.begins(must=True) for one in others)
    return member


@pytest.mark.parametrize("has_times", [True, False])
def test_a_leap_in_a_file_lands_at_the_next_key_frame_with_or_without_times(
    *, has_times: bool
) -> None:
    vitals = Vitals(heard_at=50_000.0)
    sieve = Sieve(DecodePlan(), vitals, FRAME_S, is_live=False)
    assert len(admitted(sieve, packets(range(111), has_times=has_times))) == 111
    sieve.leap.begin(0.7)
    left = packets(range(111, 300), has_times=has_times)
    assert admitted(sieve, left)[0] == 150 - 111


def test_packets_without_a_time_do_not_end_a_leap_between_key_frames() -> None:
    sieve = Sieve(DecodePlan(), Vitals(heard_at=50_000.0), FRAME_S, is_live=True)
    admitted(sieve, packets(range(110)))
    sieve.leap.begin(0.7)
    left = packets(range(110, 200))
    left[3] = Packet(None, is_keyframe=False)
    assert admitted(sieve, left)[0] == 150 - 110


def test_key_frames_alone_are_no_burden_to_others(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    member = share.join(lambda: 0)
    share.join(lambda: 0)
    vitals = Vitals()
    sieve = Sieve(DecodePlan(DecodeMode.KEY, share=member), vitals, FRAME_S, is_live=False)
    assert admitted(sieve, packets(range(500))) == list(range(0, 500, GROUP))
    assert member.take_decoded() == 9, "of the first one nobody knows that others follow"
    assert not member.is_at_it(clock())
    assert (vitals.skipped, vitals.overtaken) == (490, 0)


def test_what_is_skipped_by_choice_is_not_counted_as_late(clock: FakeClock) -> None:
    vitals = Vitals()
    plan = DecodePlan(DecodeMode.KEY, share=crowded(clock))
    sieve = Sieve(plan, vitals, FRAME_S, is_live=False)
    admitted(sieve, packets(range(500)))
    sieve.tell_overtaken()
    assert vitals.skipped == 490
    assert 0 < vitals.overtaken < 10


def test_a_file_that_begins_between_key_frames_is_not_left_before_the_first(
    clock: FakeClock,
) -> None:
    member = crowded(clock)
    member.interval_s = 2.0  # it was played before
    sieve = Sieve(DecodePlan(share=member), Vitals(), FRAME_S, is_live=False)
    assert admitted(sieve, packets(range(200), first=20))[:21] == list(range(21))


def test_what_was_passed_over_is_told_behind_the_pictures_before_it() -> None:
    vitals = Vitals()
    sieve = Sieve(DecodePlan(), vitals, FRAME_S, is_live=True)
    admitted(sieve, packets(range(110)))
    sieve.leap.begin(0.7)
    admitted(sieve, packets(range(110, 150)))
    assert vitals.overtaken == 0
    admitted(sieve, packets([150]))
    assert vitals.overtaken == 40
