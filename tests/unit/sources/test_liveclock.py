from __future__ import annotations

import random
from itertools import pairwise

import pytest

from vidpipe.sources.liveclock import WRAP_S, LiveClock

FRAME_S = 0.04


def placed(*pairs: tuple[float | None, float], start_s: float | None = None) -> list[float]:
    """Place timestamps, each with its arrival."""
    clock = LiveClock(start_s)
    return [clock.place(pts_s, at, FRAME_S) for pts_s, at in pairs]


def test_good_timestamps_pass_as_they_are() -> None:
    times = [5.0, 5.04, 5.08, 5.2, 6.0]
    assert placed(*((t, t + 100) for t in times)) == times


def test_a_reconnect_goes_on_where_the_last_connection_left_off() -> None:
    assert placed((900.0, 0.0), (900.04, 0.04), start_s=3.0) == pytest.approx([3.0, 3.04])


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0, -5.0, 1e9, -1e9])
def test_a_jump_is_mended_by_the_time_of_arrival(jump_s: float) -> None:
    found = placed((1.0, 1.0), (1.04, 1.04), (1.08 + jump_s, 1.08), (1.12 + jump_s, 1.12))
    assert found == pytest.approx([1.0, 1.04, 1.08, 1.12])


def test_a_pause_of_the_camera_is_no_jump() -> None:
    assert placed((1.0, 1.0), (31.0, 31.0)) == [1.0, 31.0]


def test_thirty_three_bits_wrap_without_a_trace() -> None:
    last = WRAP_S - 0.04
    found = placed((last, 0.0), (0.0, 0.04), (0.04, 0.08))
    assert found == pytest.approx([last, last + 0.04, last + 0.08])


def test_missing_timestamps_are_those_of_arrival() -> None:
    found = placed((1.0, 1.0), (None, 1.04), (None, 1.08), (1.12, 1.12))
    assert found == pytest.approx([1.0, 1.04, 1.08, 1.12])


def test_a_first_picture_without_a_timestamp_begins_at_zero() -> None:
    assert placed((None, 50.0), (None, 50.04), (7000.0, 50.08)) == pytest.approx([0, 0.04, 0.08])


def test_a_clock_that_stands_still_goes_on_by_arrival() -> None:
    found = placed(*((1.0, 1.0 + n * FRAME_S) for n in range(50)))
    assert found[-1] == pytest.approx(1.0 + 49 * FRAME_S, abs=0.01)
    assert all(earlier < later for earlier, later in pairwise(found))


@pytest.mark.parametrize("seed", range(50))
def test_whatever_comes_time_only_rises_and_stays_near_the_clock(seed: int) -> None:
    rng = random.Random(seed)
    clock = LiveClock()
    now_s, pts_s, found = 0.0, rng.uniform(-1e6, 1e6), []
    for _ in range(500):
        now_s += rng.choice([0.0, 0.001, FRAME_S, FRAME_S, 0.5])
        pts_s += FRAME_S
        if rng.random() < 0.05:
            pts_s += rng.uniform(-1e6, 1e6)
        given = None if rng.random() < 0.1 else pts_s
        found.append(clock.place(given, now_s, FRAME_S))
    assert all(earlier < later for earlier, later in pairwise(found))
    assert found[-1] - found[0] <= now_s + 500 * FRAME_S + 20.0
