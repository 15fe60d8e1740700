"""The loop between the lanes and a request pool.

First a credit (a free request), then the frame: so that no frame grows old in the dispatcher's
hand. Lanes, windows and turns are guarded by one lock, which is held for microseconds and never
while a frame is being resized or started.

A model may have two pools, each fed by a loop of its own on a route of its own. A stream is on one
route at a time; it may be moved between two of its frames, whose order their sequence keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from vidpipe.interfaces import Clock, RequestPool
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.fairness import FairShare
from vidpipe.scheduling.lanes import Lane, LanePolicy
from vidpipe.scheduling.sampling import DetectRate
from vidpipe.types import DropCause, Frame, PassedFrame, StreamEnd


@dataclass(frozen=True, slots=True)
class DispatchPolicy:
    """How one stream shares the pool.

    Attributes:
        lane: What waits, and what gives way.
        window: Frames of the stream between dispatch and their last blocking sink, at most.
        weight: The stream's share relative to the others'.
        detect_fps: How many frames a second the model is asked about; None for all.
    """

    lane: LanePolicy
    window: int
    weight: float = 1.0
    detect_fps: float | None = None


class _Pause(Enum):
    """Why there is no frame just now."""

    FLUSH = "flush"
    """What has been gathered is not to wait for it."""
    OVER = "over"
    """There will be none."""


class _Intake:
    """One stream's side of the dispatcher."""

    def __init__(
        self, policy: DispatchPolicy, meter: StreamMeter, lock: threading.Lock, route: int
    ) -> None:
        self.route = route
        self.lane = Lane(policy.lane, meter.count_dropped)
        self.has_room = threading.Condition(lock)
        self.sampler = DetectRate(policy.detect_fps)
        self.window = policy.window
        self.out = 0
        self.sequence = 0
        self.is_open = True

    @property
    def may_bring_more(self) -> bool:
        """True if a frame can come of itself, before any that is out has come to its end."""
        return self.is_open and self.out < self.window

    @property
    def is_ready(self) -> bool:
        if len(self.lane) > 0:
            return self.out < self.window
        return not self.is_open  # the end is no frame: it needs no place in the window

    def end(self) -> None:
        self.is_open = False
        self.has_room.notify_all()

    def next_sequence(self) -> int:
        self.sequence += 1
        self.out += 1
        return self.sequence - 1


