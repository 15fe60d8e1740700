"""The real stages between captures and sinks, with a fake device, fake sinks and all the checks.

A plant is started with its ``with`` statement, and watches itself all the while: the balance of
every stream's counters, the windows, and the death of any thread.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType

from tests.builders import make_frame, make_source
from tests.fakes import FakePool, FakeSubmission, RecordingSink
from tests.threads import wait_until
from vidpipe.analytics.chain import StreamChain, StreamRole
from vidpipe.analytics.workers import Workers
from vidpipe.errors import InferenceError
from vidpipe.interfaces import RequestSlot, Submission
from vidpipe.outputs.fanout import Fanout, SinkLane
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.scheduling.dispatch import Dispatcher
from vidpipe.scheduling.intake import DispatchPolicy, Intake
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.types import (
    NO_DETECTIONS,
    Detections,
    DropCause,
    Frame,
    FrameResult,
    Overflow,
    PassedFrame,
    StreamEnd,
)

_PATIENCE_S = 20.0


class Dawdler:
    """Waits for random moments, most of them none at all; may be called from any thread."""

    def __init__(self, seed: int, longest_s: float) -> None:
        """Wait at most so long."""
        self._rng = random.Random(seed)
        self._longest_s = longest_s
        self._pause = threading.Event()

    def __call__(self) -> None:
        """Wait, perhaps."""
        if self._longest_s and self._rng.random() < 0.3:
            self._pause.wait(self._rng.random() * self._longest_s)


class ShufflingPool(FakePool):
    """A pool whose device answers on threads of its own, in any order."""

    def __init__(
        self,
        size: int,
        deliver: Callable[[Submission], None],
        device: Callable[[Frame], Detections],
        on_submit: Callable[[str], None],
        seed: int,
    ) -> None:
        """Begin with all requests free; ``run`` is a thread of the device."""
        super().__init__(size, deliver, device)
        self._rng = random.Random(seed)
        self._on_submit = on_submit
        self._has_some = threading.Condition()
        self._waiting: list[FakeSubmission] = []
        self._is_over = False

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Leave it to the device."""
        self._on_submit(frame.stream)
        with self._has_some:
            self._waiting.append(FakeSubmission(self, frame, sequence))
            self._has_some.notify()

    def run(self) -> None:
        """Answer what waits, until the pool is closed and nothing does."""
        while (submission := self._next()) is not None:
            try:
                submission.answer = self._device(submission.frame)
            except InferenceError as exc:
                submission.answer = exc
            assert self._deliver is not None
            self._deliver(submission)

    def close(self) -> None:
        """End the device's threads too."""
        super().close()
        with self._has_some:
            self._is_over = True
            self._has_some.notify_all()

    def _next(self) -> FakeSubmission | None:
        with self._has_some:
            while not self._waiting and not self._is_over:
                self._has_some.wait()
            if not self._waiting:
                return None
            return self._waiting.pop(self._rng.randrange(len(self._waiting)))


