"""How long things take: counted in buckets, so that months of them fit into two kilobytes."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

_FINEST_S = 1e-5
_GROWTH = 1.1
DURATION_BOUNDS_S: tuple[float, ...] = tuple(_FINEST_S * _GROWTH**step for step in range(173))
"""Upper bounds of the buckets, 10 us to 132 s: a quantile is right to within ten percent."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Durations counted in the buckets of ``DURATION_BOUNDS_S`` and one more above them."""

    counts: tuple[int, ...] = (0,) * (len(DURATION_BOUNDS_S) + 1)
    sum_s: float = 0.0

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    @property
    def mean_s(self) -> float | None:
        """Their mean, or None where there are none."""
        count = self.count
        return self.sum_s / count if count else None

    def since(self, earlier: Durations) -> Durations:
        """Return what was counted between an earlier snapshot and this one."""
        counts = tuple(new - old for new, old in zip(self.counts, earlier.counts, strict=True))
        return Durations(counts, self.sum_s - earlier.sum_s)

    def quantile_s(self, share: float) -> float | None:
        """Return the duration that a share of all doesn't exceed, or None where there are none.

        Within a bucket they are taken to be spread evenly on a logarithmic scale.
        """
        wanted = share * self.count
        if wanted <= 0:
            return None
        seen = 0
        for bound_s, count in zip(DURATION_BOUNDS_S, self.counts, strict=False):
            if seen + count >= wanted:
                return bound_s * float(_GROWTH ** ((wanted - seen) / count - 1))
            seen += count
        return DURATION_BOUNDS_S[-1]


def together(several: Iterable[Durations]) -> Durations:
    """Return all that was counted in several places."""
    given = list(several)
    if not given:
        return Durations()
    counts = tuple(map(sum, zip(*(one.counts for one in given), strict=True)))
    return Durations(counts, sum(one.sum_s for one in given))


@dataclass(slots=True)
class DurationMeter:
    """Counts durations; every method may be called from any thread."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _counts: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BOUNDS_S) + 1))
    _sum_s: float = 0.0

    def record(self, seconds: float) -> None:
        """Count one; a clock that went backwards counts as nothing."""
        bucket = bisect_left(DURATION_BOUNDS_S, seconds)
        with self._lock:
            self._counts[bucket] += 1
            self._sum_s += max(seconds, 0.0)

    def snapshot(self) -> Durations:
        """Return what was counted so far."""
        with self._lock:
            return Durations(tuple(self._counts), self._sum_s)


class Stage(StrEnum):
    """The steps of a frame's way, as they are measured."""

    DECODE = "decode"
    """Reading and decoding one picture; of a camera, with the wait for it."""
    LANE = "lane"
    """From its capture to its turn."""
    FILL = "fill"
    """Resizing it into the request's tensor."""
    INFER = "infer"
    """From the start of its request to the answer; with a batch, from the batch's start."""
    BOXES = "boxes"
    """From the answer's outputs to detections."""
    CHAIN = "chain"
    """From detections to the sinks' lanes, when its turn has come."""
    WRITE = "write"
    """In one sink: drawing, encoding, writing."""


class StageMeters:
    """What every stage costs, all streams together; every method may be called from any thread."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._meters = {stage: DurationMeter() for stage in Stage}

    def record(self, stage: Stage, seconds: float) -> None:
        """Count how long one frame took in one stage."""
        self._meters[stage].record(seconds)

    def snapshot(self) -> dict[Stage, Durations]:
        """Return what was counted so far, by stage."""
        return {stage: meter.snapshot() for stage, meter in self._meters.items()}
