"""Where each frame stands on a stream's own time axis: the only timestamps that a muxer sees.

A recorded source keeps its container's time, exactly. A live one starts at 0, and its clock may
jump or start anew with a reconnect: the axis then goes on by the time between the arrivals. The
axis never stands still or runs backwards, and is never an index divided by a rate, except where
the source has no timestamps at all.

Pure policy: one thread, no clock of its own.
"""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction

from loguru import logger

from vidpipe.types import Frame

_DEFAULT_BASE = Fraction(1, 90_000)
_COARSEST_PER_S = 10_000
"""Ticks a second at least: a mended timestamp moves by a tick, which must not be a frame long."""
_FINEST_PER_S = 1_000_000
"""Ticks a second at most: a sample's duration is a 32-bit number of ticks in MP4."""
_DEFAULT_RATE_FPS = 25.0
_KEPT_START_S = 10.0
"""A recording that starts later than this has a recorder's clock, not an edit: it is moved to 0."""
_LIVE_JUMP_S = 10.0
"""How far a camera's clock may be ahead of or behind the arrivals."""
_JITTER_S = 1.0
"""A step back by less is disorder; by more, a clock that was set anew."""
_LONGEST_GAP_S = 3600.0
"""No source stands still for longer within one opening; an MP4 could not say it either."""
_SHORTEST_SHOWN_S, _LONGEST_SHOWN_S = 0.001, 10.0
"""Bounds of how long a last frame is shown."""


def time_base_for(wanted: Fraction | None) -> Fraction:
    """Return the unit of the axis, in seconds: the source's, or a whole part of it."""
    if wanted is None or wanted <= 0 or wanted.denominator > _FINEST_PER_S:
        return _DEFAULT_BASE if wanted is None or wanted <= 0 else Fraction(1, _FINEST_PER_S)
    per_s = wanted.denominator
    return Fraction(1, per_s * math.ceil(_COARSEST_PER_S / per_s))


class Timeline:
    """Places one stream's frames, in order, over reconnects and loops."""

    def __init__(self, first: Frame) -> None:
        """Take the unit from the stream's first frame."""
        self.time_base = time_base_for(first.source.time_base)
        self.mended_count = 0
        self._log = logger.bind(stream=first.stream)
        self._warned: set[str] = set()
        self._last: Frame | None = None
        self._last_raw_s = 0.0
        self._last_ticks = -1
        self._offset_s = 0.0
        self._anchor = (0, 0.0)
        self._gaps: deque[int] = deque(maxlen=5)

    @property
    def usual_gap(self) -> int:
        """How long a frame is shown, in ticks: the median of the last gaps, or as declared."""
        if self._gaps:
            ticks = sorted(self._gaps)[len(self._gaps) // 2]
        else:
            ticks = self._ticks(1 / _rate_of(self._last))
        shortest, longest = self._ticks(_SHORTEST_SHOWN_S), self._ticks(_LONGEST_SHOWN_S)
        return max(1, shortest, min(ticks, longest))

    def place(self, frame: Frame) -> int:
        """Return a frame's time in ticks of the unit: at least 0, and later than the one before."""
        raw_s = self._raw_seconds(frame)
        if self._last is None:
            keeps_start = not frame.source.is_live and 0 <= raw_s <= _KEPT_START_S
            self._offset_s = 0.0 if keeps_start else -raw_s
        elif (step_s := self._bridge(frame, self._last, raw_s)) is not None:
            self._offset_s = self._last_ticks * float(self.time_base) + step_s - raw_s
        ticks = self._ticks(raw_s + self._offset_s)
        if ticks <= self._last_ticks:
            self.mended_count += 1
            self._warn("order", "timestamps that repeat or run backwards are moved forward")
            ticks = self._last_ticks + 1
        if self._last is not None:
            self._gaps.append(ticks - self._last_ticks)
        self._last, self._last_raw_s, self._last_ticks = frame, raw_s, ticks
        return ticks

    def _raw_seconds(self, frame: Frame) -> float:
        """Return the source's own time; where it has none, count frames from its last one."""
        if frame.pts_s is not None and math.isfinite(frame.pts_s):
            self._anchor = (frame.number, frame.pts_s)
            return frame.pts_s
        rate = _rate_of(frame)
        self._warn("none", f"frames without timestamps are placed at {rate:g} frames a second")
        number, seconds = self._anchor
        return seconds + (frame.number - number) / rate

    def _bridge(self, frame: Frame, last: Frame, raw_s: float) -> float | None:
        """Return the seconds since the last frame where the clock can't say it, else None."""
        step_s = raw_s - self._last_raw_s
        arrived_s = frame.captured_at - last.captured_at
        if frame.source.is_live:
            is_broken = frame.epoch != last.epoch or abs(step_s - arrived_s) > _LIVE_JUMP_S
            if not (is_broken or step_s < -_JITTER_S):
                return None
            self._warn("jump", "the source's clock started anew: its time goes on by the arrivals")
            return max(0.0, arrived_s)
        if -_JITTER_S <= step_s <= _LONGEST_GAP_S:
            return None
        self._warn("jump", "the source's clock jumped: its time goes on where it was")
        self.mended_count += 1
        return self.usual_gap * float(self.time_base)

    def _ticks(self, seconds: float) -> int:
        return round(seconds * self.time_base.denominator)

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._log.warning("video: {}", text)


class Thinning:
    """Keeps at most so many frames a second, evenly, whatever the source's rhythm."""

    def __init__(self, max_fps: float | None, time_base: Fraction) -> None:
        """Take the rate; None keeps everything."""
        self._step = None if max_fps is None else 1 / (max_fps * float(time_base))
        self._due = -math.inf

    def should_keep(self, ticks: int) -> bool:
        """Decide on the next frame; a tenth of a step early is in time, since clocks jitter."""
        if self._step is None:
            return True
        if ticks < self._due - self._step / 10:
            return False
        is_late = ticks - self._due > self._step
        self._due = (ticks if is_late else self._due) + self._step
        return True


def _rate_of(frame: Frame | None) -> float:
    rate = None if frame is None else frame.source.rate_fps
    return rate if rate and math.isfinite(rate) and 0 < rate <= 1000 else _DEFAULT_RATE_FPS