class Dispatcher:
    """All lanes that share one pool, or the pools of one model.

    ``put`` is called by capture threads, ``run`` by one thread a route, the rest by any thread.
    """

    def __init__(
        self,
        emit: Callable[[PassedFrame | StreamEnd], None],
        clock: Clock,
        stages: StageMeters | None = None,
    ) -> None:
        """Begin with no streams; ``emit`` takes what needs no request, and must not block."""
        self._emit = emit
        self._clock = clock
        self._stages = stages or StageMeters()
        self._route = 0
        self._lock = threading.Lock()
        self._has_work = threading.Condition(self._lock)
        self._intakes: dict[str, _Intake] = {}
        self._turns = FairShare()
        self._is_closing = False

    def add(self, stream: str, policy: DispatchPolicy, meter: StreamMeter) -> None:
        """Open a lane for a stream; it has ended already if the dispatcher is closing.

        Raises:
            ValueError: The stream has a lane.
        """
        with self._lock:
            if stream in self._intakes:
                raise ValueError(f"stream {stream} has a lane already")
            self._turns.add(stream, policy.weight)
            intake = self._intakes[stream] = _Intake(policy, meter, self._lock, self._route)
            if self._is_closing:
                intake.end()
                self._has_work.notify_all()

    def put(self, frame: Frame) -> bool:
        """Append a frame to its stream's lane, waiting for room where the lane blocks.

        Returns:
            False if the lane has ended: the frame was not taken.
        """
        with self._lock:
            intake = self._intakes.get(frame.stream)
            while intake is not None and intake.is_open and intake.lane.must_wait:
                intake.has_room.wait()
            if intake is None or not intake.is_open:
                return False
            intake.lane.put(frame)
            self._has_work.notify_all()
            return True

    def end(self, stream: str) -> None:
        """Take no more frames of a stream; what waits still goes its way. May be repeated."""
        with self._lock:
            intake = self._intakes.get(stream)
            if intake is not None:
                intake.end()
                self._has_work.notify_all()

    def release(self, stream: str) -> None:
        """A frame of the stream has left its last blocking sink: its window moves on."""
        with self._lock:
            intake = self._intakes.get(stream)
            if intake is not None:
                intake.out -= 1
                self._has_work.notify_all()

    def close(self) -> None:
        """End every lane; ``run`` returns once what waits has gone its way."""
        with self._lock:
            self._is_closing = True
            for intake in self._intakes.values():
                intake.end()
            self._has_work.notify_all()

    def abort(self) -> None:
        """Drop what waits, with cause ``stop``, and end every lane, full windows or not."""
        with self._lock:
            self._is_closing = True
            for intake in self._intakes.values():
                intake.lane.discard(DropCause.STOP)
                intake.end()
            self._has_work.notify_all()

    def depth(self, stream: str) -> int:
        """Count the frames that wait in a stream's lane."""
        with self._lock:
            intake = self._intakes.get(stream)
            return len(intake.lane) if intake is not None else 0

    def move(self, route: int) -> None:
        """Put all streams, and those to come, on another route, each from its next frame on.

        While closing they stay where they are: the other loop may have come to its end.
        """
        with self._lock:
            if self._is_closing:
                return
            self._route = route
            for intake in self._intakes.values():
                intake.route = route
            self._has_work.notify_all()

    def run(self, pool: RequestPool, route: int = 0) -> None:
        """Feed a pool with the streams of a route, until closed and empty; or the pool is."""
        while (slot := pool.acquire()) is not None:
            work = self._next_frame(pool, route)
            if isinstance(work, _Pause):
                # Frames that were gathered are started; the slot that they lie in goes with them.
                if pool.flush_in_s() is not None:
                    pool.flush()
                else:
                    pool.give_back(slot)
                if work is _Pause.OVER:
                    return
                continue
            frame, sequence = work
            self._stages.record(Stage.LANE, self._clock() - frame.captured_at)
            pool.submit(slot, frame, sequence)

    def _next_frame(self, pool: RequestPool, route: int) -> tuple[Frame, int] | _Pause:
        """Wait for a frame that the model is to be asked about; emit all else on the way."""
        while True:
            with self._lock:
                while (item := self._take(route)) is None:
                    if self._is_closing and not self._has_streams(route):
                        return _Pause.OVER
                    left_s = pool.flush_in_s()
                    if left_s is not None and (left_s <= 0 or not self._may_come(route)):
                        return _Pause.FLUSH
                    self._has_work.wait(left_s)
            if isinstance(item, tuple):
                return item
            self._emit(item)

    def _has_streams(self, route: int) -> bool:
        return any(intake.route == route for intake in self._intakes.values())

    def _may_come(self, route: int) -> bool:
        """Return False if no frame can come on a route before one that is out has come back."""
        return any(
            intake.may_bring_more for intake in self._intakes.values() if intake.route == route
        )

    def _take(self, route: int) -> tuple[Frame, int] | PassedFrame | StreamEnd | None:
        """Take the next thing to do, with the lock held; None if there is nothing now."""
        while True:
            ready = (
                name
                for name, intake in self._intakes.items()
                if intake.route == route and intake.is_ready
            )
            stream = self._turns.next(ready)
            if stream is None:
                return None
            intake = self._intakes[stream]
            frame = intake.lane.take(self._clock())
            if intake.lane.is_half_empty:
                # Not at every frame: waking a thread costs more than anything else here.
                intake.has_room.notify()
            if frame is not None:
                if not intake.sampler.is_due(frame):
                    return PassedFrame(frame, intake.next_sequence())
                self._turns.charge(stream)
                return frame, intake.next_sequence()
            if not intake.is_open:
                del self._intakes[stream]
                self._turns.remove(stream)
                return StreamEnd(stream, intake.next_sequence())
