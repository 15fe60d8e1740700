from __future__ import annotations

from fractions import Fraction

import pytest

from vidpipe.sources.timestamps import Timeline

MILLIS = Fraction(1, 1000)


def test_presentation_times_pass_as_they_are() -> None:
    line = Timeline(Fraction(1, 90_000), 25.0)
    assert [line.place(ticks, ticks - 1, 3600)[0] for ticks in (126_000, 129_600, 133_200)] == [
        1.4,
        1.44,
        1.48,
    ]


def test_variable_steps_stay_variable() -> None:
    line = Timeline(MILLIS, 25.0)
    assert [line.place(ticks, None, 0) for ticks in (0, 10, 500, 501)] == [
        (0.0, None),
        (0.01, None),
        (0.5, None),
        (0.501, None),
    ]


def test_a_missing_presentation_time_is_the_decoding_time() -> None:
    line = Timeline(MILLIS, 25.0)
    assert [line.place(None, ticks, 40)[0] for ticks in (40, 80, 120)] == [0.04, 0.08, 0.12]


def test_a_missing_time_continues_from_the_one_before() -> None:
    line = Timeline(MILLIS, 25.0)
    line.place(1000, 1000, 100)
    assert line.place(None, None, 100)[0] == pytest.approx(1.1)
    assert line.place(1200, 1200, 100)[0] == 1.2


def test_a_first_picture_without_a_time_begins_at_the_streams_beginning() -> None:
    assert Timeline(MILLIS, 25.0, start_s=1.4).place(None, None, 0)[0] == 1.4


def test_without_durations_the_declared_rate_interpolates() -> None:
    line = Timeline(MILLIS, 10.0)
    line.place(0, 0, 0)
    at_s, duration_s = line.place(None, None, 0)
    assert at_s == pytest.approx(0.1)
    assert duration_s is None


def test_packed_pictures_come_out_in_rising_order() -> None:
    # An AVI with packed B-frames: what FFmpeg says of the first pictures of a real one.
    frames = [(1, 1), (2, 2), (3, 3), (5, 4), (4, 5), (6, 6), (8, 7), (7, 8), (9, 9), (269, None)]
    line = Timeline(Fraction(1, 25), 25.0)
    times = [line.place(pts, dts, 1)[0] for pts, dts in frames]
    assert times == sorted(set(times))


def test_a_repeated_time_is_put_between_its_neighbours() -> None:
    line = Timeline(MILLIS, 25.0)
    assert [line.place(ticks, None, 40)[0] for ticks in (40, 40, 80)] == [0.04, 0.06, 0.08]


def test_a_jump_of_a_spliced_recording_passes() -> None:
    line = Timeline(MILLIS, 25.0)
    line.place(60_000, None, 40)
    assert line.place(1000, None, 40)[0] == 1.0
    assert line.place(1040, None, 40)[0] == 1.04
