"""The way of results from all streams to the one consumer of a ``Pipeline``.

Guarantees:
    * a stream's results come in order, and streams take turns, however many results each has;
    * what waits is bounded: a recorded stream's sink waits for room, and with it, in the end, its
      source; a live stream holds its newest result, and what gives way is counted;
    * nobody waits on a delivery that is closed: what is left is thrown away, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from vidpipe.types import FrameResult, Overflow, Verdict

_HELD_RECORDED = 4
"""Handing over several at a time saves turns of the interpreter's threads."""
_HELD_LIVE = 1


@dataclass(slots=True)
class _Tray:
    """What one stream has ready."""

    overflow: Overflow
    on_loss: Callable[[int], None]
    has_room: threading.Condition
    is_open: bool = True
    results: deque[FrameResult] = field(default_factory=deque)

    @property
    def is_full(self) -> bool:
        limit = _HELD_RECORDED if self.overflow is Overflow.BLOCK else _HELD_LIVE
        return len(self.results) >= limit


class Delivery:
    """``put`` and ``end`` are for the streams' sinks, ``get`` for the consumer, ``close`` for all.

    Not for signal handlers.
    """

    def __init__(self) -> None:
        """Begin without streams."""
        self._lock = threading.Lock()
        self._has_news = threading.Condition(self._lock)
        self._trays: dict[str, _Tray] = {}
        self._turns: deque[str] = deque()
        """The streams that have something, in the order of their turns; each once."""
        self._is_closed = False

    def add(self, stream: str, overflow: Overflow, on_loss: Callable[[int], None]) -> None:
        """Take a stream in; ``on_loss`` is told how many of its results were thrown away."""
        with self._lock:
            self._trays[stream] = _Tray(overflow, on_loss, threading.Condition(self._lock))

    def put(self, stream: str, result: FrameResult) -> None:
        """Leave a result, waiting for room if the stream is a recorded one."""
        lost = 0
        with self._lock:
            tray = self._trays[stream]
            while tray.is_full and tray.overflow is Overflow.BLOCK and not self._is_closed:
                tray.has_room.wait()
            if self._is_closed:
                lost = 1
            else:
                if tray.is_full:
                    tray.results.popleft()
                    lost = 1
                tray.results.append(result)
                if stream not in self._turns:
                    self._turns.append(stream)
                self._has_news.notify()
        if lost:
            tray.on_loss(lost)

    def end(self, stream: str) -> None:
        """Nothing more comes of a stream."""
        with self._lock:
            self._trays[stream].is_open = False
            self._has_news.notify_all()

    def get(self) -> FrameResult | None:
        """Wait for the next result; None once nothing more comes, or the delivery is closed."""
        with self._lock:
            while not self._turns and not self._is_closed:
                if not any(tray.is_open for tray in self._trays.values()):
                    return None
                self._has_news.wait()
            if self._is_closed:
                return None
            stream = self._turns.popleft()
            tray = self._trays[stream]
            result = tray.results.popleft()
            if tray.results:
                self._turns.append(stream)
            tray.has_room.notify()
            return result

    def close(self) -> None:
        """Take and give nothing more; wakes everyone."""
        with self._lock:
            self._is_closed = True
            self._turns.clear()
            left = [(tray.on_loss, len(tray.results)) for tray in self._trays.values()]
            for tray in self._trays.values():
                tray.results.clear()
                tray.has_room.notify_all()
            self._has_news.notify_all()
        for on_loss, count in left:
            if count:
                on_loss(count)


class ResultSink:
    """Implements ``Sink`` for one stream: what it writes is delivered."""

    def __init__(
        self, delivery: Delivery, stream: str, *, needs_picture: bool, with_passed: bool
    ) -> None:
        """Deliver a stream's results, those that the model wasn't asked about only if wanted."""
        self.needs_picture = needs_picture
        self._delivery = delivery
        self._stream = stream
        self._with_passed = with_passed

    def write(self, result: FrameResult) -> None:
        """Deliver a result; waits while the consumer does, if the stream is a recorded one."""
        if self._with_passed or result.verdict is not Verdict.PASSED:
            self._delivery.put(self._stream, result)

    def close(self) -> list[str]:
        """Say that this was all; there are no files."""
        self._delivery.end(self._stream)
        return []
