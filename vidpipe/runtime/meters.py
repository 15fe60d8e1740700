"""What is counted: per stream, under one lock, so that the sum holds at any moment.

``captured = processed + passed + dropped (by cause) + in flight``, where in flight is counted by
its own moves and not derived, so that a leak shows.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

AGE_BOUNDS_S: tuple[float, ...] = tuple(0.0005 * 1.15**step for step in range(90))
"""Upper bounds of the ages' buckets, 0.5 ms to 126 s: a quantile is right to within 15 percent."""


@dataclass(frozen=True, slots=True)
class AgeStats:
    """Ages in seconds, counted in the buckets of ``AGE_BOUNDS_S`` and one more above them."""

    counts: tuple[int, ...]
    sum_s: float

    @property
    def count(self) -> int:
        """The number of ages."""
        return sum(self.counts)

    def since(self, earlier: AgeStats) -> AgeStats:
        """Return what was counted between an earlier snapshot and this one."""
        counts = tuple(new - old for new, old in zip(self.counts, earlier.counts, strict=True))
        return AgeStats(counts, self.sum_s - earlier.sum_s)

    def quantile_s(self, share: float) -> float | None:
        """Return the age that a share of all ages doesn't exceed, or None where there are none."""
        wanted = share * self.count
        if wanted <= 0:
            return None
        seen = 0
        for bound_s, count in zip((*AGE_BOUNDS_S, AGE_BOUNDS_S[-1]), self.counts, strict=True):
            seen += count
            if seen >= wanted:
                return bound_s
        return AGE_BOUNDS_S[-1]


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
    """

    captured: int
    processed: int
    passed: int
    dropped: Mapping[str, int]
    in_flight: int
    detections: int
    errors: Mapping[str, int]
    reconnects: int
    age: AgeStats
    sink_losses: Mapping[str, int]


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
    _age_counts: list[int] = field(default_factory=lambda: [0] * (len(AGE_BOUNDS_S) + 1))
    _age_sum_s: float = 0.0

    def count_captured(self) -> None:
        """A frame has been decoded; it is in flight now."""
        with self._lock:
            self._captured += 1
            self._in_flight += 1

    def count_processed(self, age_s: float, detections: int) -> None:
        """A frame's result has reached the sinks, so long after its capture."""
        bucket = bisect_left(AGE_BOUNDS_S, age_s)
        with self._lock:
            self._processed += 1
            self._in_flight -= 1
            self._detections += detections
            self._age_counts[bucket] += 1
            self._age_sum_s += age_s

    def count_passed(self) -> None:
        """A frame that the model wasn't asked about has come to its end."""
        with self._lock:
            self._passed += 1
            self._in_flight -= 1

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
                age=AgeStats(tuple(self._age_counts), self._age_sum_s),
                sink_losses=MappingProxyType(dict(self._sink_losses)),
            )
