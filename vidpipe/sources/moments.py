"""Single pictures of a recorded file: sought for, so that an hour costs as little as a minute.

A picture is the one that ``open_file`` returns with that number and time: it is found by its time,
from the key frame before it on. Where that doesn't lead to it (a format without timestamps or
without an index, times that had to be mended), the file is read from its beginning and the pictures
are counted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av

from vidpipe.errors import SourceError
from vidpipe.sources.addresses import connect_file, open_file
from vidpipe.sources.declared import RAW_FORMATS, choose_stream
from vidpipe.sources.files import shown
from vidpipe.sources.planes import picture_of
from vidpipe.types import Picture

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_NEAR_S = 1.0
"""A moment this close ahead is decoded towards: seeking would lead to the same key frame."""

_STEPS_BACK_S = (0.0, 2.0, 15.0)
"""Pictures just before a key frame may be shown after it and need the one before that."""

_TOLERANCE_S = 2e-6
"""Times of results are rounded to six decimals."""


@dataclass(frozen=True, slots=True)
class WantedPicture:
    """Which picture is wanted.

    Attributes:
        number: Its number among the decoded ones, from 0.
        pts_s: Its time as results tell it, or None.
    """

    number: int
    pts_s: float | None


def pictures_at(
    path: Path, wanted: Sequence[WantedPicture]
) -> Generator[tuple[WantedPicture, Picture]]:
    """Yield the wanted pictures as they are found, sought ones first; those that aren't there not.

    One thread reads; close the generator to release the file. A picture stays valid.

    Args:
        path: A recorded file, or a picture.
        wanted: Any order; each once.

    Raises:
        SourceError: The file can't be opened, or can't be read to the last of them.
    """
    missing = set(wanted)
    for want, picture in _sought(path, sorted(missing, key=_by_time)):
        missing.discard(want)
        yield want, picture
    if missing:
        yield from _counted(path, missing)


def _by_time(want: WantedPicture) -> tuple[float, int]:
    return (-1.0 if want.pts_s is None else want.pts_s), want.number


def _sought(
    path: Path, wanted: Iterable[WantedPicture]
) -> Generator[tuple[WantedPicture, Picture]]:
    """Yield what is found by its time."""
    try:
        container = connect_file(path)
    except SourceError:
        return  # said in plain words by who reads it from its beginning
    try:
        if container.format.name in RAW_FORMATS:
            return
        search = _Search(container, choose_stream(container, shown(path)))
        for want in wanted:
            frame = None if want.pts_s is None else search.find(want.pts_s)
            if frame is not None:
                yield want, picture_of(frame)
    except (av.FFmpegError, OSError, SourceError):
        return  # likewise
    finally:
        container.close()


class _Search:
    """Finds frames of one open container by their times, cheaply where these increase."""

    def __init__(self, container: Any, stream: Any) -> None:
        self._container = container
        self._stream = stream
        self._base = stream.time_base
        stream.codec_context.thread_count = 1  # others analyse meanwhile
        self._frames: Iterator[VideoFrame] = iter(())
        self._at_s: float | None = None

    def find(self, pts_s: float) -> VideoFrame | None:
        """Return the frame of a time, or None."""
        if self._at_s is not None and 0 < pts_s - self._at_s <= _NEAR_S:
            frame = self._decode_to(pts_s)
            if frame is not None:
                return frame
        for earlier_s in _STEPS_BACK_S:
            self._seek(pts_s - earlier_s)
            frame = self._decode_to(pts_s)
            if frame is not None:
                return frame
        return None

    def _decode_to(self, pts_s: float) -> VideoFrame | None:
        for frame in self._frames:
            if frame.pts is None:
                return None
            self._at_s = float(frame.pts * self._base)
            if abs(self._at_s - pts_s) <= max(_TOLERANCE_S, float(self._base) / 2):
                # From an open group of pictures the first ones may lack what they refer to.
                return None if frame.is_corrupt else frame
            if self._at_s > pts_s:
                return None
        return None

    def _seek(self, pts_s: float) -> None:
        ticks = round(pts_s / float(self._base))
        self._container.seek(ticks, stream=self._stream, backward=True, any_frame=False)
        self._frames = iter(self._container.decode(self._stream))
        self._at_s = None


def _counted(path: Path, wanted: set[WantedPicture]) -> Generator[tuple[WantedPicture, Picture]]:
    """Yield what is found by its number.

    Raises:
        SourceError: As ``pictures_at``.
    """
    by_number = {want.number: want for want in wanted}
    reader = open_file(path)
    try:
        for number in range(max(by_number) + 1):
            decoded = reader.read()
            if decoded is None:
                return
            if number in by_number:
                yield by_number[number], decoded.picture
    finally:
        reader.close()
