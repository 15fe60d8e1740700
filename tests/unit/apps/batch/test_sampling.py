"""Samples follow from each frame's own number and times."""

from __future__ import annotations

from itertools import pairwise

import pytest

from vidpipe.apps.batch.sampling import Sampling, seconds_from_text
from vidpipe.errors import UsageError


def chosen(sampling: Sampling, times: list[float]) -> list[int]:
    """Return the numbers of the frames that belong to a sample."""
    befores = [None, *times[:-1]]
    return [
        number
        for number, (time, before) in enumerate(zip(times, befores, strict=True))
        if sampling.wants(number, time, before)
    ]


EVEN = [number / 25 for number in range(100)]


def test_all_are_wanted_unless_something_is_asked_for() -> None:
    assert chosen(Sampling(), EVEN) == list(range(100))
    assert Sampling().is_of_all


def test_every_takes_multiples() -> None:
    assert chosen(Sampling(every=10), EVEN) == list(range(0, 100, 10))


@pytest.mark.parametrize("fps", [1, 2, 4, 5, 8, 10, 12.5])
def test_a_rate_takes_the_first_frame_at_or_after_each_moment(fps: float) -> None:
    picked = chosen(Sampling(fps=fps), EVEN)
    assert len(picked) == pytest.approx(4 * fps, abs=1)
    for number in picked[1:]:
        moment = round(EVEN[number] * fps - 0.49999)
        assert EVEN[number - 1] * fps < moment + 1e-6 <= EVEN[number] * fps + 2e-6


def test_a_rate_above_the_videos_takes_all() -> None:
    assert chosen(Sampling(fps=60), EVEN) == list(range(100))


def test_a_rate_follows_the_clock_where_frames_are_irregular() -> None:
    times = [0.0, 0.1, 0.2, 1.3, 1.4, 4.0, 4.1]
    assert chosen(Sampling(fps=1), times) == [0, 3, 5]


def test_a_window_holds_its_beginning_and_not_its_end() -> None:
    assert chosen(Sampling(start_s=1.0, end_s=2.0), EVEN) == list(range(25, 50))
    assert chosen(Sampling(start_s=0.99, end_s=1.01, fps=1), EVEN) == [25]


def test_a_window_begins_with_a_frame_however_low_the_rate() -> None:
    assert chosen(Sampling(start_s=0.5, end_s=0.9, fps=0.1), EVEN) == [13]


def test_a_sample_doesnt_depend_on_where_the_video_is_divided() -> None:
    sampling = Sampling(fps=3, every=2, start_s=0.3)
    whole = chosen(sampling, EVEN)
    for cut in (1, 7, 33, 50):
        later = [
            number
            for number, (before, time) in enumerate(pairwise(EVEN), 1)
            if number >= cut and sampling.wants(number, time, before)
        ]
        assert [number for number in whole if number >= cut] == later


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1:30", 90), ("01:02:03.5", 3723.5), ("0.25", 0.25)]
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert seconds_from_text(text, "--start") == seconds


@pytest.mark.parametrize("text", ["", "x", "-1", "1:2:3:4", "1e3"])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="--end"):
        seconds_from_text(text, "--end")
