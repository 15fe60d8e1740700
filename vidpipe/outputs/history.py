"""What was seen of a stream in the last minute, second by second: small, and always kept.

A few microseconds a frame, and some 60 small mappings a stream.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import islice

from vidpipe.interfaces import Clock
from vidpipe.outputs.tile import counts_of
from vidpipe.shots import SECONDS_KEPT, Glance, Second
from vidpipe.types import FrameResult, Verdict


class History:
    """One stream's; ``note`` and ``merge`` are for one thread at a time, the rest for any."""

    def __init__(
        self, clock: Clock = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        """Begin empty.

        Args:
            clock: The clock of the frames' ``captured_at``.
            wall_clock: Seconds since 1970.
        """
        self._clock = clock
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self._seconds: deque[tuple[int, dict[str, int]]] = deque(maxlen=SECONDS_KEPT)
        self._newest: Glance | None = None

    def note(self, result: FrameResult) -> None:
        """Learn what was seen in one frame."""
        frame = result.frame
        at_s = self._wall_clock() - (self._clock() - frame.captured_at)
        with self._lock:
            # Without its pixels, which are the decoder's.
            self._newest = Glance(
                _utc(at_s), frame.captured_at, frame.size_wh, counts_of(result.detections.labels)
            )
            if result.verdict is Verdict.DETECTED:
                self._count(math.floor(at_s), self._newest.counts.items())

    def merge(self, seconds: Iterable[Second], glance: Glance | None) -> None:
        """Learn what another process has noted; the same second may come again, with more."""
        with self._lock:
            for second in seconds:
                self._count(math.floor(second.time.timestamp()), second.counts.items())
            if glance is not None:
                self._newest = glance

    def glance(self) -> Glance | None:
        """Return what is known of the newest frame."""
        with self._lock:
            return self._newest

    def seconds(self, count: int = SECONDS_KEPT) -> list[Second]:
        """Return the last so many that saw a frame, oldest first, of the last minute."""
        with self._lock:
            oldest = math.floor(self._wall_clock()) - SECONDS_KEPT
            skipped = max(0, len(self._seconds) - count)
            return [
                Second(_utc(second), dict(counts))
                for second, counts in islice(self._seconds, skipped, None)
                if second > oldest
            ]

    def _count(self, second: int, counts: Iterable[tuple[str, int]]) -> None:
        if self._seconds and self._seconds[-1][0] - second > SECONDS_KEPT:
            self._seconds.clear()  # the clock was set back: what was noted lies in the future
        if not self._seconds or second > self._seconds[-1][0]:
            self._seconds.append((second, dict(counts)))
            return
        for known, most in reversed(self._seconds):
            if known == second:
                for label, number in counts:
                    most[label] = max(most.get(label, 0), number)
                return
            if known < second:
                return  # too late to be put in


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
