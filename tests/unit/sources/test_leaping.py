from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.crowds import overloaded
from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare, Member
from vidpipe.sources.leaping import Leap

RATE_FPS = 25


def decoded(leap: Leap, packets: range, *, key_every: int = 50) -> list[int]:
    """Return which packets are not passed over."""
    return [n for n in packets if not leap.passes_over(n / RATE_FPS, is_key=n % key_every == 0)]


def played(
    member: Member, clock: FakeClock, packets: int, *, busy: Callable[[int], bool] = lambda _: True
) -> list[int]:
    """Return which packets are not passed over, played in their own time, beside others.

    Args:
        member: Its part.
        clock: Is moved on.
        packets: How many.
        busy: Tells of a packet whether the others decode meanwhile.
    """
    leap, share = Leap(member), member.common
    others = share._members - {member}
    found = []
    for n in range(packets):
        for one in others:
            assert not busy(n) or one.begins(must=True)
        found += [n] * (not leap.passes_over(n / RATE_FPS, is_key=n % 50 == 0))
        clock.advance(1 / RATE_FPS)
        share.note_late()
    return found


def test_nothing_is_left_out_unless_it_is_told() -> None:
    assert decoded(Leap(None), range(500)) == list(range(500))


def test_a_leap_ends_at_the_first_key_frame_far_enough() -> None:
    leap = Leap(None)
    decoded(leap, range(60))
    assert leap.begin(0.7)
    assert decoded(leap, range(60, 130)) == list(range(100, 130))
    assert leap.begin(1.0)
    assert decoded(leap, range(130, 210)) == list(range(200, 210))


def test_before_the_second_key_frame_there_is_nothing_to_leap_to() -> None:
    leap = Leap(None)
    decoded(leap, range(40))
    assert not leap.begin(0.7)
    assert decoded(leap, range(40, 60)) == list(range(40, 60))


def test_rare_key_frames_of_a_file_are_not_waited_for() -> None:
    leap = Leap(None, is_live=False)
    decoded(leap, range(600), key_every=250)
    assert not leap.begin(0.7)


def test_a_camera_whose_key_frames_are_rare_leaps_all_the_same() -> None:
    leap = Leap(None)
    decoded(leap, range(600), key_every=250)
    assert leap.begin(0.7)
    assert decoded(leap, range(600, 800), key_every=250) == list(range(750, 800))


@pytest.mark.parametrize("to_s", [0.0, 4000.0])
def test_timestamps_that_begin_anew_end_a_leap_at_their_first_key_frame(to_s: float) -> None:
    leap = Leap(None)
    decoded(leap, range(500, 620))
    assert leap.begin(0.7)
    assert leap.passes_over(620 / RATE_FPS, is_key=False)
    assert leap.passes_over(to_s, is_key=False)
    assert not leap.passes_over(to_s + 0.04, is_key=True)


def test_whole_groups_are_left_out_where_others_decode(clock: FakeClock) -> None:
    member = overloaded(clock).join(lambda: 0)
    found = played(member, clock, 400, busy=lambda n: 100 <= n < 230)
    assert found == [*range(100), *range(300, 400)]


def test_the_rest_of_a_group_is_left_out_where_others_are_worse_off(clock: FakeClock) -> None:
    member = overloaded(clock).join(lambda: 0)
    found = played(member, clock, 400, busy=lambda n: 120 <= n < 180)
    assert found == [*range(120), *range(250, 400)]


def test_nobody_rests_for_longer_than_some_seconds(clock: FakeClock) -> None:
    share = overloaded(clock)
    found = played(share.join(lambda: 0), clock, 5000)
    gaps = [(b - a) / RATE_FPS for a, b in itertools.pairwise(found)]
    assert 12.0 < max(gaps) <= 16.1


def test_a_file_is_held_where_a_leap_ends_until_that_moment_has_come() -> None:
    leap = Leap(None, is_live=False)
    decoded(leap, range(60))
    assert leap.begin(0.7)
    held = [n for n in range(60, 120) if leap.holds(n / RATE_FPS, is_key=n % 50 == 0)]
    assert held == [100]
    decoded(leap, range(60, 120))
    assert not leap.holds(150 / RATE_FPS, is_key=True)


def test_a_camera_is_never_held() -> None:
    leap = Leap(None)
    decoded(leap, range(60))
    assert leap.begin(0.7)
    assert not leap.holds(100 / RATE_FPS, is_key=True)


def test_a_file_that_is_played_again_shows_one_picture_and_may_rest(clock: FakeClock) -> None:
    share = overloaded(clock)
    member = share.join(lambda: 0)
    member.interval_s = 2.0
    assert all(one.begins(must=True) for one in share._members)
    leap = Leap(member, is_live=False)
    assert decoded(leap, range(100)) == [0]


def test_a_leap_tells_that_somebody_is_late(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    clock.advance(10)
    share.join(lambda: 0)
    Leap(share.join(lambda: 0)).begin(0.5)
    assert share._level.part < 1.0
