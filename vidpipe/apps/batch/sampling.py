"""Which frames of a video the model is asked about: all, or a sample by number or timestamp. Pure.

Every decision follows from a frame's own number and timestamp and its predecessor's timestamp, so
that a video that is divided is sampled exactly as one that isn't.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from vidpipe.errors import UsageError
from vidpipe.sources.stamping import ASSUMED_RATE_FPS

_EPSILON = 1e-6
"""In steps of the grid: a timestamp that is rounded down must not miss its own moment."""

_TIME = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is wanted.

    Attributes:
        every: Each frame whose number is a multiple of this.
        fps: At most so many frames a second: the first one at or after each moment of an even grid.
        start_s: Nothing before this timestamp.
        end_s: Nothing from this timestamp on.
    """

    every: int = 1
    fps: float | None = None
    start_s: float | None = None
    end_s: float | None = None

    @property
    def is_of_all(self) -> bool:
        """True if no frame is left out."""
        return self == Sampling()

    def wants(self, number: int, pts_s: float, before_s: float | None) -> bool:
        """Tell whether a frame belongs to the sample.

        Args:
            number: The frame's number in its file.
            pts_s: Its timestamp.
            before_s: The timestamp of the frame before it; None for the file's first one.
        """
        if number % self.every:
            return False
        if self.start_s is not None and pts_s < self.start_s:
            return False
        if self.is_over(pts_s):
            return False
        if self.fps is None or before_s is None:
            return True
        is_first = self.start_s is not None and before_s < self.start_s
        return is_first or self._moment(pts_s) > self._moment(before_s)

    def is_over(self, pts_s: float) -> bool:
        """Tell whether the sample ends before this timestamp."""
        return self.end_s is not None and pts_s >= self.end_s

    def share(self, rate_fps: float | None, duration_s: float) -> float:
        """Return about how much of a video of such a rate and duration is wanted, 0 to 1."""
        share = 1.0 / self.every
        if self.fps is not None and rate_fps:
            share = min(share, self.fps / rate_fps)
        if duration_s > 0:
            end_s = min(duration_s, duration_s if self.end_s is None else self.end_s)
            share *= max(0.0, end_s - (self.start_s or 0.0)) / duration_s
        return share

    def _moment(self, pts_s: float) -> int:
        return math.floor(pts_s * (self.fps or 0.0) + _EPSILON)


def time_without_stamps(number: int, rate_fps: float | None) -> float:
    """Return the time that stands for the timestamp of a video that has none."""
    return number / (rate_fps or ASSUMED_RATE_FPS)


def seconds_from_text(text: str, option: str) -> float:
    """Read ``90``, ``1:30`` or ``01:02:03.5``.

    Raises:
        UsageError: It is none of these.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option} {text}: give seconds, M:SS or H:MM:SS")
    hours, minutes, seconds = match.groups(default="0")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
