"""Whether a run is alive: its workers answer, and captured frames come to an end. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from vidpipe.runtime.meters import StreamStats


class Heart:
    """Judges by what it is told; one thread.

    Attributes:
        patience_s: How long a frame may be on its way: longer than any model's ``timeout_s``.
    """

    def __init__(self, patience_s: float, now_s: float) -> None:
        """Begin as alive.

        Args:
            patience_s: As the attribute.
            now_s: The time.
        """
        self.patience_s = patience_s
        self._moved_at = self._answered_at = now_s
        self._gone: dict[str, int] = {}

    def is_beating(
        self, stats: Mapping[str, StreamStats], *, has_answered: bool, now_s: float
    ) -> bool:
        """Return False once nothing has moved for too long.

        Args:
            stats: Every stream's counters.
            has_answered: Whether a worker has answered since the last time.
            now_s: The time.
        """
        gone = {
            stream: one.processed + one.passed + sum(one.dropped.values())
            for stream, one in stats.items()
        }
        if gone != self._gone or not any(one.in_flight for one in stats.values()):
            self._moved_at = now_s
        self._gone = gone
        if has_answered:
            self._answered_at = now_s
        return now_s - min(self._moved_at, self._answered_at) <= self.patience_s
