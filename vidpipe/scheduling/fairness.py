"""Whose turn it is: weighted fair sharing of one pool among streams. Pure policy.

Start-time fair queueing with unit cost: each stream has a virtual time that one served frame moves
on by ``1 / weight``, and the ready stream whose time is least is next. Deficit round robin shares
as fairly only while its queues hold several frames; a live lane holds one or two, and a stream that
is not ready in its round would lose the share that its weight gives it.

Source: Goyal, Vin, Cheng: Start-time Fair Queuing (SIGCOMM 1996).
"""

from __future__ import annotations

from collections.abc import Iterable

_LAG = 2.0
"""Frames that a stream may catch up after it wasn't ready; more would let an idle one burst."""

_EXCUSED_LAG = 16.0
"""Rounds of all streams that may be caught up by one that wasn't ready through no fault of its own.
"""


class FairShare:
    """The virtual times of the streams of one pool."""

    def __init__(self) -> None:
        """Begin with no streams."""
        self._weights: dict[str, float] = {}
        self._times: dict[str, float] = {}
        self._excused: set[str] = set()
        self._now = 0.0

    def add(self, stream: str, weight: float) -> None:
        """Let a stream take part; it begins level with the others."""
        if weight <= 0:
            raise ValueError(f"the weight of a stream is positive, not {weight}")
        self._weights[stream] = weight
        self._times[stream] = self._now

    def remove(self, stream: str) -> None:
        """Forget a stream."""
        del self._weights[stream], self._times[stream]
        self._excused.discard(stream)

    def excuse(self, stream: str) -> None:
        """A stream had no frames since this machine had no time for them: it shall catch up."""
        self._excused.add(stream)

    def next(self, ready: Iterable[str]) -> str | None:
        """Return the stream to serve of those that are ready; among equals the first one."""
        return min(ready, key=self._times.__getitem__, default=None)

    def charge(self, stream: str) -> None:
        """One frame of the stream has been served."""
        cost = 1.0 / self._weights[stream]
        lag = _EXCUSED_LAG if stream in self._excused else _LAG * cost
        start = max(self._times[stream], self._now - lag)
        self._now = max(self._now, start)
        self._times[stream] = start + cost
        if start + cost >= self._now:
            self._excused.discard(stream)
