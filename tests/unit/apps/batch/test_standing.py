"""How a batch stands, in numbers and words."""

from __future__ import annotations

import pytest

from vidpipe.apps.batch.budget import chosen_jobs
from vidpipe.apps.batch.standing import (
    Pace,
    Running,
    Standing,
    duration_text,
    line_from_standing,
    size_text,
)


def test_the_rest_takes_as_long_as_the_beginning_foretells() -> None:
    pace = Pace()
    assert pace.left_s(0.5, 0.0) is None  # half was done by an earlier run
    assert pace.left_s(0.501, 10.0) is None
    assert pace.left_s(0.6, 10.0) == pytest.approx(40.0)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    pace = Pace()
    rates = [pace.rate_fps(frames, float(at)) for at, frames in enumerate(range(0, 3000, 100))]
    assert rates[-1] == pytest.approx(100.0)
    assert pace.rate_fps(2900, 60.0) < 100


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (75, "1 min 15 s"), (11_520, "3 h 12 min")]
)
def test_durations_are_told(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(12, "12 B"), (1234, "1.23 kB"), (5e9, "5 GB"), (7.5e13, "75 TB")]
)
def test_sizes_are_told(size: float, text: str) -> None:
    assert size_text(size) == text


def test_a_line_says_it_all() -> None:
    standing = Standing(40, 10, 2, 5000, 120.4, 0.25, 90, (Running("a.mp4", 0.5),))
    assert line_from_standing(standing) == (
        "12 of 40 files (2 failed); 25.0 %; 5000 frames, 120 a second; 1 min 30 s left; a.mp4 50 %"
    )


def test_jobs_follow_cores_and_memory() -> None:
    assert chosen_jobs(2, (1920, 1080), 8_000_000_000) == 3
    assert chosen_jobs(64, (1920, 1080), None) == 65
    assert chosen_jobs(64, (3840, 2160), 8_000_000_000) == 6
    assert chosen_jobs(4, None, 1) == 1
