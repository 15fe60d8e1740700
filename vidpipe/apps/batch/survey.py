"""What lies ahead: how many frames the inputs have, how long they last, how much disk it takes.

Read from headers, within a time limit: what it doesn't reach is estimated by its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.errors import SourceError
from vidpipe.interfaces import Clock
from vidpipe.sources.headers import expected_frames, read_header
from vidpipe.types import SourceInfo

_MOST_S = 10.0
_LINE_BYTES = 400
"""Of a frame with two or three objects in it."""

_FRAMES_A_MB = 100.0
"""Where no header says anything."""

_TABLES = ("csv", "parquet", "coco", "mot")
_TABLE_SHARE = 0.5
"""Of the lines; each of the tables holds the same once more, in fewer words."""

_PICTURES = {"contact": 400_000, "html": 80_000}
"""Bytes of a video's pictures."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run has to do.

    Attributes:
        frames: About how many frames it has to analyse.
        room_bytes: About how much disk that takes.
        done: Inputs that an earlier run has done.
    """

    frames: float
    room_bytes: int
    done: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What lies ahead.

    Attributes:
        frames: About how many frames each input has, by its name.
        seconds: How long the videos last altogether; of those that say it.
        sizes: Each video's size in bytes, by its name.
        size_bytes: The inputs' size.
        largest_wh: The largest picture that was seen, or None.
        is_exact: Every header was read.
    """

    frames: Mapping[str, float]
    seconds: float
    sizes: Mapping[str, int]
    size_bytes: int
    largest_wh: tuple[int, int] | None
    is_exact: bool

    def forecast(
        self, save: Collection[str], done: Collection[str], sampling: Sampling
    ) -> Forecast:
        """Return what is left to do for some formats, where some inputs are done already."""
        of_videos = sum(self.frames[stem] for stem in self.sizes)
        mean_fps = of_videos / self.seconds if self.seconds else None
        share = sampling.share(mean_fps, self.seconds / max(1, len(self.sizes)))
        frames = sum(
            count * (share if stem in self.sizes else 1.0)
            for stem, count in self.frames.items()
            if stem not in done
        )
        videos = [size for stem, size in self.sizes.items() if stem not in done]
        tables = sum(name in save for name in _TABLES)
        room = frames * _LINE_BYTES * (1 + _TABLE_SHARE * tables)
        room += len(videos) * sum(size for name, size in _PICTURES.items() if name in save)
        # Drawn on and encoded anew, a video takes about as much as it did.
        room += sum(videos) if "video" in save else 0
        return Forecast(frames, int(room), len(self.frames.keys() & set(done)))


def survey(
    files: Sequence[InputFile],
    clock: Clock = time.monotonic,
    read: Callable[[Path], SourceInfo] = read_header,
) -> Survey:
    """Read the inputs' headers; what can't be read counts by its size."""
    until = clock() + _MOST_S
    known: dict[str, float] = {}
    sizes: dict[str, int] = {}
    seconds, largest, is_exact = 0.0, (0, 0), True
    for file in files:
        sizes[file.stem] = _size_bytes(file.path)
        if file.kind is Kind.PICTURE:
            known[file.stem] = 1.0
            continue
        if clock() > until:
            is_exact = False
            continue
        try:
            info = read(file.path)
        except SourceError:
            known[file.stem] = 1.0
            continue
        seconds += info.duration_s or 0.0
        largest = max(largest, (info.width, info.height), key=lambda wh: wh[0] * wh[1])
        if (frames := expected_frames(info)) is not None:
            known[file.stem] = frames
    rate = _frames_a_byte(known, sizes)
    frames_of = {
        file.stem: max(1.0, known.get(file.stem, sizes[file.stem] * rate)) for file in files
    }
    videos = {file.stem: sizes[file.stem] for file in files if file.kind is Kind.VIDEO}
    size = sum(sizes.values())
    return Survey(frames_of, seconds, videos, size, largest if largest[0] else None, is_exact)


def _frames_a_byte(known: Mapping[str, float], sizes: Mapping[str, int]) -> float:
    counted = [stem for stem, frames in known.items() if frames > 1]
    size = sum(sizes[stem] for stem in counted)
    if not size:
        return _FRAMES_A_MB / 1e6
    return sum(known[stem] for stem in counted) / size


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
