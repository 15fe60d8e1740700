"""One stream's sinks: each with a lane and a thread of its own, so that none waits for another.

A blocking lane (recorded sources) makes the stream's chain wait when it is full; a lane that drops
its oldest (live ones) counts what it lost. A sink that fails is left out from then on: the others,
and the stream, go on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.events import Announce
from vidpipe.interfaces import Sink
from vidpipe.outputs.finished import REMEMBERED
from vidpipe.outputs.packetlane import PacketFeed, RecordLane
from vidpipe.outputs.storage import TEND_EVERY_S, Storage
from vidpipe.packets import EncodedPacket, Opening, PacketOutlet
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import NO_PICTURE, FrameResult, Overflow, Verdict


@dataclass(frozen=True, slots=True)
class SinkLane:
    """How a sink is fed.

    Attributes:
        name: For people: the sink's type, numbered where there are several.
        sink: What writes.
        size: Results that wait at most.
        overflow: What a full lane does.
        storage: Looks after the disk, or None.
        losses: Returns how many results the sink has thrown away since it was last asked, or None.
    """

    name: str
    sink: Sink
    size: int
    overflow: Overflow
    storage: Storage | None = None
    losses: Callable[[], int] | None = None


class FanoutEvents(Protocol):
    """Whom a fan-out tells; every method is called from sink threads or the chain's."""

    def settle(self, stream: str) -> None:
        """A frame has left the last blocking sink."""

    def make_room(self, stream: str) -> None:
        """A blocking lane has room again."""

    def fail(self, stream: str, sink: str, error: str) -> None:
        """A sink has failed, once."""

    def finish(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        """A sink is done, failed or not, and has left these files; called once a sink."""


class _Ticket:
    """Counts the blocking sinks that a frame has still to pass."""

    __slots__ = ("_left", "_lock", "_on_done")

    def __init__(self, count: int, on_done: Callable[[], None]) -> None:
        self._left = count
        self._lock = threading.Lock()
        self._on_done = on_done

    def check(self) -> None:
        """One sink has done with the frame, written or not."""
        with self._lock:
            self._left -= 1
            is_done = self._left == 0
        if is_done:
            self._on_done()


class _Feed:
    """One sink's lane and loop."""

    def __init__(
        self,
        lane: SinkLane,
        stream: str,
        meter: StreamMeter,
        events: FanoutEvents,
        stages: StageMeters,
    ) -> None:
        self.lane = lane
        self.is_blocking = lane.overflow is Overflow.BLOCK
        self._stream = stream
        self._meter = meter
        self._events = events
        self._stages = stages
        self._channel: Channel[tuple[FrameResult, _Ticket | None]] = Channel(lane.size)
        self._has_failed = False
        self._rests = False
        self._paths: deque[str] = deque(maxlen=REMEMBERED)

    @property
    def has_room(self) -> bool:
        return self._channel.has_room

    def put(self, result: FrameResult, ticket: _Ticket | None) -> None:
        try:
            if self.is_blocking:
                # The chain has seen that there is room, and nobody else puts.
                self._channel.put((result, ticket))
            elif self._channel.put_newest((result, ticket)) is not None:
                self._meter.count_sink_loss(self.lane.name)
        except ChannelClosedError:
            self._lose(ticket)

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> int:
        """Throw away what waits; return how many results that were."""
        left = self._channel.abort()
        for _, ticket in left:
            self._lose(ticket)
        return len(left)

    def run(self) -> None:
        """Write until the lane is closed and empty, then finish the sink."""
        while (item := self._next()) is not None:
            result, ticket = item
            # Now, and not after the write: the next result comes while this one is being written.
            self._make_room()
            if self._has_failed or not self._has_space():
                self._lose(ticket)
            else:
                self._write(result)
                if ticket is not None:
                    ticket.check()
        self._make_room()  # a chain that waited when the lane was aborted gets no other word
        self._finish()

    def _next(self) -> tuple[FrameResult, _Ticket | None] | None:
        """Wait for what comes next; None at the end. The files are looked after meanwhile."""
        storage = self.lane.storage
        while True:
            try:
                return self._channel.get(None if storage is None else TEND_EVERY_S)
            except TimeoutError:
                assert storage is not None
                storage.tend()
            except ChannelClosedError:
                return None

    def _has_space(self) -> bool:
        """Tell whether the disk has room; where it hasn't, what is open is finished."""
        storage = self.lane.storage
        if storage is None:
            return True
        if storage.has_room():
            self._note_resting(is_resting=False)
            return True
        self._note_resting(is_resting=True)
        self._close_sink()
        if self.is_blocking:
            self._fail(SinkError(f"{self.lane.name}: the disk has less room than min_free_gb"))
        return False

    def _note_resting(self, *, is_resting: bool) -> None:
        if is_resting is not self._rests:
            self._rests = is_resting
            self._meter.note_resting(self.lane.name, is_resting=is_resting)

    def _close_sink(self) -> None:
        try:
            self._paths += self.lane.sink.close()
        except Exception as exc:  # noqa: BLE001 - the sink fan-out: one sink fails, no other
            self._fail(exc)

    def _make_room(self) -> None:
        if self.is_blocking:
            self._events.make_room(self._stream)

    def _lose(self, ticket: _Ticket | None) -> None:
        self._meter.count_sink_loss(self.lane.name)
        if ticket is not None:
            ticket.check()

    def _write(self, result: FrameResult) -> None:
        started_at = time.monotonic()
        try:
            self.lane.sink.write(result)
            self._stages.record(Stage.WRITE, time.monotonic() - started_at)
        except Exception as exc:  # noqa: BLE001 - the sink fan-out: one sink fails, no other
            self._meter.count_sink_loss(self.lane.name)
            self._fail(exc)
        if self.lane.losses is not None and (lost := self.lane.losses()):
            self._meter.count_sink_loss(self.lane.name, lost)

    def _finish(self) -> None:
        self._close_sink()
        self._events.finish(self._stream, self.lane.name, list(self._paths))

    def _fail(self, exc: Exception) -> None:
        if not isinstance(exc, SinkError):
            logger.bind(stream=self._stream).error(
                "output {} failed: {}", self.lane.name, trace_of(exc)
            )
        if not self._has_failed:
            self._has_failed = True
            self._meter.count_error(self.lane.name)
            self._events.fail(self._stream, self.lane.name, redact(str(exc) or repr(exc)))


@dataclass(frozen=True, slots=True)
class _RecordEvents:
    """Implements ``PacketEvents``: a recording is one more sink of its stream."""

    stream: str
    name: str
    meter: StreamMeter
    events: FanoutEvents

    def rest(self, *, is_resting: bool) -> None:
        self.meter.note_resting(self.name, is_resting=is_resting)

    def lose(self, count: int) -> None:
        self.meter.count_sink_loss(self.name, count)

    def fail(self, error: str) -> None:
        self.meter.count_error(self.name)
        self.events.fail(self.stream, self.name, error)

    def finish(self, paths: list[str]) -> None:
        self.events.finish(self.stream, self.name, paths)


@dataclass(frozen=True, slots=True)
class _Outlet:
    """Implements ``PacketOutlet`` for all recordings of a stream."""

    feeds: Sequence[PacketFeed]

    def take(self, opening: Opening, packet: EncodedPacket) -> None:
        for feed in self.feeds:
            feed.take(opening, packet)


class Fanout:
    """Implements ``ResultOutlet`` for one stream."""

    def __init__(
        self,
        stream: str,
        lanes: Sequence[SinkLane],
        meter: StreamMeter,
        events: FanoutEvents,
        stages: StageMeters | None = None,
        *,
        records: Sequence[RecordLane] = (),
    ) -> None:
        """Make the lanes; ``start`` starts their threads."""
        self._stream = stream
        self._meter = meter
        self._events = events
        self._stages = stages or StageMeters()
        self._feeds: list[_Feed] = []
        self._blocking: list[_Feed] = []
        for lane in lanes:
            self.add(lane)
        self._records = [
            PacketFeed(record, stream, _RecordEvents(stream, record.name, meter, events))
            for record in records
        ]

    @property
    def packets(self) -> PacketOutlet | None:
        """Where the source's packets go; None if nothing is recorded."""
        return _Outlet(self._records) if self._records else None

    def tell(self, announce: Announce) -> None:
        """Have events made of disks that fill; before the start."""
        for feed in self._all:
            if feed.lane.storage is not None:
                feed.lane.storage.tell(announce)

    @property
    def _all(self) -> list[_Feed | PacketFeed]:
        return [*self._feeds, *self._records]

    def add(self, lane: SinkLane) -> None:
        """Make one lane more, before ``start``."""
        feed = _Feed(lane, self._stream, self._meter, self._events, self._stages)
        self._feeds.append(feed)
        if feed.is_blocking:
            self._blocking.append(feed)

    def start(self, threads: ThreadGroup) -> None:
        """Start one thread a sink."""
        for feed in self._all:
            threads.spawn(f"vp-{feed.lane.name}-{self._stream}", feed.run)

    @property
    def has_room(self) -> bool:
        """True if every blocking lane takes one result more."""
        return all(feed.has_room for feed in self._blocking)

    def write(self, result: FrameResult) -> None:
        """Hand a result to every lane that has a use for it."""
        takers = [feed for feed in self._feeds if _wants(feed.lane.sink, result)]
        blocking = sum(feed.is_blocking for feed in takers)
        ticket = _Ticket(blocking, lambda: self._events.settle(self._stream)) if blocking else None
        bare: FrameResult | None = None
        for feed in takers:
            if feed.lane.sink.needs_picture:
                feed.put(result, ticket if feed.is_blocking else None)
            else:
                bare = bare or replace(result, frame=replace(result.frame, picture=NO_PICTURE))
                feed.put(bare, ticket if feed.is_blocking else None)
        if ticket is None:
            self._events.settle(self._stream)

    def close(self) -> None:
        """Let the sinks write what they hold and finish."""
        for feed in self._all:
            feed.close()

    def abort(self) -> dict[str, int]:
        """Throw away what waits and let the sinks finish; return the losses by sink."""
        return {feed.lane.name: lost for feed in self._all if (lost := feed.abort())}


def _wants(sink: Sink, result: FrameResult) -> bool:
    return sink.needs_picture or result.verdict is not Verdict.PASSED
