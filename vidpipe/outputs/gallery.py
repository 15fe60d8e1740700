"""The pictures of the streams of this process, for whoever looks on.

Every result passes a stream's ``Easel``, on the thread of the stream's chain; where nobody watches,
all that happens there is that what was seen is noted (some microseconds). Otherwise the newest
result that is due is held, by reference, until one of a few threads has encoded it: planes are the
decoder's, and no picture waits for a second one. So pictures cost no stream anything: a gallery
that can't keep up shows fewer, newer ones.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from loguru import logger

from vidpipe.interfaces import Clock
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.history import History
from vidpipe.outputs.replay import Replay
from vidpipe.outputs.tile import counts_of, encode_placard, encode_tile, plan_tiles
from vidpipe.outputs.visits import OneVisit, Visits
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import trace_of
from vidpipe.runtime.pace import Pace
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.shots import SECONDS_KEPT, Glance, Second, Shot, ShotSize, TakeShot, Wants
from vidpipe.types import FrameResult

_MOST_STREAMS = 100_000
_THREADS_MOST = 4
_TIDY_EVERY_S = 1.0
_JOIN_S = 2.0


@dataclass(frozen=True, slots=True)
class _Job:
    """One result to be encoded, in the sizes that are due."""

    result: FrameResult
    sizes: frozenset[ShotSize]


class Easel:
    """One stream's place: ``take`` is for its chain, ``want`` for visits, the rest for encoders."""

    def __init__(self, stream: str, name: str, gallery: LocalGallery) -> None:
        """Begin without anybody who watches; ``name`` is what captions say, or empty."""
        self.stream = stream
        self.history = History()
        self._name = name
        self._gallery = gallery
        self._lock = threading.Lock()
        self._paces: dict[ShotSize, Pace] = {}
        self._due: set[ShotSize] = set()
        self._newest: FrameResult | None = None
        self._is_queued = False
        self._has_failed = False
        self._annotators: dict[bool, Annotator] = {}

    @property
    def is_watched(self) -> bool:
        """True while somebody wants pictures of it."""
        return bool(self._paces)

    def want(self, sizes: dict[ShotSize, float]) -> None:
        """Make pictures of these sizes from now on, so many a second each."""
        with self._lock:
            kept = {size: pace for size, pace in self._paces.items() if size in sizes}
            for size, fps in sizes.items():
                if size in kept:
                    kept[size].set_rate(fps)
                else:
                    kept[size] = Pace(fps)
            self._paces = kept
            self._due &= kept.keys()
            if not self._due:
                self._newest = None

    def take(self, result: FrameResult) -> None:
        """See one result, in order; never waits, never raises."""
        self.history.note(result)
        if not self._paces:
            return
        at_s = result.frame.captured_at
        with self._lock:
            self._due |= {size for size, pace in self._paces.items() if pace.take(at_s)}
            if not self._due:
                return
            self._newest = result
            if self._is_queued:
                return
            self._is_queued = True
        self._gallery.queue(self)

    def encode(self) -> None:
        """Encode what is due; for the encoder's thread that got it from the queue."""
        job = self._next()
        while job is not None:
            try:
                self._encode(job)
            except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one picture fails
                if not self._has_failed:
                    self._has_failed = True
                    logger.bind(stream=self.stream).error(
                        "its picture can't be shown (said once): {}", trace_of(exc)
                    )
            del job  # the pixels are the decoder's
            job = self._next()

    def _next(self) -> _Job | None:
        with self._lock:
            result, self._newest = self._newest, None
            sizes, self._due = frozenset(self._due), set()
            if result is None or not sizes:
                self._is_queued = False
                return None
            return _Job(result, sizes)

    def _encode(self, job: _Job) -> None:
        frame = job.result.frame
        time_utc = datetime.now(UTC) - timedelta(seconds=time.monotonic() - frame.captured_at)
        counts = counts_of(job.result.detections.labels)
        for size, asked in plan_tiles(frame.picture.size_wh, job.sizes).items():
            annotator = self._annotator(has_captions=size.has_captions)
            wanted_wh = (size.width, size.height)
            tile = encode_tile(job.result, wanted_wh, annotator, quality=self._gallery.quality)
            shot = Shot(
                stream=self.stream,
                seq=frame.number,
                time=time_utc,
                captured_at=frame.captured_at,
                width=tile.size_wh[0],
                height=tile.size_wh[1],
                counts=counts,
                jpeg=tile.jpeg,
            )
            self._gallery.hang(shot, asked)

    def _annotator(self, *, has_captions: bool) -> Annotator:
        annotator = self._annotators.get(has_captions)
        if annotator is None:
            annotator = self._annotators[has_captions] = Annotator(
                self._gallery.typesetter,
                name=self._name if has_captions else "",
                should_show_time=has_captions,
            )
        return annotator