class DawdlingSink(RecordingSink):
    """A sink that takes its time."""

    def __init__(self, dawdle: Dawdler, *, needs_picture: bool = True) -> None:
        """Take as long as told."""
        super().__init__(needs_picture=needs_picture)
        self._dawdle = dawdle

    def write(self, result: FrameResult) -> None:
        """Keep a result, after a while."""
        self._dawdle()
        super().write(result)


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One stream of a plant."""

    stream: str
    frames: int
    sinks: Sequence[SinkLane]
    lane: LanePolicy = field(default_factory=lambda: LanePolicy(2, Overflow.BLOCK))
    window: int = 4
    detect_fps: float | None = None
    dawdle: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class PlantPlan:
    """What is common to the streams of a plant."""

    requests: int = 3
    workers: int = 2
    seed: int = 0
    longest_s: float = 0.001
    device: Callable[[Frame], Detections] = lambda _: NO_DETECTIONS


class Plant:
    """Streams from their producers to their sinks; implements ``FanoutEvents``."""

    def __init__(self, streams: Sequence[StreamPlan], plan: PlantPlan | None = None) -> None:
        """Connect everything; the ``with`` statement starts it."""
        self.plan = plan = plan or PlantPlan()
        self.streams = streams
        self.meters = {stream.stream: StreamMeter() for stream in streams}
        self.taken = dict.fromkeys(self.meters, 0)
        self.ended: list[str] = []
        self.finished: list[tuple[str, str]] = []
        self.failures: list[tuple[str, str, str]] = []
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self._out = dict.fromkeys(self.meters, 0)
        self._windows = {stream.stream: stream.window for stream in streams}
        self._is_over = threading.Event()
        self.threads = ThreadGroup(self._crash)
        self.chains: dict[str, StreamChain] = {}
        # The same reckoning as in vidpipe.apps.build.
        self.workers = Workers(2 * len(streams), self.chains.__getitem__)
        self.workers.reserve(plan.requests + sum(stream.window for stream in streams))
        self.pool = ShufflingPool(
            plan.requests,
            self.workers.put,
            self._device,
            self._count_out,
            plan.seed,
        )
        self._dawdle = Dawdler(plan.seed, plan.longest_s)
        self.dispatcher = Dispatcher(self._emit, time.monotonic)
        self.intakes: dict[str, Intake] = {}
        self.fanouts: dict[str, Fanout] = {}
        for stream in streams:
            name, meter = stream.stream, self.meters[stream.stream]
            policy = DispatchPolicy(stream.lane, stream.window, detect_fps=stream.detect_fps)
            self.intakes[name] = self.dispatcher.add(name, policy, meter)
            self.fanouts[name] = Fanout(name, stream.sinks, meter, self)
            role = StreamRole(name, self.fanouts[name], meter)
            self.chains[name] = StreamChain(role, self.ended.append, time.monotonic)

    # FanoutEvents

    def settle(self, stream: str) -> None:
        """A window moves on."""
        with self._lock:
            self._out[stream] -= 1
        self.intakes[stream].release()

    def make_room(self, stream: str) -> None:
        """A chain may go on."""
        self.workers.resume(self.chains[stream])

    def fail(self, stream: str, sink: str, error: str) -> None:
        """Keep it."""
        self.failures.append((stream, sink, error))

    def finish(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        """Keep it."""
        self.finished.append((stream, sink))

    # The run

    def __enter__(self) -> Plant:
        for fanout in self.fanouts.values():
            fanout.start(self.threads)
        for number in range(self.plan.workers):
            self.threads.spawn(f"work-{number}", self.workers.run)
        for number in range(2):
            self.threads.spawn(f"device-{number}", self.pool.run)
        self.threads.spawn("dispatch", partial(self.dispatcher.run, self.pool))
        self.threads.spawn("watch", self._watch)
        for stream in self.streams:
            self.threads.spawn(f"cap-{stream.stream}", self._producer(stream))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop source-first; nobody may be left, and nothing may have gone wrong."""
        self.dispatcher.abort()
        self.pool.close()
        if kind is None:
            self.wait_handed_over()
        self.workers.close()
        for fanout in self.fanouts.values():
            fanout.close()
            if kind is not None:
                fanout.abort()
        self._is_over.set()
        left = self.threads.join(_PATIENCE_S)
        if kind is None:
            assert not left
            assert self.faults == []

    def wait_handed_over(self) -> None:
        """Wait until every stream's last result has been handed to its sinks."""
        self._wait(lambda: len(self.ended) == len(self.streams), "all streams have ended")

    def wait_written(self) -> None:
        """Wait until every sink is done."""
        sinks = sum(len(stream.sinks) for stream in self.streams)
        self._wait(lambda: len(self.finished) == sinks, "all sinks are finished")

    def _wait(self, is_met: Callable[[], bool], what: str) -> None:
        wait_until(lambda: is_met() or bool(self.faults), what, _PATIENCE_S)
        assert self.faults == []

    def _producer(self, stream: StreamPlan) -> Callable[[], None]:
        name, meter = stream.stream, self.meters[stream.stream]
        source = make_source(is_live=stream.lane.overflow is Overflow.DROP_OLDEST)

        def run() -> None:
            for number in range(stream.frames):
                stream.dawdle()
                frame = make_frame(number, stream=name, captured_at=time.monotonic(), source=source)
                meter.count_captured()
                if not self.intakes[name].put(frame):
                    meter.count_dropped(DropCause.STOP)
                    break
                self.taken[name] += 1
            self.intakes[name].end()

        return run

    def _device(self, frame: Frame) -> Detections:
        self._dawdle()
        return self.plan.device(frame)

    def _emit(self, item: PassedFrame | StreamEnd) -> None:
        if isinstance(item, PassedFrame):
            self._count_out(item.frame.stream)
        self.workers.put(item)

    def _count_out(self, stream: str) -> None:
        with self._lock:
            self._out[stream] += 1
            out = self._out[stream]
        if out > self._windows[stream]:
            self.faults.append(f"{stream}: {out} frames are out")

    def _watch(self) -> None:
        while not self._is_over.wait(0.0005):
            for name, meter in self.meters.items():
                stats = meter.snapshot()
                gone = stats.processed + stats.passed + sum(stats.dropped.values())
                if stats.captured != gone + stats.in_flight or stats.in_flight < 0:
                    self.faults.append(f"{name}: {stats}")

    def _crash(self, thread: str, error: BaseException) -> None:
        self.faults.append(f"{thread} died: {error!r}")
