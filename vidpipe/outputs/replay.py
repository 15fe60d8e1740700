"""The last half minute of pictures that somebody saw, as they were encoded: bounded in bytes."""

from __future__ import annotations

import threading
from collections import deque

from vidpipe.runtime.pace import Pace
from vidpipe.shots import Shot

SECONDS_KEPT = 30.0
_RATE_FPS = 10.0
"""More pictures a second than this would only push older ones out."""
_MOST_BYTES_ALL = 128_000_000
_MOST_BYTES_EACH = 16_000_000
"""Half a minute of tiles 480 pixels wide takes 6 MB a stream."""


class Replay:
    """The rings of all streams; every method is for any thread."""

    def __init__(
        self, *, most_bytes: int = _MOST_BYTES_ALL, most_bytes_each: int = _MOST_BYTES_EACH
    ) -> None:
        """Hold at most so many bytes, altogether and of each stream."""
        self._most_bytes = most_bytes
        self._most_bytes_each = most_bytes_each
        self._lock = threading.Lock()
        self._rings: dict[str, _Ring] = {}

    @property
    def is_empty(self) -> bool:
        """True if nothing is held."""
        return not self._rings

    @property
    def size_bytes(self) -> int:
        """How many bytes of pictures are held."""
        with self._lock:
            return sum(ring.size_bytes for ring in self._rings.values())

    def keep(self, shot: Shot) -> None:
        """Keep a picture; of several sizes of one frame the widest stays."""
        with self._lock:
            ring = self._rings.setdefault(shot.stream, _Ring())
            ring.keep(shot)
            limit = min(self._most_bytes_each, self._most_bytes // len(self._rings))
            for one in self._rings.values():
                one.cut(limit)
            self._expire(shot.captured_at)

    def shots(self, stream: str, now_s: float) -> list[Shot]:
        """Return a stream's pictures, oldest first."""
        with self._lock:
            self._expire(now_s)
            ring = self._rings.get(stream)
            return list(ring.shots) if ring is not None else []

    def expire(self, now_s: float) -> None:
        """Let go of what is too old; ``now_s`` in the monotonic seconds of the pictures."""
        with self._lock:
            self._expire(now_s)

    def forget(self, stream: str) -> None:
        """Let go of a stream's pictures."""
        with self._lock:
            self._rings.pop(stream, None)

    def _expire(self, now_s: float) -> None:
        for stream, ring in list(self._rings.items()):
            ring.expire(now_s - SECONDS_KEPT)
            if not ring.shots:
                del self._rings[stream]


class _Ring:
    """One stream's pictures; guarded by the lock of its owner."""

    __slots__ = ("_pace", "shots", "size_bytes")

    def __init__(self) -> None:
        self.shots: deque[Shot] = deque()
        self.size_bytes = 0
        self._pace = Pace(_RATE_FPS)

    def keep(self, shot: Shot) -> None:
        last = self.shots[-1] if self.shots else None
        if last is not None and last.seq == shot.seq:
            if shot.width > last.width:
                self.size_bytes += len(shot.jpeg) - len(last.jpeg)
                self.shots[-1] = shot
        elif self._pace.take(shot.captured_at):
            self.shots.append(shot)
            self.size_bytes += len(shot.jpeg)

    def cut(self, most_bytes: int) -> None:
        while self.size_bytes > most_bytes:
            self._drop_oldest()

    def expire(self, oldest_s: float) -> None:
        while self.shots and self.shots[0].captured_at < oldest_s:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self.size_bytes -= len(self.shots.popleft().jpeg)
