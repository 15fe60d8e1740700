"""A camera that repeats one picture, or whose clock stands still: alive to look at, and blind.

Pure policy. A real picture is never twice the same, for the sensor's noise; what is looked at is a
coarse grid of its brightness, now and then.
"""

from __future__ import annotations

from vidpipe.types import Picture

_EVERY_S = 1.0
_GRID_PX = 16


class FrozenWatch:
    """Tells when a stream has shown nothing new for a while; one thread."""

    def __init__(self, after_s: float) -> None:
        """Call it frozen after so many seconds; 0: never."""
        self._after_s = after_s
        self._looked_at = float("-inf")
        self._changed_at = 0.0
        self._moved_at: float | None = None
        self._grid: bytes | None = None
        self.reason = ""
        """What is wrong, for people; empty while all is well."""

    def look(self, picture: Picture, arrived_at: float, clock_repeats: int = 0) -> bool:
        """Return True if the stream is frozen.

        Args:
            picture: The newest.
            arrived_at: Its monotonic seconds.
            clock_repeats: How many pictures in a row have had the same timestamp.
        """
        if self._after_s <= 0:
            return False
        if not clock_repeats or self._moved_at is None:
            self._moved_at = arrived_at
        if arrived_at - self._looked_at < _EVERY_S:
            return bool(self.reason)
        self._looked_at = arrived_at
        grid = picture.y[::_GRID_PX, ::_GRID_PX].tobytes()
        if grid != self._grid:
            self._grid, self._changed_at = grid, arrived_at
        if arrived_at - self._changed_at >= self._after_s:
            self.reason = f"the same picture for {self._after_s:g} s and more"
        elif arrived_at - self._moved_at >= self._after_s:
            self.reason = f"its clock has stood still for {self._after_s:g} s and more"
        else:
            self.reason = ""
        return bool(self.reason)
