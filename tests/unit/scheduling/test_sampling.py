from __future__ import annotations

import random

import pytest

from tests.builders import make_frame, make_source
from vidpipe.scheduling.sampling import DetectRate


def chosen(rate_fps: float | None, times_s: list[float]) -> list[int]:
    rate = DetectRate(rate_fps)
    return [
        number
        for number, pts_s in enumerate(times_s)
        if rate.is_due(make_frame(number, pts_s=pts_s))
    ]


def steps(count: int, rate_fps: float, start_s: float = 0.0) -> list[float]:
    return [start_s + number / rate_fps for number in range(count)]


def test_without_a_rate_every_frame_is_due() -> None:
    assert chosen(None, steps(10, 25)) == list(range(10))


def test_the_first_frame_is_due_wherever_the_clock_begins() -> None:
    assert chosen(1, steps(30, 25, start_s=12345.6))[0] == 0


@pytest.mark.parametrize("source_fps", [10, 23.976, 25, 29.97, 60])
@pytest.mark.parametrize("rate_fps", [1, 3, 5, 7.5, 10])
def test_the_rate_holds_on_average(source_fps: float, rate_fps: float) -> None:
    seconds = 60
    due = chosen(rate_fps, steps(int(source_fps * seconds), source_fps))
    assert len(due) == pytest.approx(min(rate_fps, source_fps) * seconds, rel=0.02)


def test_a_rate_like_the_sources_takes_every_frame() -> None:
    milliseconds = [round(number * 1000 / 29.97) / 1000 for number in range(300)]
    assert chosen(29.97, milliseconds) == list(range(300))


def test_a_rate_above_the_sources_takes_every_frame() -> None:
    assert chosen(100, steps(50, 25)) == list(range(50))


def test_the_same_frames_are_chosen_in_every_run() -> None:
    times_s = steps(200, 29.97)
    assert chosen(4, times_s) == chosen(4, times_s)


def test_after_a_gap_it_begins_anew_and_makes_up_for_nothing() -> None:
    times_s = steps(25, 25) + steps(25, 25, start_s=100)
    due = [number for number in chosen(5, times_s) if number >= 25]
    assert due == [25, 30, 35, 40, 45]


def test_a_clock_that_is_set_back_stops_nothing() -> None:
    times_s = steps(25, 25, start_s=1000) + steps(25, 25)
    due = [number for number in chosen(5, times_s) if number >= 25]
    assert due == [25, 30, 35, 40, 45]


def test_frames_out_of_order_by_a_little_do_not_restart_the_beat() -> None:
    assert len(chosen(5, [0.0, 0.08, 0.04, 0.12, 0.16, 0.2])) == 2


def test_a_live_frames_time_is_its_arrival() -> None:
    rate = DetectRate(5)
    source = make_source(is_live=True)
    due = [
        number
        for number in range(25)
        if rate.is_due(make_frame(number, pts_s=0.0, captured_at=7 + number / 25, source=source))
    ]
    assert due == [0, 5, 10, 15, 20]


def test_a_camera_that_jitters_loses_next_to_nothing_at_its_own_rate() -> None:
    rng = random.Random(3)
    rate = DetectRate(25)
    source = make_source(is_live=True)
    due = sum(
        rate.is_due(make_frame(n, captured_at=n / 25 + rng.uniform(0, 0.015), source=source))
        for n in range(1000)
    )
    assert due >= 990


def test_frames_without_timestamps_are_counted_at_the_declared_rate() -> None:
    for rate_fps, expected in ((50.0, [0, 10, 20]), (None, [0, 5, 10, 15, 20])):
        rate = DetectRate(5)
        source = make_source(rate_fps=rate_fps)
        frames = (make_frame(number, pts_s=None, source=source) for number in range(25))
        assert [frame.number for frame in frames if rate.is_due(frame)] == expected
