"""The pictures of a run in several processes: encoded where the streams are, shown here.

A picture crosses over only while somebody wants it, and once for all who do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from vidpipe.apps.messages import Shown, View
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.history import History
from vidpipe.outputs.replay import Replay
from vidpipe.outputs.tile import encode_placard
from vidpipe.outputs.visits import OneVisit, Visits
from vidpipe.shots import SECONDS_KEPT, Glance, Second, Shot, ShotSize, TakeShot, Wants


class FleetGallery:
    """Implements ``Gallery``; every method is for any thread."""

    def __init__(self, on_change: Callable[[Wants], None], *, quality: int = 75) -> None:
        """Begin empty.

        Args:
            on_change: Is told what is wanted of all workers together; must not wait.
            quality: Of the JPEGs that are made here.
        """
        self._quality = quality
        self._typesetter = Typesetter()
        self._visits = Visits(on_change)
        self._replay = Replay()
        self._lock = threading.Lock()
        self._histories: dict[str, History] = {}
        self._first_seq: dict[str, int] = {}
        """What is added to the numbers of a worker that begins to count anew."""
        self._last_seq: dict[str, int] = {}

    # ---- For the keepers -----------------------------------------------------------------------

    def begin_life(self, streams: Iterable[str]) -> None:
        """A worker counts these streams' frames from 0 again."""
        with self._lock:
            for stream in streams:
                if stream in self._last_seq:
                    self._first_seq[stream] = self._last_seq[stream] + 1

    def learn(self, view: View) -> None:
        """Take in what a worker has noted."""
        for stream, seconds in view.seconds.items():
            self._history(stream).merge(seconds, view.glances.get(stream))
        self._replay.expire(time.monotonic())

    def hang(self, shown: Shown) -> None:
        """Show a worker's picture to all who asked for it."""
        shot = shown.shot
        with self._lock:
            seq = shot.seq + self._first_seq.get(shot.stream, 0)
            self._last_seq[shot.stream] = max(seq, self._last_seq.get(shot.stream, 0))
        if seq != shot.seq:
            shot = replace(shot, seq=seq)
        if any(not size.has_captions for size in shown.sizes):
            self._replay.keep(shot)
        self._visits.deliver(shot, shown.sizes)

    def remove(self, stream: str) -> None:
        """Forget a stream and its pictures."""
        with self._lock:
            for known in (self._histories, self._first_seq, self._last_seq):
                known.pop(stream, None)
        self._replay.forget(stream)

    # ---- For onlookers -------------------------------------------------------------------------

    def visit(self, take: TakeShot) -> OneVisit:
        """Begin a visit."""
        return self._visits.begin(take)

    def glance(self, stream: str) -> Glance | None:
        """Return what is known of a stream's newest result, or None before the first."""
        history = self._histories.get(stream)
        return history.glance() if history is not None else None

    def history(self, stream: str, count: int = SECONDS_KEPT) -> list[Second]:
        """Return the last so many seconds in which a frame was answered, oldest first."""
        history = self._histories.get(stream)
        return history.seconds(count) if history is not None else []

    def replay(self, stream: str) -> list[Shot]:
        """Return the pictures of the last half minute that somebody saw, oldest first."""
        return self._replay.shots(stream, time.monotonic())

    def placard(self, size: ShotSize, lines: Sequence[str]) -> bytes:
        """Return a JPEG of that size: lines of text on black."""
        size_wh = (size.width, size.height)
        return encode_placard(size_wh, lines, self._typesetter, quality=self._quality)

    def _history(self, stream: str) -> History:
        with self._lock:
            return self._histories.setdefault(stream, History())
