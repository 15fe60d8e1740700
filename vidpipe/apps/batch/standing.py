"""How a batch stands at one moment, and how long it will take. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from vidpipe.sources.files import shown

_WINDOW_S = 10.0
_LEAST_SHARE = 0.002
"""Before so much is done nobody can say how long the rest takes."""


@dataclass(frozen=True, slots=True)
class Running:
    """A file at work: its name, and how much of it is done, 0 to 1."""

    stem: str
    share: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A batch at one moment.

    Attributes:
        files: How many there are.
        done: How many are done, those of earlier runs included.
        failed: How many are set aside, likewise.
        frames: Frames that this run has asked the model about.
        rate_fps: Those of the last seconds, a second.
        share: How much of all is done, 0 to 1.
        left_s: Seconds that the rest will take, or None where nobody can say.
        running: The files at work.
        note: What holds it up; empty for nothing.
    """

    files: int
    done: int
    failed: int
    frames: int
    rate_fps: float
    share: float
    left_s: float | None
    running: tuple[Running, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Pace:
    """How quick it is, from what is done at some moments; one thread."""

    _frames: deque[tuple[float, int]] = field(default_factory=deque)
    _first: tuple[float, float] | None = None

    def rate_fps(self, frames: int, now_s: float) -> float:
        """Return the frames a second of the last seconds."""
        self._frames.append((now_s, frames))
        while len(self._frames) > 2 and self._frames[0][0] < now_s - _WINDOW_S:
            self._frames.popleft()
        since_s, before = self._frames[0]
        return (frames - before) / (now_s - since_s) if now_s > since_s else 0.0

    def left_s(self, share: float, now_s: float) -> float | None:
        """Return how long the rest takes if it goes on as it has gone in this run."""
        if self._first is None:
            self._first = now_s, share
        since_s, before = self._first
        gained = share - before
        if gained < _LEAST_SHARE or now_s <= since_s:
            return None
        return (1 - share) * (now_s - since_s) / gained


def duration_text(seconds: float) -> str:
    """Return a duration as people say it: ``3 h 12 min``, ``4 min 05 s``, ``12 s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"


def size_text(size_bytes: float) -> str:
    """Return a size as people say it."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.3g} TB"


def line_from_standing(standing: Standing) -> str:
    """Return it as one line."""
    parts = [f"{standing.done + standing.failed} of {standing.files} files"]
    if standing.failed:
        parts[0] += f" ({standing.failed} failed)"
    parts.append(f"{100 * standing.share:.1f} %")
    parts.append(f"{standing.frames} frames, {standing.rate_fps:.0f} a second")
    if standing.note:
        parts.append(standing.note)
    elif standing.left_s is not None:
        parts.append(f"{duration_text(standing.left_s)} left")
    if standing.running:
        parts.append(
            ", ".join(
                f"{shown(Path(file.stem))} {100 * file.share:.0f} %"
                for file in standing.running[:4]
            )
        )
    return "; ".join(parts)
