"""The timestamps of a live stream, mended: they rise, at about the pace of the clock on the wall.

Cameras set their clocks back and forth, wrap round, forget a timestamp, or stand still. What leaves
here goes on all the same, as if nothing had happened. Pure policy.
"""

from __future__ import annotations

WRAP_S = 2**33 / 90_000
"""Where the 33-bit timestamps of MPEG begin anew, in seconds."""

_AHEAD_S = 10.0
"""Timestamps may run so far ahead of arrival: what was held up on the way comes all at once."""

_DISORDER_S = 1.0
"""A step back of less is disorder, not a clock that was set."""


class LiveClock:
    """One connection's timestamps, in the order of arrival; one thread.

    Attributes:
        mended: Timestamps that were not as they should be.
    """

    def __init__(self, start_s: float | None = None) -> None:
        """Begin a connection; ``start_s``: what its first picture gets. None: its own timestamp."""
        self.mended = 0
        self._start_s = start_s
        self._shift_s = 0.0
        self._last_s: float | None = None
        self._last_at = 0.0
        self._raw_s: float | None = None

    def place(self, pts_s: float | None, arrived_at: float, frame_s: float) -> float:
        """Return a picture's time in seconds, later than that of the picture before.

        Args:
            pts_s: The source's own timestamp, or None.
            arrived_at: Monotonic seconds.
            frame_s: How long a picture lasts, as far as is known.
        """
        if self._last_s is None:
            at_s = self._start_s if self._start_s is not None else (pts_s or 0.0)
            self.mended += pts_s is None
            self._shift_s = at_s - (pts_s or 0.0)
        else:
            at_s = self._following(self._last_s, pts_s, arrived_at, frame_s)
        self._last_s, self._last_at, self._raw_s = at_s, arrived_at, pts_s
        return at_s

    def _following(
        self, last_s: float, pts_s: float | None, arrived_at: float, frame_s: float
    ) -> float:
        gap_s = max(0.0, arrived_at - self._last_at)
        is_still = pts_s == self._raw_s
        if pts_s is not None:
            expected_s = pts_s + self._shift_s
            if last_s < expected_s <= last_s + gap_s + _AHEAD_S:
                return expected_s
            if last_s < expected_s + WRAP_S <= last_s + gap_s + _AHEAD_S:
                self._shift_s += WRAP_S
                return expected_s + WRAP_S
        self.mended += 1
        by_arrival_s = last_s + max(gap_s, frame_s / 2)
        if pts_s is None or is_still:
            return by_arrival_s
        if last_s - _DISORDER_S < expected_s <= last_s:
            return last_s + min(max(gap_s, frame_s / 100), frame_s / 2)
        self._shift_s = by_arrival_s - pts_s
        return by_arrival_s
