"""One stream's way from answers to results: put in order, completed, handed to the sinks.

Whichever worker brings the next frame in line runs the chain, one worker at a time; a worker that
brings a later frame leaves it here and goes on. Nobody waits: a chain whose sinks are full stops,
and the sink that makes room has it resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from loguru import logger

from vidpipe.analytics.ordering import Reorderer
from vidpipe.interfaces import Clock, ResultOutlet
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import (
    NO_DETECTIONS,
    Detections,
    DropCause,
    FrameResult,
    StreamEnd,
    Verdict,
)

_REMIND_AFTER_S = 60.0
"""Frames that go on failing are mentioned again so often."""


@dataclass(frozen=True, slots=True)
class StreamRole:
    """What a chain needs to know of its stream.

    Attributes:
        stream: The stream's id.
        outlet: Where results go.
        meter: What counts them.
        watch: Sees every result once it has been handed over, in order; neither waits nor raises.
            None: nobody looks for events.
    """

    stream: str
    outlet: ResultOutlet
    meter: StreamMeter
    watch: Callable[[FrameResult], None] | None = None


class StreamChain:
    """The chain of one stream; every method may be called from any thread, and none waits."""

    def __init__(
        self,
        role: StreamRole,
        on_end: Callable[[str], None],
        clock: Clock,
        stages: StageMeters | None = None,
    ) -> None:
        """Begin; ``on_end`` is told when the stream's last result has been handed over."""
        self._role = role
        self._on_end = on_end
        self._clock = clock
        self._stages = stages or StageMeters()
        self._lock = threading.Lock()
        self._order: Reorderer[FrameResult | StreamEnd] = Reorderer()
        self._is_running = False
        self._is_stalled = False
        self._is_resuming = False
        self._last: Detections = NO_DETECTIONS
        self._last_epoch = 0
        self._reminded_at = float("-inf")

    def offer(self, sequence: int, item: FrameResult | StreamEnd) -> None:
        """Take an item of any sequence, and run the chain as far as it goes."""
        with self._lock:
            self._order.offer(sequence, item)
        self.advance()

    def advance(self) -> None:
        """Run the chain as far as it goes, unless another worker is at it."""
        while (item := self._begin()) is not None:
            try:
                if isinstance(item, StreamEnd):
                    self._role.outlet.close()
                    self._on_end(item.stream)
                else:
                    self._deliver(item)
            finally:
                with self._lock:
                    self._is_running = False

    def take_stall(self) -> bool:
        """Say whether the chain waits for room, once: the caller then has it resumed."""
        with self._lock:
            if not self._is_stalled or self._is_resuming:
                return False
            self._is_stalled = False
            self._is_resuming = True
            return True

    def resume(self) -> None:
        """Go on after a stall that was taken."""
        with self._lock:
            self._is_resuming = False
        self.advance()

    def _begin(self) -> FrameResult | StreamEnd | None:
        """Take the next item and the right to run, or None."""
        with self._lock:
            if self._is_running or not self._order.is_next_here:
                return None
            # Say that it stalls before looking: a sink that makes room in between then resumes it.
            self._is_stalled = True
            if not self._role.outlet.has_room:
                return None
            self._is_stalled = False
            self._is_running = True
            return self._order.pop()

    def _deliver(self, result: FrameResult) -> None:
        started_at = self._clock()
        result = self._completed(result)
        self._role.outlet.write(result)
        if self._role.watch is not None:
            self._role.watch(result)
        meter = self._role.meter
        match result.verdict:
            case Verdict.PASSED:
                meter.count_passed()
            case Verdict.FAILED:
                self._warn(result)
                meter.count_error("inference")
                meter.count_dropped(DropCause.ERROR)
            case Verdict.DETECTED:
                now_s = self._clock()
                self._stages.record(Stage.CHAIN, now_s - started_at)
                meter.count_processed(now_s - result.frame.captured_at, len(result.detections))

    def _warn(self, result: FrameResult) -> None:
        """Say why a frame failed, now and then: the outputs say it of each."""
        now_s = self._clock()
        if now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._reminded_at = now_s
            logger.bind(stream=self._role.stream).warning(
                "frame {} failed: {}", result.frame.number, result.error
            )

    def _completed(self, result: FrameResult) -> FrameResult:
        """Give a passed frame the boxes of the last answered one of its epoch."""
        if result.frame.epoch != self._last_epoch:
            self._last, self._last_epoch = NO_DETECTIONS, result.frame.epoch
        if result.verdict is Verdict.PASSED:
            return FrameResult(result.frame, self._last, Verdict.PASSED)
        if result.verdict is Verdict.DETECTED:
            self._last = result.detections
        return result
