from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import make_frame, make_source
from vidpipe.outputs.timeline import Thinning, Timeline, time_base_for
from vidpipe.types import Frame

LIVE = make_source(is_live=True, time_base=Fraction(1, 90_000))


def recorded(*times: float | None, time_base: Fraction | None = Fraction(1, 12_800)) -> list[Frame]:
    source = make_source(time_base=time_base)
    return [make_frame(n, pts_s=pts, source=source) for n, pts in enumerate(times)]


def live(*times: tuple[float | None, float], epochs: tuple[int, ...] = ()) -> list[Frame]:
    """Make frames of (timestamp, arrival)."""
    return [
        make_frame(n, pts_s=pts, captured_at=at, source=LIVE, epoch=epochs[n] if epochs else 0)
        for n, (pts, at) in enumerate(times)
    ]


def placed(frames: list[Frame]) -> list[float]:
    timeline = Timeline(frames[0])
    return [round(float(timeline.place(frame) * timeline.time_base), 4) for frame in frames]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Fraction(1, 90_000), Fraction(1, 90_000)),
        (Fraction(1, 25), Fraction(1, 10_000)),
        (Fraction(1001, 30_000), Fraction(1, 30_000)),
        (Fraction(1, 1_000_000_000), Fraction(1, 1_000_000)),
        (None, Fraction(1, 90_000)),
    ],
)
def test_the_unit_is_the_sources_or_a_part_of_it(
    source: Fraction | None, expected: Fraction
) -> None:
    assert time_base_for(source) == expected


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=50), st.integers(0, 100_000))
def test_a_recordings_timestamps_are_kept_to_the_tick(gaps: list[int], start: int) -> None:
    ticks = [start]
    for gap in gaps:
        ticks.append(ticks[-1] + gap)
    frames = recorded(*[tick / 12_800 for tick in ticks])
    timeline = Timeline(frames[0])
    assert [timeline.place(frame) for frame in frames] == ticks
    assert timeline.mended_count == 0


def test_a_recorders_clock_starts_at_zero() -> None:
    assert placed(recorded(50_000.0, 50_000.5)) == [0, 0.5]


def test_a_negative_start_is_moved_to_zero() -> None:
    assert placed(recorded(-0.5, 0.0)) == [0, 0.5]


def test_repeated_timestamps_are_moved_forward_and_said_once(log_lines: list[str]) -> None:
    frames = recorded(0.0, 0.04, 0.04, 0.03, 0.12)
    timeline = Timeline(frames[0])
    assert [timeline.place(frame) for frame in frames] == [0, 512, 513, 514, 1536]
    assert timeline.mended_count == 2
    assert len(log_lines) == 1


def test_a_recording_whose_clock_starts_anew_goes_on() -> None:
    assert placed(recorded(5.0, 5.1, 5.2, 0.0, 0.1)) == [5.0, 5.1, 5.2, 5.3, 5.4]


def test_a_leap_of_days_is_no_gap() -> None:
    assert placed(recorded(0.0, 0.1, 1e6, 1e6 + 0.1)) == [0, 0.1, 0.2, 0.3]


def test_a_long_gap_of_a_recording_is_kept() -> None:
    assert placed(recorded(0.0, 0.1, 600.0)) == [0, 0.1, 600.0]


def test_without_timestamps_the_declared_rate_counts_and_is_said_once(
    log_lines: list[str],
) -> None:
    source = make_source(rate_fps=10.0, time_base=None)
    frames = [make_frame(n, pts_s=None, source=source) for n in (0, 1, 2, 5)]
    assert placed(frames) == [0, 0.1, 0.2, 0.5]
    assert len(log_lines) == 1


def test_without_rate_or_timestamps_there_are_25_frames_a_second() -> None:
    source = make_source(rate_fps=None, time_base=None)
    assert placed([make_frame(n, pts_s=None, source=source) for n in range(3)]) == [0, 0.04, 0.08]


def test_a_single_missing_timestamp_stands_between_its_neighbours() -> None:
    assert placed(recorded(1.0, 1.04, None, 1.12)) == [1.0, 1.04, 1.08, 1.12]


def test_a_live_stream_starts_at_zero() -> None:
    assert placed(live((9000.0, 5.0), (9000.2, 5.1))) == [0, 0.2]


def test_a_burst_of_live_frames_keeps_the_cameras_time() -> None:
    assert placed(live((0.0, 5.0), (0.04, 5.0), (0.08, 5.0))) == [0, 0.04, 0.08]


def test_a_reconnect_goes_on_by_the_arrivals() -> None:
    frames = live((7.0, 0.0), (7.1, 0.1), (0.0, 30.1), (0.1, 30.2), epochs=(0, 0, 1, 1))
    assert placed(frames) == [0, 0.1, 30.1, 30.2]


@pytest.mark.parametrize("jump", [-5000.0, -2.0, 5000.0, 1e9])
def test_a_cameras_clock_may_jump(jump: float) -> None:
    frames = live((7.0, 0.0), (7.1, 0.1), (7.2 + jump, 0.2), (7.3 + jump, 0.3))
    assert placed(frames) == [0, 0.1, 0.2, 0.3]


def test_a_first_live_frame_without_timestamp_is_no_trouble() -> None:
    assert placed(live((None, 0.0), (5000.0, 0.1), (5000.1, 0.2))) == [0, 0.1, 0.2]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)),
            st.floats(0, 1e6),
        ),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_whatever_a_source_says_time_runs_forward(
    script: list[tuple[float | None, float]],
    is_live: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    source = make_source(is_live=is_live)
    frames = [
        make_frame(n, pts_s=pts, captured_at=at, source=source)
        for n, (pts, at) in enumerate(script)
    ]
    timeline = Timeline(frames[0])
    ticks = [timeline.place(frame) for frame in frames]
    assert ticks[0] >= 0
    assert all(low < high for low, high in pairwise(ticks))


def test_the_last_frame_is_shown_as_long_as_those_before() -> None:
    frames = recorded(0.0, 0.1, 0.2, 5.0, 5.1, 5.2)
    timeline = Timeline(frames[0])
    for frame in frames:
        timeline.place(frame)
    assert timeline.usual_gap == 1280


def test_a_single_frame_is_shown_as_declared() -> None:
    timeline = Timeline(recorded(0.0)[0])
    timeline.place(recorded(0.0)[0])
    assert timeline.usual_gap == 512


@pytest.mark.parametrize(
    ("source_fps", "max_fps", "expected"),
    [(25, 10, 100), (30, 15, 150), (25, 25, 250), (25, 100, 250), (25, 1, 10), (30, 29.97, 300)],
)
def test_thinning_keeps_the_rate_asked_for(
    source_fps: float, max_fps: float, expected: int
) -> None:
    thinning = Thinning(max_fps, Fraction(1, 1000))
    ticks = [round(1000 * n / source_fps) for n in range(int(10 * source_fps))]
    kept = sum(thinning.should_keep(tick) for tick in ticks)
    assert abs(kept - expected) <= 1


def test_thinning_does_not_catch_up_after_a_gap() -> None:
    thinning = Thinning(1.0, Fraction(1, 1000))
    ticks = [0, 60_000, 60_100, 60_200, 61_000]
    assert [thinning.should_keep(tick) for tick in ticks] == [True, True, False, False, True]
