"""A recording's lane and loop: packets from the capture, never waited for if the source is live.

A lane that is full takes nothing more until a key frame comes and there is room: what is on the
disk can always be decoded. It is bounded in packets and in bytes; every packet lost is counted.
A recording that fails is tried again, but where the source waits for it: there it is given up.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.finished import REMEMBERED
from vidpipe.outputs.storage import TEND_EVERY_S, Storage
from vidpipe.packets import EncodedPacket, Opening, TrackKind
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.types import Overflow

MOST_BYTES = 32_000_000
"""Some seconds of the heaviest camera, or a minute of a usual one."""
_REST_S = 10.0
"""After a failure, before a live recording is tried again."""


class PacketSink(Protocol):
    """What writes a recording. Its lane's thread calls it."""

    def write(self, opening: Opening, packet: EncodedPacket) -> None:
        """Write one packet.

        Raises:
            SinkError: That failed; the next key frame begins a new file.
        """

    def close(self) -> list[str]:
        """Finish what is open; return the paths. May be written to again.

        Raises:
            SinkError: It can't be finished.
        """


class PacketEvents(Protocol):
    """Whom a lane tells; called on its thread or the capture's."""

    def rest(self, *, is_resting: bool) -> None:
        """The disk has too little room, or enough again."""

    def lose(self, count: int) -> None:
        """Packets were lost."""

    def fail(self, error: str) -> None:
        """The recording has failed; called once."""

    def finish(self, paths: list[str]) -> None:
        """The recording is done, and has left these files; called once."""


@dataclass(frozen=True, slots=True)
class RecordLane:
    """How a recording is fed.

    Attributes:
        name: For people: the output's type, numbered where there are several.
        sink: What writes.
        size: Packets that wait at most.
        overflow: What a full lane does.
        storage: Looks after the disk.
    """

    name: str
    sink: PacketSink
    size: int
    overflow: Overflow
    storage: Storage


class PacketFeed:
    """Implements ``PacketOutlet``; ``run`` is its thread's loop, the rest is for any thread."""

    def __init__(
        self, lane: RecordLane, stream: str, events: PacketEvents, clock: Clock = time.monotonic
    ) -> None:
        """Begin empty."""
        self.lane = lane
        self._events = events
        self._clock = clock
        self._log = logger.bind(stream=stream)
        self._channel: Channel[tuple[Opening, EncodedPacket]] = Channel(lane.size)
        self._lock = threading.Lock()
        self._is_blocking = lane.overflow is Overflow.BLOCK
        self._waiting_bytes = 0
        self._opening: Opening | None = None
        self._awaits_key = False
        self._rests_until = float("-inf")
        self._has_failed = False
        self._is_resting = False
        self._is_given_up = False
        self._paths: deque[str] = deque(maxlen=REMEMBERED)

    def take(self, opening: Opening, packet: EncodedPacket) -> None:
        """Take a packet; see ``PacketOutlet``. A capture that was left behind is not heard."""
        with self._lock:
            last = self._opening
            if last is not None and opening is not last and opening.opened_at <= last.opened_at:
                return
            self._opening = opening
        try:
            if self._is_blocking:
                self._channel.put((opening, packet))
            elif not self._put_now(opening, packet):
                self._events.lose(1)
        except ChannelClosedError:
            return  # the recording has ended before its source: at a stop

    def _put_now(self, opening: Opening, packet: EncodedPacket) -> bool:
        """Put a packet if there is room, and nothing is missing before it."""
        is_video = opening.tracks[packet.track].kind is TrackKind.VIDEO
        with self._lock:
            has_room = self._channel.has_room and self._waiting_bytes < MOST_BYTES
            if is_video:
                self._awaits_key = not has_room or (self._awaits_key and not packet.is_key)
            if not has_room or (is_video and self._awaits_key):
                return False
            self._waiting_bytes += len(packet.data)
            return self._channel.put((opening, packet), timeout_s=0.0)

    def close(self) -> None:
        """Take nothing more; what waits is written."""
        self._channel.close()

    def abort(self) -> int:
        """Throw away what waits; return how many packets that were."""
        lost = len(self._channel.abort())
        if lost:
            self._events.lose(lost)
        return lost

    def run(self) -> None:
        """Write until the lane is closed and empty, then finish the file."""
        while True:
            try:
                opening, packet = self._channel.get(TEND_EVERY_S)
            except TimeoutError:
                self.lane.storage.tend()
                continue
            except ChannelClosedError:
                break
            if not self._is_blocking:
                with self._lock:
                    self._waiting_bytes -= len(packet.data)
            self._handle(opening, packet)
        self._guarded(self._close, "finished")
        self._events.finish(list(self._paths))

    def _handle(self, opening: Opening, packet: EncodedPacket) -> None:
        if self._is_given_up or self._clock() < self._rests_until:
            self._events.lose(1)
        elif not self._has_space():
            self._guarded(self._close, "finished")
            self._events.lose(1)
            if self._is_blocking:
                self._fail(f"{self.lane.name}: the disk has less room than min_free_gb")
                self._is_given_up = True
        elif not self._guarded(lambda: self.lane.sink.write(opening, packet), "written"):
            self._events.lose(1)
            self._is_given_up = self._is_blocking
            self._rests_until = self._clock() + _REST_S

    def _has_space(self) -> bool:
        has_room = self.lane.storage.has_room()
        if has_room is self._is_resting:
            self._is_resting = not has_room
            self._events.rest(is_resting=self._is_resting)
        return has_room

    def _close(self) -> None:
        self._paths += self.lane.sink.close()

    def _guarded(self, step: Callable[[], None], what: str) -> bool:
        try:
            step()
        except SinkError as exc:
            self._fail(str(exc))
        except Exception as exc:  # noqa: BLE001 - the sink fan-out: one sink fails, no other
            self._log.error("output {} can't be {}: {}", self.lane.name, what, trace_of(exc))
            self._fail(str(exc) or repr(exc))
        else:
            return True
        return False

    def _fail(self, error: str) -> None:
        if self._has_failed:
            self._log.warning("output {}: {}", self.lane.name, redact(error))
        else:
            self._has_failed = True
            self._events.fail(redact(error))
