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

_LOOK_S = 0.5
"""How often a consumer without any stream looks whether there will be one."""


@dataclass(slots=True)
class _Tray:
    """What one stream has ready."""

    overflow: Overflow
    on_loss: Callable[[int], None]
    has_room: threading.Condition
    life: int = 0
    is_open: bool = True
    is_replaced: bool = False
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
        self._may_grow = False

    def stay_open(self, *, may_grow: bool) -> None:
        """Say whether streams may be added although none is left: nothing ends then."""
        with self._lock:
            self._may_grow = may_grow
            self._has_news.notify_all()

    def expect_no_more(self) -> None:
        """No stream is added any more; who waits sees it in a while. For signal handlers, too."""
        self._may_grow = False

    def add(self, stream: str, overflow: Overflow, on_loss: Callable[[int], None]) -> int:
        """Take a stream in, or its next life, whose number is returned.

        Args:
            stream: The stream's id.
            overflow: Whether it waits for room.
            on_loss: Told how many of its results were thrown away.
        """
        with self._lock:
            tray = _Tray(overflow, on_loss, threading.Condition(self._lock))
            old = self._trays.get(stream)
            if old is not None:
                tray.life = old.life + 1
                tray.results.extend(old.results)  # what nobody has taken yet comes first
                old.is_replaced = True
                old.has_room.notify_all()
            self._trays[stream] = tray
            return tray.life

    def put(self, stream: str, result: FrameResult, life: int = 0) -> None:
        """Leave a result of a life, waiting for room if the stream is a recorded one."""
        lost = 0
        with self._lock:
            tray = self._trays.get(stream)
            if tray is None or tray.life != life:
                return  # of a former life, which was ended by force, and counted
            while tray.is_full and tray.overflow is Overflow.BLOCK and not self._is_closed:
                tray.has_room.wait()
                if tray.is_replaced:
                    return
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

    def end(self, stream: str, life: int = 0) -> None:
        """Nothing more comes of a life of a stream."""
        with self._lock:
            tray = self._trays.get(stream)
            if tray is None or tray.life != life:
                return
            tray.is_open = False
            if not tray.results:
                del self._trays[stream]
            self._has_news.notify_all()

    def get(self) -> FrameResult | None:
        """Wait for the next result; None once nothing more comes, or the delivery is closed."""
        with self._lock:
            while not self._turns and not self._is_closed:
                is_over = not any(tray.is_open for tray in self._trays.values())
                if is_over and not self._may_grow:
                    return None
                self._has_news.wait(_LOOK_S if is_over else None)
            if self._is_closed:
                return None
            stream = self._turns.popleft()
            tray = self._trays[stream]
            result = tray.results.popleft()
            if tray.results:
                self._turns.append(stream)
            elif not tray.is_open:
                del self._trays[stream]  # streams come and go for months
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
        self,
        delivery: Delivery,
        stream: str,
        *,
        needs_picture: bool,
        with_passed: bool,
        life: int = 0,
    ) -> None:
        """Deliver a stream's results, those that the model wasn't asked about only if wanted."""
        self.needs_picture = needs_picture
        self._life = life
        self._delivery = delivery
        self._stream = stream
        self._with_passed = with_passed

    def write(self, result: FrameResult) -> None:
        """Deliver a result; waits while the consumer does, if the stream is a recorded one."""
        if self._with_passed or result.verdict is not Verdict.PASSED:
            self._delivery.put(self._stream, result, self._life)

    def close(self) -> list[str]:
        """Say that this was all; there are no files."""
        self._delivery.end(self._stream, self._life)
        return []
