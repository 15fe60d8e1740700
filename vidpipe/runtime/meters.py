"""What is counted: per stream, under one lock, so that the sum holds at any moment.

``captured = processed + passed + dropped (by cause) + in flight``, where in flight is counted by
its own moves and not derived, so that a leak shows.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vidpipe.runtime.durations import DurationMeter, Durations


@dataclass(frozen=True, slots=True)
class StreamStats:
    """One stream's counters at one moment.

    Attributes:
        captured: Frames decoded.
        processed: Frames whose result, made by the model, reached the sinks.
        passed: Frames that were meant for the pictures alone (``detect_fps``).
        dropped: Frames lost, by cause.
        in_flight: Frames between their capture and their end.
        detections: Objects found.
        errors: Failures, by stage.
        reconnects: Openings after the first.
        age: Capture to result.
        sink_losses: Results that a full or failed sink didn't take, by sink.
        active_s: Seconds from the first frame's capture to the last one's result so far.
        resting: Sinks that write nothing for now, as their disk has too little room.
    """

    captured: int
    processed: int
    passed: int
    dropped: Mapping[str, int]
    in_flight: int
    detections: int
    errors: Mapping[str, int]
    reconnects: int
    age: Durations
    sink_losses: Mapping[str, int]
    active_s: float = 0.0
    resting: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The frames, and only what has happened: without the ages' buckets."""
        frames = (
            f"captured={self.captured}, processed={self.processed}, passed={self.passed},"
            f" in_flight={self.in_flight}, detections={self.detections}"
        )
        rare = {
            "dropped": dict(self.dropped),
            "errors": dict(self.errors),
            "sink_losses": dict(self.sink_losses),
            "reconnects": self.reconnects,
            "resting": self.resting,
        }
        return f"StreamStats({frames}{''.join(f', {k}={v}' for k, v in rare.items() if v)})"


@dataclass(slots=True)
class StreamMeter:
    """The counters of one stream; every method may be called from any thread."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _captured: int = 0
    _processed: int = 0
    _passed: int = 0
    _in_flight: int = 0
    _detections: int = 0
    _reconnects: int = 0
    _dropped: Counter[str] = field(default_factory=Counter)
    _errors: Counter[str] = field(default_factory=Counter)
    _sink_losses: Counter[str] = field(default_factory=Counter)
    _resting: dict[str, None] = field(default_factory=dict)
    _age: DurationMeter = field(default_factory=DurationMeter)
    _clock: Callable[[], float] = time.monotonic
    _first_at: float | None = None
    _active_s: float = 0.0

    def count_captured(self) -> None:
        """A frame has been decoded; it is in flight now."""
        with self._lock:
            self._captured += 1
            self._in_flight += 1
            if self._first_at is None:
                self._first_at = self._clock()

    def count_processed(self, age_s: float, detections: int) -> None:
        """A frame's result has reached the sinks, so long after its capture."""
        with self._lock:
            self._processed += 1
            self._in_flight -= 1
            self._detections += detections
            self._age.record(age_s)
            self._note_end()

    def count_passed(self) -> None:
        """A frame that the model wasn't asked about has come to its end."""
        with self._lock:
            self._passed += 1
            self._in_flight -= 1
            self._note_end()

    def count_dropped(self, cause: str, frames: int = 1) -> None:
        """Frames in flight have been lost."""
        with self._lock:
            self._dropped[cause] += frames
            self._in_flight -= frames

    def count_error(self, stage: str) -> None:
        """Something failed in a stage; says nothing of frames."""
        with self._lock:
            self._errors[stage] += 1

    def count_reconnect(self) -> None:
        """The source is being opened again."""
        with self._lock:
            self._reconnects += 1

    def count_sink_loss(self, sink: str, results: int = 1) -> None:
        """A sink was too full, or had failed, to take results; the frames themselves are done."""
        with self._lock:
            self._sink_losses[sink] += results

    def note_resting(self, sink: str, *, is_resting: bool) -> None:
        """A sink writes nothing for now, as its disk has too little room, or goes on."""
        with self._lock:
            if is_resting:
                self._resting[sink] = None
            else:
                self._resting.pop(sink, None)

    @property
    def answered(self) -> int:
        """Frames that came to a good end: processed, or meant for the pictures alone."""
        with self._lock:
            return self._processed + self._passed

    def snapshot(self) -> StreamStats:
        """Return all counters as they are at one moment."""
        with self._lock:
            return StreamStats(
                captured=self._captured,
                processed=self._processed,
                passed=self._passed,
                dropped=MappingProxyType(dict(self._dropped)),
                in_flight=self._in_flight,
                detections=self._detections,
                errors=MappingProxyType(dict(self._errors)),
                reconnects=self._reconnects,
                age=self._age.snapshot(),
                sink_losses=MappingProxyType(dict(self._sink_losses)),
                active_s=self._active_s,
                resting=tuple(self._resting),
            )

    def _note_end(self) -> None:
        if self._first_at is not None:
            self._active_s = self._clock() - self._first_at
