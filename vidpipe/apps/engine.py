"""A running configuration: its threads, started sink-first and stopped source-first.

Stopping has an order and a deadline: sources stop, lanes drain, requests finish, chains hand over,
sinks flush and close their files. Past the deadline, or at a second signal, what is left is thrown
away, and said by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from loguru import logger

from vidpipe.apps.herald import Herald
from vidpipe.apps.outcome import Failure, Outcome, never_up, unanswered
from vidpipe.outputs.fanout import SinkLane
from vidpipe.runtime.durations import StageMeters
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import CaptureReport, DropCause, Overflow, PoolReport, StreamState

_ABORT_GRACE_S = 2.0
"""What is left to the sinks after the deadline, to close the files that they have open."""

_REST_S = 1.0
"""How long the device may take to let go of what it has answered; microseconds, commonly."""

_TICK_S = 0.05


class CaptureLoop(Protocol):
    """A stream's capture, as its thread and the pipeline see it."""

    @property
    def is_live(self) -> bool:
        """True if the source has no end of its own."""

    @property
    def is_held(self) -> bool:
        """True if native code holds a thread of it that was given up."""

    def run(self) -> None:
        """Capture until the source ends or the capture is stopped."""

    def stop(self) -> None:
        """Ask the loop to end."""

    def report(self) -> CaptureReport:
        """Return what became of it so far."""


class DispatchLoop(Protocol):
    """The lanes that feed a pool."""

    def end(self, stream: str) -> None:
        """Take no more frames of a stream."""

    def close(self) -> None:
        """Take no more frames at all."""

    def abort(self) -> None:
        """Drop what waits, too."""

    def depth(self, stream: str) -> int:
        """Count the frames that wait in a stream's lane."""


class PoolLoop(Protocol):
    """A pool of requests and its reaper."""

    @property
    def capacity(self) -> int:
        """How many frames it takes at once."""

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request."""

    def report(self, name: str) -> PoolReport:
        """Return how it stands, under a name."""

    def reap(self) -> None:
        """Look after requests that don't answer, until closed."""

    def close(self) -> None:
        """Give out no more requests; what runs is cancelled."""

    def rest(self, timeout_s: float) -> None:
        """After ``close``: wait until the device holds nothing any more."""


class Describe(Protocol):
    """Tells what is known of a pool and its model."""

    def __call__(self, *, compares: bool) -> dict[str, Any]:
        """Return it; ``compares``: with what the hint alone would choose in place of overrides."""


class RouteLoop(Protocol):
    """What moves a model's streams between its pools."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def route(self) -> Enum:
        """The pool in use."""

    @property
    def switches(self) -> int:
        """How often it did."""

    def run(self) -> None:
        """Watch until closed."""

    def close(self) -> None:
        """Let ``run`` return."""


class SinkLoops(Protocol):
    """A stream's sinks."""

    def add(self, lane: SinkLane) -> None:
        """Make one more, before the start."""

    def start(self, threads: ThreadGroup) -> None:
        """Start one thread a sink."""

    def close(self) -> None:
        """Let the sinks write what they hold and finish."""

    def abort(self) -> dict[str, int]:
        """Let the sinks finish at once; return what each has lost."""


class WorkerLoop(Protocol):
    """What the worker threads run."""

    def run(self) -> None:
        """Work until closed."""

    def close(self) -> None:
        """End once nothing is left."""


@dataclass(frozen=True, slots=True)
class StreamUnit:
    """One stream's parts.

    Attributes:
        stream: The stream's id.
        title: What people call it.
        overflow: What its sinks' lanes do when they are full, unless one is told otherwise.
        capture: Reads the source.
        dispatcher: Feeds the model's pool.
        fanout: The sinks.
        meter: What counts.
    """

    stream: str
    title: str
    overflow: Overflow
    capture: CaptureLoop
    dispatcher: DispatchLoop
    fanout: SinkLoops
    meter: StreamMeter


