"""Frames that somebody waits for: they go ahead of the streams', few at a time. Pure policy.

The queue is short, and after two in a row a stream's frame goes first, if one is ready: whoever
asks all the time takes two thirds of the pool, and never all of it.

A queue has no lock: its dispatcher guards it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from vidpipe.types import Frame

AHEAD = -1
"""Stands for the place in a stream's order, which these frames don't have."""
MOST_WAITING = 8
_MOST_IN_A_ROW = 2


class AheadQueue:
    """The frames that go ahead, and when."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: deque[tuple[Frame, Callable[[], None]]] = deque()
        self._in_a_row = 0

    def __len__(self) -> int:
        """Count what waits."""
        return len(self._waiting)

    @property
    def is_next(self) -> bool:
        """True if a frame of this queue goes before one of a stream that is ready."""
        return bool(self._waiting) and self._in_a_row < _MOST_IN_A_ROW

    def put(self, frame: Frame, give_up: Callable[[], None]) -> bool:
        """Append a frame; False if there is no room. ``give_up`` is called if it never goes."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting.append((frame, give_up))
        return True

    def take(self) -> Frame:
        """Return the first frame; there has to be one."""
        self._in_a_row += 1
        return self._waiting.popleft()[0]

    def give_way(self) -> None:
        """A stream's frame has gone."""
        self._in_a_row = 0

    def withdraw(self, frame: Frame) -> None:
        """Forget a frame, if it waits still."""
        self._waiting = deque(pair for pair in self._waiting if pair[0] is not frame)

    def clear(self) -> list[Callable[[], None]]:
        """Forget all; return whom to tell, once the lock is free."""
        told = [give_up for _, give_up in self._waiting]
        self._waiting.clear()
        return told
