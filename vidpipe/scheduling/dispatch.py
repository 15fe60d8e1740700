"""The loop between the lanes and a request pool.

First a credit (a free request), then the frame: so that no frame grows old in the dispatcher's
hand. Lanes, windows and turns are guarded by one lock, which is held for microseconds and never
while a frame is being resized or started.

Pictures that somebody waits for go ahead of the streams' frames, and are counted nowhere.

A model may have two pools, each fed by a loop of its own on a route of its own. A stream is on one
route at a time; it may be moved between two of its frames, whose order their sequence keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from functools import partial

from vidpipe.interfaces import Clock, RequestPool
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.ahead import AHEAD, AheadQueue
from vidpipe.scheduling.fairness import FairShare
from vidpipe.scheduling.intake import DispatchPolicy, Intake
from vidpipe.types import Frame, PassedFrame, StreamEnd


class _Pause(Enum):
    """Why there is no frame just now."""

    FLUSH = "flush"
    """What has been gathered is not to wait for it."""
    OVER = "over"
    """There will be none."""


class Dispatcher:
    """All lanes that share one pool, or the pools of one model.

    ``run`` is called by one thread a route, the rest by any thread.
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
        self._intakes: dict[str, Intake] = {}
        self._turns = FairShare()
        self._ahead = AheadQueue()
        self._is_closing = False

    def add(self, stream: str, policy: DispatchPolicy, meter: StreamMeter) -> Intake:
        """Open a lane for a stream; it has ended already if the dispatcher is closing.

        Returns:
            The stream's place, which whoever keeps it reaches without a look-up; once the end of
            its frames has been emitted, the name is free for another one.

        Raises:
            ValueError: The stream has a lane.
        """
        with self._lock:
            if stream in self._intakes:
                raise ValueError(f"stream {stream} has a lane already")
            self._turns.add(stream, policy.weight)
            excuse = partial(self._turns.excuse, stream)
            intake = Intake(policy, meter, self._lock, self._has_work, excuse)
            intake.route = self._route
            self._intakes[stream] = intake
            if self._is_closing:
                intake.shut()
            return intake

    @property
    def waiting_ahead(self) -> int:
        """How many frames go ahead of the streams'."""
        return len(self._ahead)

    def put_ahead(self, frame: Frame, give_up: Callable[[], None]) -> bool:
        """Let a frame of no stream go ahead; its answer comes by its own name.

        Returns:
            False if there is no room: it was not taken. Otherwise it goes to the pool, unless it is
            withdrawn, or the dispatcher closed: then ``give_up`` is called, on any thread.
        """
        with self._lock:
            if self._is_closing or not self._ahead.put(frame, give_up):
                return False
            self._has_work.notify_all()
            return True

    def withdraw(self, frame: Frame) -> None:
        """Forget a frame that was put ahead, if it waits still."""
        with self._lock:
            self._ahead.withdraw(frame)

    def close(self) -> None:
        """End every lane; ``run`` returns once what waits has gone its way."""
        with self._lock:
            self._is_closing = True
            given_up = self._ahead.clear()
            for intake in self._intakes.values():
                intake.shut()
            self._has_work.notify_all()
        for give_up in given_up:
            give_up()

    def abort(self) -> None:
        """Drop what waits, with cause ``stop``, and end every lane, full windows or not."""
        self.close()
        for intake in list(self._intakes.values()):
            intake.abort()

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
            if sequence != AHEAD:
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
        is_route = route == self._route
        if is_route and self._ahead.is_next:
            return self._ahead.take(), AHEAD
        while True:
            ready = (
                name
                for name, intake in self._intakes.items()
                if intake.route == route and intake.is_ready
            )
            stream = self._turns.next(ready)
            if stream is None:
                return (self._ahead.take(), AHEAD) if is_route and self._ahead else None
            intake = self._intakes[stream]
            frame = intake.lane.take(self._clock())
            intake.wake_producer()
            if frame is not None:
                if not intake.sampler.is_due(frame):
                    return PassedFrame(frame, intake.next_sequence())
                self._turns.charge(stream)
                self._ahead.give_way()
                return frame, intake.next_sequence()
            if not intake.is_open:
                del self._intakes[stream]
                self._turns.remove(stream)
                return StreamEnd(stream, intake.next_sequence())
