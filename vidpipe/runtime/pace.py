"""Which of the things that come are to be taken, so that no more than so many come a second. Pure.

The beat is kept, so that the rate holds on average; what comes a little before its time is taken,
or a source of the very rate that is wanted would lose every other one to its jitter.
"""

from __future__ import annotations

_EARLY = 0.4
"""Of a period: how much before its time something is taken."""


class Pace:
    """One rate; one thread at a time."""

    def __init__(self, rate: float) -> None:
        """Take at most so many a second, on average; above 0."""
        self._period_s = 1.0 / rate
        self._due_s: float | None = None

    def set_rate(self, rate: float) -> None:
        """Go on at another rate."""
        before_s, self._period_s = self._period_s, 1.0 / rate
        if self._due_s is not None:
            self._due_s += self._period_s - before_s

    def is_due(self, at_s: float) -> bool:
        """Say whether what comes at this moment would be taken."""
        due_s = self._due_s
        if due_s is None or at_s < due_s - 2 * self._period_s:
            return True  # the first one, or a clock that was set back
        return at_s >= due_s - _EARLY * self._period_s

    def take(self, at_s: float) -> bool:
        """Say whether to take what comes at this moment, and if so, reckon with it."""
        if not self.is_due(at_s):
            return False
        due_s = self._due_s
        is_on_beat = due_s is not None and abs(at_s - due_s) < self._period_s
        self._due_s = (due_s if is_on_beat and due_s is not None else at_s) + self._period_s
        return True