class LocalGallery:
    """Implements ``Gallery``; every method is for any thread.

    Threads are started with the first picture that somebody wants, and end with ``close``.

    Attributes:
        typesetter: Sets text.
        quality: Of the JPEGs, 1 to 100.
    """

    def __init__(
        self, typesetter: Typesetter, *, quality: int = 75, clock: Clock = time.monotonic
    ) -> None:
        """Begin without streams."""
        self.typesetter = typesetter
        self.quality = quality
        self._clock = clock
        self._lock = threading.Lock()
        self._easels: dict[str, Easel] = {}
        self._visits = Visits(self._change)
        self._replay = Replay()
        self._queue: Channel[Easel] = Channel(_MOST_STREAMS)
        self._threads = ThreadGroup()
        self._is_started = False

    # ---- For the run ---------------------------------------------------------------------------

    def add(self, stream: str, name: str = "") -> Easel:
        """Return a stream's place; one that is there under the same id gives way to it."""
        easel = Easel(stream, name, self)
        with self._lock:
            former = self._easels.get(stream)
            if former is not None:
                former.want({})
                easel.history = former.history
            self._easels[stream] = easel
            # Within the lock: a change of what is wanted comes before this, or after it.
            if wants := self._visits.wants.get(stream):
                easel.want(dict(wants))
        return easel

    def remove(self, stream: str) -> None:
        """Forget a stream and its pictures."""
        with self._lock:
            easel = self._easels.pop(stream, None)
        if easel is not None:
            easel.want({})
        self._replay.forget(stream)

    def keep(self, streams: Iterable[str]) -> None:
        """Forget all streams but these."""
        for stream in self._easels.keys() - set(streams):
            self.remove(stream)

    def close(self) -> None:
        """Make no more pictures; may be called twice."""
        self._queue.abort()
        for name in self._threads.join(_JOIN_S):
            logger.warning("{} didn't end in time", name)

    # ---- For its easels ------------------------------------------------------------------------

    def queue(self, easel: Easel) -> None:
        """Have an easel's picture encoded."""
        with suppress(ChannelClosedError):
            self._queue.put(easel, timeout_s=0)

    def hang(self, shot: Shot, sizes: Sequence[ShotSize]) -> None:
        """Show a picture to all who asked for one of these sizes."""
        if any(not size.has_captions for size in sizes):
            self._replay.keep(shot)
        self._visits.deliver(shot, sizes)

    # ---- For onlookers -------------------------------------------------------------------------

    def visit(self, take: TakeShot) -> OneVisit:
        """Begin a visit."""
        return self._visits.begin(take)

    def glance(self, stream: str) -> Glance | None:
        """Return what is known of a stream's newest result, or None before the first."""
        easel = self._easels.get(stream)
        return easel.history.glance() if easel is not None else None

    def history(self, stream: str, count: int = SECONDS_KEPT) -> list[Second]:
        """Return the last so many seconds in which a frame was answered, oldest first."""
        easel = self._easels.get(stream)
        return easel.history.seconds(count) if easel is not None else []

    def replay(self, stream: str) -> list[Shot]:
        """Return the pictures of the last half minute that somebody saw, oldest first."""
        return self._replay.shots(stream, self._clock())

    def placard(self, size: ShotSize, lines: Sequence[str]) -> bytes:
        """Return a JPEG of that size: lines of text on black."""
        size_wh = (size.width, size.height)
        return encode_placard(size_wh, lines, self.typesetter, quality=self.quality)

    # ---- Inside --------------------------------------------------------------------------------

    def _change(self, wants: Wants) -> None:
        with self._lock:
            easels = list(self._easels.values())
            if wants and not self._is_started and not self._queue.is_closed:
                self._is_started = True
                for number in range(_thread_count()):
                    self._threads.spawn(f"vp-shots-{number}", self._run)
        for easel in easels:
            easel.want(dict(wants.get(easel.stream, {})))

    def _run(self) -> None:
        """Encode until closed; now and then let go of old pictures."""
        while True:
            try:
                easel = self._queue.get(None if self._replay.is_empty else _TIDY_EVERY_S)
            except TimeoutError:
                self._replay.expire(self._clock())
            except ChannelClosedError:
                return
            else:
                easel.encode()
                del easel


def _thread_count() -> int:
    return max(1, min(_THREADS_MOST, len(os.sched_getaffinity(0)) // 2))
