from __future__ import annotations

import itertools

import pytest

from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare
from vidpipe.sources.leaping import Leap

RATE_FPS = 25


def decoded(leap: Leap, packets: range, *, key_every: int = 50) -> list[int]:
    """Return which packets are not passed over."""
    return [n for n in packets if not leap.passes_over(n / RATE_FPS, is_key=n % key_every == 0)]


def half_of(clock: FakeClock) -> DecodeShare:
    share = DecodeShare(clock)
    while share.share() > 0.5:
        clock.advance(2)
        share.note_late()
        clock.advance(0.5)
    return share


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


def test_rare_key_frames_are_not_waited_for() -> None:
    leap = Leap(None)
    decoded(leap, range(600), key_every=250)
    assert not leap.begin(0.7)


@pytest.mark.parametrize("to_s", [0.0, 4000.0])
def test_timestamps_that_begin_anew_end_a_leap(to_s: float) -> None:
    leap = Leap(None)
    decoded(leap, range(500, 620))
    assert leap.begin(0.7)
    assert leap.passes_over(620 / RATE_FPS, is_key=False)
    assert not leap.passes_over(to_s, is_key=False)


def test_a_share_leaves_out_whole_groups(clock: FakeClock) -> None:
    leap = Leap(half_of(clock))
    found = decoded(leap, range(5000))
    groups = sorted({n // 50 for n in found})
    assert found == [n for group in groups for n in range(50 * group, 50 * group + 50)]
    assert len(groups) == pytest.approx(45, abs=10)


def test_nothing_longer_than_some_seconds_is_left_out(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    for _ in range(100):
        clock.advance(2)
        share.note_late()
    leap = Leap(share)
    found = decoded(leap, range(5000))
    gaps = [(b - a) / RATE_FPS for a, b in itertools.pairwise(found)]
    assert 4.0 < max(gaps) <= 8.1


def test_a_leap_tells_that_somebody_is_late(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    clock.advance(10)
    Leap(share).begin(0.5)
    assert share.share() < 1.0
