"""What lies ahead: how many frames the inputs have, how long they last, how much disk it takes.

Read from headers, within a time limit: what it doesn't reach is estimated by its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.errors import SourceError
from vidpipe.interfaces import Clock
from vidpipe.sources.headers import expected_frames, read_header
from vidpipe.types import SourceInfo

_MOST_S = 10.0
_LINE_BYTES = 400
"""Of a frame with two or three objects in it."""

_FRAMES_A_MB = 100.0
"""Where no header says anything."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What lies ahead.

    Attributes:
        frames: About how many frames each input has, by its name.
        seconds: How long the videos last altogether; of those that say it.
        size_bytes: The inputs' size.
        largest_wh: The largest picture that was seen, or None.
        is_exact: Every header was read.
    """

    frames: Mapping[str, float]
    seconds: float
    size_bytes: int
    largest_wh: tuple[int, int] | None
    is_exact: bool

    @property
    def result_bytes(self) -> int:
        """About how much the lines take."""
        return int(sum(self.frames.values()) * _LINE_BYTES)


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
    size = sum(sizes.values())
    return Survey(frames_of, seconds, size, largest if largest[0] else None, is_exact)


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
