"""How much of all streams this machine can decode, learnt from those that come late. Pure policy.

Left to themselves, streams that happen to be early would go on decoding everything, and the others
next to nothing. So all of them decode the same share of their groups of pictures, each at moments
of its own.
"""

from __future__ import annotations

import threading
import time

from vidpipe.interfaces import Clock

_LESS = 0.9
_MORE = 0.04
_LEAST = 0.1
_SETTLING_S = 2.0
"""After a change it takes so long until another one tells anything."""
_CALM_S = 1.0
"""After so long without a late stream a little more is tried."""

_GOLDEN = 0.618034
"""Multiples of it, without their whole part, lie evenly between 0 and 1, however many they are."""


class DecodeShare:
    """One for all streams of a process; any thread."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """Begin with everything."""
        self._clock = clock
        self._lock = threading.Lock()
        self._share = 1.0
        self._changed_at = clock()
        self._members = 0

    def phase(self) -> float:
        """Return where a new member begins, 0 <= phase < 1: no two at the same place."""
        with self._lock:
            self._members += 1
            return (self._members * _GOLDEN) % 1.0

    def note_late(self) -> None:
        """A stream is late, since it can't be decoded in time."""
        with self._lock:
            now_s = self._clock()
            if now_s - self._changed_at >= _SETTLING_S:
                self._share = max(_LEAST, self._share * _LESS)
                self._changed_at = now_s

    def share(self) -> float:
        """Return the share that is to be decoded now, up to 1."""
        with self._lock:
            now_s = self._clock()
            if self._share < 1.0 and now_s - self._changed_at >= _CALM_S:
                self._share = min(1.0, self._share + _MORE)
                self._changed_at = now_s
            return self._share
