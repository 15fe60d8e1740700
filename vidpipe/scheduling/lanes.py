"""One stream's lane to the dispatcher: which frames wait, and which give way. Pure policy.

A lane has no lock and no clock: its dispatcher guards it and tells it the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from vidpipe.types import DropCause, Frame, Overflow


@dataclass(frozen=True, slots=True)
class LanePolicy:
    """How long and how much a lane holds.

    Attributes:
        size: Frames held at most, at least one.
        overflow: What a full lane does.
        max_age_s: Frames that have waited longer are dropped; None for files, whose frames don't
            grow stale.
    """

    size: int
    overflow: Overflow
    max_age_s: float | None = None


class Lane:
    """The frames of one stream that wait for the dispatcher."""

    def __init__(self, policy: LanePolicy, on_drop: Callable[[DropCause, int], None]) -> None:
        """Begin empty; ``on_drop`` is told of every loss, with its cause and the number."""
        self._policy = policy
        self._on_drop = on_drop
        self._frames: deque[Frame] = deque()
        self._is_behind = False

    def __len__(self) -> int:
        """Count the waiting frames."""
        return len(self._frames)

    @property
    def must_wait(self) -> bool:
        """True if a producer has to wait before it may ``put``."""
        return self._policy.overflow is Overflow.BLOCK and len(self._frames) >= self._policy.size

    @property
    def is_half_empty(self) -> bool:
        """True if it is worth while to wake a producer that waits for room."""
        return len(self._frames) <= self._policy.size // 2

    def put(self, frame: Frame) -> None:
        """Append a frame; in a full lane the oldest gives way."""
        if len(self._frames) >= self._policy.size:
            self._frames.popleft()
            self._is_behind = True
            self._on_drop(DropCause.LANE, 1)
        self._frames.append(frame)

    def take(self, now_s: float) -> Frame | None:
        """Return the frame to go next, or None if there is none that is fresh enough.

        In order; but a lane that has overflowed since the last time is behind, and then the newest
        goes and the others give way, so that no result is older than it must be.
        """
        self._drop_stale(now_s)
        was_behind, self._is_behind = self._is_behind, False
        if not self._frames:
            return None
        if was_behind:
            older = len(self._frames) - 1
            if older:
                self._on_drop(DropCause.LANE, older)
            newest = self._frames[-1]
            self._frames.clear()
            return newest
        return self._frames.popleft()

    def discard(self, cause: DropCause) -> None:
        """Drop all that waits."""
        if self._frames:
            self._on_drop(cause, len(self._frames))
            self._frames.clear()

    def _drop_stale(self, now_s: float) -> None:
        if self._policy.max_age_s is None:
            return
        oldest_s = now_s - self._policy.max_age_s
        while self._frames and self._frames[0].captured_at < oldest_s:
            self._frames.popleft()
            self._on_drop(DropCause.AGE, 1)
