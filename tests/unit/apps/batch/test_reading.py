"""Readers of units: numbers, samples, and parts that aren't what was planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import make_picture, make_source
from tests.clips import ClipSpec, write_clip
from vidpipe.apps.batch.plan import Unit
from vidpipe.apps.batch.reading import PictureReader, Reading, UnitReader, unit_opener
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.errors import SourceError
from vidpipe.interfaces import Reader
from vidpipe.sources.spans import Span
from vidpipe.types import Decoded, SourceInfo

PART = Unit(1, Span(100, 200, 5), first_frame=50, frames=5, before_s=1.96)


class Script:
    """A reader of so many pictures, 25 a second, from 2 s on."""

    def __init__(self, count: int, *, has_times: bool = True) -> None:
        self._left = count
        self._count = count
        self._has_times = has_times

    @property
    def info(self) -> SourceInfo:
        return make_source()

    def read(self) -> Decoded | None:
        if not self._left:
            return None
        number, self._left = self._count - self._left, self._left - 1
        return Decoded(make_picture(), 2.0 + number / 25 if self._has_times else None)

    def close(self) -> None:
        self._left = 0


def numbers(reader: Reader) -> list[int | None]:
    found = []
    while (decoded := reader.read()) is not None:
        found.append(decoded.number)
    return found


def test_a_part_goes_on_with_the_numbers() -> None:
    reading = Reading()
    assert numbers(UnitReader(Script(5), PART, Sampling(), 0, reading)) == [50, 51, 52, 53, 54]
    assert (reading.frames, reading.has_ended, reading.is_split_wrong) == (5, True, False)


def test_what_is_written_already_is_passed_over() -> None:
    assert numbers(UnitReader(Script(5), PART, Sampling(every=2), 1, Reading())) == [52, 54]


@pytest.mark.parametrize("count", [0, 4, 6])
def test_a_part_of_another_length_is_no_part(count: int) -> None:
    reading = Reading()
    with pytest.raises(SourceError, match="should have 5 frames"):
        numbers(UnitReader(Script(count), PART, Sampling(), 0, reading))
    assert reading.is_split_wrong
    assert not reading.has_ended


def test_a_window_ends_the_reading_early() -> None:
    reading = Reading()
    found = numbers(UnitReader(Script(5), PART, Sampling(end_s=2.08), 0, reading))
    assert found == [50, 51]
    assert reading.has_ended


def test_without_times_the_numbers_stand_for_them() -> None:
    reader = UnitReader(Script(100, has_times=False), Unit(), Sampling(fps=1), 0, Reading())
    assert numbers(reader) == [0, 25, 50, 75]


def test_a_whole_file_has_no_number_to_keep_to(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=7))
    reading = Reading()
    opener = unit_opener(clip, Unit(), Sampling(), 0, reading, 1)
    reader = opener()
    try:
        assert numbers(reader) == list(range(7))
    finally:
        reader.close()
    assert reading.info is not None
    assert reading.info.frame_count == 7


def test_a_part_that_cant_be_opened_says_so(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=7))
    reading = Reading()
    unit = replace(PART, span=Span(999_999))
    with pytest.raises(SourceError):
        unit_opener(clip, unit, Sampling(), 0, reading, 1)()
    assert reading.is_split_wrong


def test_pictures_that_cant_be_read_are_left_out_and_noted(tmp_path: Path) -> None:
    paths = [write_clip(tmp_path / f"{n}.png", ClipSpec(frames=1, codec="png", pix_fmt="rgb24",
             container={"update": "1"})) for n in range(3)]  # fmt: skip
    paths[1].write_bytes(b"nothing")
    reading = Reading()
    assert numbers(PictureReader(paths, reading)) == [0, 2]
    assert list(reading.failures) == [1]
    assert reading.has_ended


def test_a_video_that_is_called_a_picture_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    write_clip(tmp_path / "a.mp4", ClipSpec(frames=7)).rename(path)
    reading = Reading()
    assert numbers(PictureReader([path], reading)) == []
    assert "a video of 7 frames" in str(reading.failures[0])