@dataclass(frozen=True, slots=True)
class PoolUnit:
    """One pool, by a name of its own, of one model; ``describe`` is for the manifest."""

    name: str
    model: str
    pool: PoolLoop
    describe: Describe


@dataclass(frozen=True, slots=True)
class DispatchUnit:
    """One loop, by the name of what it feeds or of what it serves.

    A dispatcher has one loop for each of its pools.
    """

    name: str
    dispatcher: DispatchLoop
    run: Callable[[], None]


class Phase(Enum):
    """Where an engine's life stands."""

    BUILT = "built"
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(slots=True)
class Engine:
    """Everything that a configuration asks for, connected.

    ``start`` and ``stop``, once each, by one thread; a ``stop`` that was interrupted may be begun
    again. The rest is for any thread.
    """

    streams: Sequence[StreamUnit]
    pools: Sequence[PoolUnit]
    loops: Sequence[DispatchUnit]
    workers: WorkerLoop
    worker_threads: int
    outcome: Outcome
    routes: Sequence[RouteLoop] = ()
    herald: Herald | None = None
    stages: StageMeters = field(default_factory=StageMeters)
    phase: Phase = Phase.BUILT
    lost: list[str] = field(default_factory=list)
    """What a stop threw away, for people; empty after a clean one."""
    is_held: bool = False
    """True if native code holds a thread after the stop: the process has to end without it."""
    _is_hurried: bool = False
    _captures: ThreadGroup = field(init=False)
    _stages: ThreadGroup = field(init=False)
    _sinks: ThreadGroup = field(init=False)

    def __post_init__(self) -> None:
        """Make the thread groups; a death in one of the shared stages stops the run."""
        self._captures = ThreadGroup(self.outcome.crash)
        self._stages = ThreadGroup(self.outcome.crash)
        self._sinks = ThreadGroup(self.outcome.crash)

    def attach(self, stream: str, lane: SinkLane) -> None:
        """Give a stream one sink more, before the start."""
        unit = next(unit for unit in self.streams if unit.stream == stream)
        unit.fanout.add(lane)
        self.outcome.expect_sink(stream)

    def start(self) -> None:
        """Start every thread, sinks first."""
        self.phase = Phase.RUNNING
        if self.herald is not None:
            self.herald.start()
        for unit in self.streams:
            unit.fanout.start(self._sinks)
        for number in range(self.worker_threads):
            self._stages.spawn(f"vp-work-{number}", self.workers.run)
        for shared in self.pools:
            self._stages.spawn(f"vp-reap-{shared.name}", shared.pool.reap)
        for loop in self.loops:
            self._stages.spawn(f"vp-disp-{loop.name}", loop.run)
        for route in self.routes:
            self._stages.spawn(f"vp-route-{route.model}", route.run)
        for unit in self.streams:
            # A native open or read may hold it: a silent camera, a name that doesn't resolve.
            self._captures.spawn(f"vp-cap-{unit.stream}", self._capture_loop(unit), may_hang=True)

    def _capture_loop(self, unit: StreamUnit) -> Callable[[], None]:
        """Return what a capture thread runs: whatever happens there is its stream's alone."""

        def run() -> None:
            try:
                unit.capture.run()
            except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one stream fails
                logger.bind(stream=unit.stream).error("the capture died: {}", trace_of(exc))
                self.outcome.fail(unit.stream, "source", redact(f"{type(exc).__name__}: {exc}"))
            finally:
                unit.dispatcher.end(unit.stream)
            report = unit.capture.report()
            if report.state is StreamState.FAILED and report.error:
                self.outcome.fail(unit.stream, "source", report.error)

        return run

    def discard(self) -> None:
        """Let go of what was never started."""
        self.phase = Phase.STOPPED
        for shared in self.pools:
            shared.pool.close()
            shared.pool.rest(_REST_S)

    def end_sources(self) -> None:
        """Let the sources stop; what is on its way is still handed over and written."""
        if self.herald is not None:
            self.herald.end_watch()
        for unit in self.streams:
            unit.capture.stop()
        for loop in self.loops:
            loop.dispatcher.close()

    def stop(self, deadline_s: float, on_abort: Callable[[], None] | None = None) -> None:
        """Stop source-first, within so many seconds; ``lost`` names what had to be thrown away.

        Args:
            deadline_s: How long it may take.
            on_abort: Called once the deadline has passed, before what is left is thrown away.
        """
        deadline = time.monotonic() + deadline_s
        self.end_sources()
        # Half of what is left: the sinks need the other half for their files.
        self._wait(self.outcome.handed_over, (deadline - time.monotonic()) / 2)
        is_complete = self.outcome.handed_over.is_set()
        if not is_complete:
            for loop in self.loops:
                loop.dispatcher.abort()
        self.phase = Phase.STOPPED
        self._close_stages()
        self._wait(self.outcome.all_written, deadline - time.monotonic())
        losses: dict[str, dict[str, int]] = {}
        if not self.outcome.all_written.is_set():
            if on_abort is not None:
                on_abort()
            losses = {unit.stream: unit.fanout.abort() for unit in self.streams}
            self.outcome.all_written.wait(_ABORT_GRACE_S)
        held = self._stages.join(1.0) + self._sinks.join(0.2)
        if not is_complete or losses or held:
            self._name_losses(losses, held)
        self._close_herald(deadline)
        rest_until = time.monotonic() + (0.0 if held else _REST_S)
        for shared in self.pools:
            shared.pool.rest(max(0.0, rest_until - time.monotonic()))
        for name in self._captures.join(0.5):
            logger.info("{} is held by its source and is left behind; nothing is lost by it", name)
            self.is_held = True
        left = any(unit.capture.is_held for unit in self.streams)
        self.is_held = self.is_held or bool(held) or left
        self.is_held = self.is_held or any(unit.pool.is_held for unit in self.pools)

    def _close_stages(self) -> None:
        """Let everything behind the captures finish what it holds."""
        for route in self.routes:
            route.close()
        for shared in self.pools:
            shared.pool.close()
        self.workers.close()
        for unit in self.streams:
            unit.fanout.close()

    def _close_herald(self, deadline: float) -> None:
        """Deliver what events can be in the time that is left; the outbox keeps the rest."""
        if self.herald is None:
            return
        self.herald.end()
        self._wait(self.herald.drained, deadline - time.monotonic())
        self.lost += self.herald.close()
        self.is_held = self.is_held or self.herald.is_held

    @property
    def failures(self) -> list[Failure]:
        """What has failed for good; after the stop also cameras that never came up."""
        failures = self.outcome.failures
        for unit in self.streams:
            if self.phase is Phase.STOPPED and unit.capture.is_live:
                failures += never_up(unit.stream, unit.capture.report())
            failures += unanswered(unit.stream, unit.meter.snapshot())
        return failures

    @property
    def exit_code(self) -> int:
        """3 if the stop lost something, 1 if anything failed, else 0; a crash is a failure."""
        if self.outcome.crashed.is_set():
            return 1
        return 3 if self.lost else 1 if self.failures else 0

    def hurry(self) -> None:
        """Let a stop, under way or to come, wait for nothing; a signal handler may call it."""
        self._is_hurried = True

    def _wait(self, event: threading.Event, timeout_s: float) -> None:
        """Wait for an event until its time is up, or somebody is in a hurry."""
        until = time.monotonic() + timeout_s
        while not self._is_hurried and time.monotonic() < until and not event.wait(_TICK_S):
            pass

    def _name_losses(self, losses: dict[str, dict[str, int]], held: list[str]) -> None:
        for unit in self.streams:
            in_flight = unit.meter.snapshot().in_flight
            if in_flight:
                unit.meter.count_dropped(DropCause.STOP, in_flight)
                self.lost.append(f"stream {unit.stream}: {in_flight} frames in flight")
            for sink, count in losses.get(unit.stream, {}).items():
                self.lost.append(f"stream {unit.stream}: {count} results for {sink}")
        self.lost += [f"{name} did not end" for name in held]
