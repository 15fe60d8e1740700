"""Readers of units: which frames of a file, or of a group of pictures, go to the model.

Each is read on its capture's thread; how far it is may be seen by any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vidpipe.apps.batch.plan import Unit
from vidpipe.apps.batch.sampling import Sampling, time_without_stamps
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.sources.addresses import open_file
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.files import shown
from vidpipe.sources.truncation import is_file_cut
from vidpipe.types import Decoded, SourceInfo, SourceKind


@dataclass(slots=True)
class Reading:
    """How far the reading of a unit is.

    Attributes:
        frames: Frames decoded, wanted or not.
        has_ended: All that there is has been read.
        is_split_wrong: The part isn't what it was planned to be: the file can't be divided.
        info: What the source says of itself.
        failures: Of a group: why its pictures could not be read, by their places in it.
    """

    frames: int = 0
    has_ended: bool = False
    is_split_wrong: bool = False
    info: SourceInfo | None = None
    failures: dict[int, SourceError] = field(default_factory=dict)


class UnitReader:
    """Implements ``Reader`` for a unit of a video."""

    def __init__(
        self, inner: Reader, unit: Unit, sampling: Sampling, skip: int, reading: Reading
    ) -> None:
        """Read the unit's pictures from ``inner``, leaving out the first ``skip`` wanted ones."""
        self._inner = inner
        self._unit = unit
        self._sampling = sampling
        self._skip = skip
        self._reading = reading
        self._before_s = unit.before_s
        reading.info = inner.info

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself."""
        return self._inner.info

    def read(self) -> Decoded | None:
        """Return the next wanted picture; see ``interfaces.Reader``.

        Raises:
            SourceError: It failed, or is not what was planned.
        """
        reading = self._reading
        while (decoded := self._next()) is not None:
            number = self._unit.first_frame + reading.frames
            reading.frames += 1
            at_s = decoded.pts_s
            if at_s is None:
                at_s = time_without_stamps(number, self._inner.info.rate_fps)
            before_s, self._before_s = self._before_s, at_s
            if self._sampling.is_over(at_s):
                break
            if not self._sampling.wants(number, at_s, before_s):
                continue
            if self._skip:
                self._skip -= 1
                continue
            return Decoded(decoded.picture, decoded.pts_s, decoded.duration_s, number)
        reading.has_ended = True
        return None

    def close(self) -> None:
        """Release what the source holds."""
        self._inner.close()

    def _next(self) -> Decoded | None:
        unit = self._unit
        try:
            decoded = self._inner.read()
        except SourceError:
            self._reading.is_split_wrong = not unit.is_whole
            raise
        if unit.frames is not None:
            read = self._reading.frames + (decoded is not None)
            if read > unit.frames or (decoded is None and read < unit.frames):
                self._reading.is_split_wrong = True
                raise SourceError(
                    f"a part that should have {unit.frames} frames has {read}",
                    SourceCause.INCOMPLETE,
                )
        return decoded


class PictureReader:
    """Implements ``Reader`` for a group of pictures, each of them one frame.

    A frame's number is its picture's place in the group; one that can't be read is left out and
    noted.
    """

    def __init__(self, paths: Sequence[Path], reading: Reading) -> None:
        """Open nothing yet."""
        self._paths = paths
        self._reading = reading
        self._next = 0
        self._info = SourceInfo(SourceKind.FILE, is_live=False, codec="pictures", width=0, height=0)
        reading.info = self._info

    @property
    def info(self) -> SourceInfo:
        """The same for all: a picture's own size is its frame's."""
        return self._info

    def read(self) -> Decoded | None:
        """Return the next picture that can be read; see ``interfaces.Reader``."""
        while self._next < len(self._paths):
            number, self._next = self._next, self._next + 1
            try:
                decoded = _only_picture(self._paths[number])
            except SourceError as exc:
                self._reading.failures[number] = exc
                continue
            self._reading.frames += 1
            return Decoded(decoded.picture, None, None, number)
        self._reading.has_ended = True
        return None

    def close(self) -> None:
        """Nothing is held between two pictures."""


def _only_picture(path: Path) -> Decoded:
    reader = open_file(path)
    try:
        decoded, count = reader.read(), reader.info.frame_count or 1
    finally:
        reader.close()
    if count > 1:
        raise SourceError(
            f"{shown(path)} is a video of {count} frames: give it a video's ending",
            SourceCause.FORMAT,
        )
    if decoded is None:
        raise SourceError(f"{shown(path)} holds no picture", SourceCause.FORMAT)
    if is_file_cut(path):
        raise SourceError(f"{shown(path)} breaks off in the middle", SourceCause.INCOMPLETE)
    return decoded


def unit_opener(
    path: Path, unit: Unit, sampling: Sampling, skip: int, reading: Reading, threads: int
) -> Callable[[], Reader]:
    """Return what opens a unit of a video."""
    limits = VideoLimits(thread_count=threads)
    if not unit.is_whole:
        limits = replace(limits, span=unit.span)

    def open_unit() -> Reader:
        try:
            inner = open_file(path, limits=limits)
        except SourceError:
            reading.is_split_wrong = not unit.is_whole
            raise
        return UnitReader(inner, unit, sampling, skip, reading)

    return open_unit


def picture_opener(paths: Sequence[Path], reading: Reading) -> Callable[[], Reader]:
    """Return what opens a group of pictures."""

    def open_group() -> Reader:
        return PictureReader(paths, reading)

    return open_group
