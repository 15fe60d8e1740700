"""A running configuration: its threads, started sink-first and stopped source-first.

Streams are added and removed while it runs: see ``vidpipe.apps.population``.

Stopping has an order and a deadline: sources stop, lanes drain, requests finish, chains hand over,
sinks flush and close their files. Past the deadline, or at a second signal, what is left is thrown
away, and said by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from loguru import logger

from vidpipe.apps.drafts import Draft
from vidpipe.apps.herald import Herald
from vidpipe.apps.outcome import Failure, Outcome, never_up, unanswered
from vidpipe.apps.population import OnEnd, Population, StreamMaker
from vidpipe.apps.units import (
    DispatchLoop,
    Ending,
    PoolUnit,
    RouteLoop,
    StreamUnit,
    WorkerLoop,
)
from vidpipe.config.stream import StreamConfig
from vidpipe.interfaces import OpenReader
from vidpipe.outputs.fanout import SinkLane
from vidpipe.outputs.gallery import LocalGallery
from vidpipe.runtime.durations import StageMeters
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import DropCause

_ABORT_GRACE_S = 2.0
"""What is left to the sinks after the deadline, to close the files that they have open."""

_REST_S = 1.0
"""How long the device may take to let go of what it has answered; microseconds, commonly."""

_TICK_S = 0.05

_SETTLE_S = 1.0
"""How long a stop waits for a change of streams, which breaks off within a twentieth of it."""


class PoolSet(Protocol):
    """One model's pools, and what feeds them."""

    @property
    def pools(self) -> Sequence[PoolUnit]:
        """All pools."""

    @property
    def dispatchers(self) -> Sequence[DispatchLoop]:
        """What feeds them."""

    @property
    def routes(self) -> Sequence[RouteLoop]:
        """What moves streams between them."""

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request."""

    def close_lanes(self) -> None:
        """Take no more frames; what waits still goes its way."""

    def abort_lanes(self) -> None:
        """Drop what waits, too."""

    def close(self) -> None:
        """End every loop and every pool."""

    def join(self, timeout_s: float) -> Sequence[str]:
        """Wait for the threads; return those still alive."""

    def rest(self, timeout_s: float) -> None:
        """Wait until the device holds nothing any more."""


class Plant(StreamMaker, Protocol):
    """Who makes the streams and the pools of an engine."""

    @property
    def pool_sets(self) -> Mapping[str, PoolSet]:
        """Every model's pools, by its name."""

    @property
    def gallery(self) -> LocalGallery | None:
        """The streams' pictures; None where nobody could look at them."""

    @property
    def herald(self) -> Herald:
        """Who makes events known, if anybody wants to know them."""

    def start(self) -> None:
        """Start all pools; those to come start with them."""


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

    plant: Plant
    workers: WorkerLoop
    worker_threads: int
    outcome: Outcome
    stages: StageMeters = field(default_factory=StageMeters)
    phase: Phase = Phase.BUILT
    lost: list[str] = field(default_factory=list)
    """What a stop threw away, for people; empty after a clean one."""
    is_held: bool = False
    """True if native code holds a thread after the stop: the process has to end without it."""
    population: Population = field(init=False)
    _is_hurried: bool = False
    _pulse: threading.Event | None = None
    _retired: list[PoolSet] = field(default_factory=list)
    _workers: ThreadGroup = field(init=False)

    def __post_init__(self) -> None:
        """Make the thread groups; a death in one of the shared stages stops the run."""
        self.population = Population(self.plant, self.outcome)
        self._workers = ThreadGroup(self.outcome.crash)

    # ---- Streams -------------------------------------------------------------------------------

    @property
    def streams(self) -> list[StreamUnit]:
        """The streams that run, or have ended by themselves, in the order of their coming."""
        return self.population.units

    def add(
        self,
        stream: StreamConfig | Draft,
        lanes: Sequence[SinkLane] = (),
        on_end: OnEnd | None = None,
        open_reader: OpenReader | None = None,
    ) -> None:
        """Add a stream, before the start or while the others run; they don't notice.

        Args:
            stream: Its section, or what ``plant.draft`` has made of it.
            lanes: Sinks of the program's own, beside its outputs.
            on_end: Called once it has ended by itself, or been removed, with all that it had on its
                way handed over and every sink finished. On a thread of the engine's, which mustn't
                be held: leave a note, and ask nothing of the engine there.
            open_reader: Opens what it reads, in place of its source.

        Raises:
            ConfigError: A plugin refuses the keys of its output, or there is no such model.
            ModelError: Its model isn't in use yet, and can't be compiled.
            UsageError: There is a stream of its id; or a former one was ended by force, and frames
                of it haven't come back; or the run is being stopped.
        """
        draft = self.plant.draft(stream) if isinstance(stream, StreamConfig) else stream
        self.population.add(draft, lanes, on_end=on_end, open_reader=open_reader)

    def remove(self, stream: str, deadline_s: float) -> Ending:
        """End a stream, as a file does at its end, and forget it; the others don't notice.

        Returns once it has ended: at once, if it had by itself. Past the deadline what it still
        holds is thrown away, and said by name in the log and in ``Ending.lost``.

        Raises:
            UsageError: There is none of this id, or the run is being stopped meanwhile.
        """
        return self.population.remove([stream], deadline_s)[0]

    def take_pulse(self) -> bool:
        """Return True if a worker has had time since this was last called; one thread."""
        has_answered = self._pulse is None or self._pulse.is_set()
        if has_answered:
            self._pulse = self.workers.pulse()
        return has_answered

    def retire(self, pools: PoolSet) -> None:
        """Remember pools that were released, for as long as the device holds something of them."""
        self._retired = [one for one in (*self._retired, pools) if one.is_held]

    def dispatchers(self) -> dict[str, list[DispatchLoop]]:
        """Return what feeds each model in use, by its name; with independent one a stream."""
        return {name: list(pools.dispatchers) for name, pools in self._sets.items()}

    @property
    def pools(self) -> list[PoolUnit]:
        """The pools of all models in use."""
        return [unit for pools in self._sets.values() for unit in pools.pools]

    @property
    def routes(self) -> list[RouteLoop]:
        """What moves the streams of adaptive models."""
        return [route for pools in self._sets.values() for route in pools.routes]

    @property
    def _sets(self) -> dict[str, PoolSet]:
        return dict(self.plant.pool_sets)

    # ---- The run -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every thread, sinks first.

        Raises:
            ConfigError: A sink of the program's own refused; nothing has been started.
        """
        with self.population.changing():
            self.population.equip()
            self.phase = Phase.RUNNING
            self.plant.herald.start()
            self.population.begin()
            for number in range(self.worker_threads):
                self._workers.spawn(f"vp-work-{number}", self.workers.run)
            self.plant.start()
            self.population.begin_captures()

    def discard(self) -> None:
        """Let go of what was never started."""
        self.phase = Phase.STOPPED
        self._close_gallery()
        for pools in self._sets.values():
            pools.close()
            pools.rest(_REST_S)

    def end_sources(self) -> None:
        """Let the sources stop; what is on its way is still handed over and written."""
        self.plant.herald.end_watch()
        self.population.end_sources()
        for pools in self._sets.values():
            pools.close_lanes()

    def stop(self, deadline_s: float, on_abort: Callable[[], None] | None = None) -> None:
        """Stop source-first, within so many seconds; ``lost`` names what had to be thrown away.

        Args:
            deadline_s: How long it may take.
            on_abort: Called once the deadline has passed, before what is left is thrown away.
        """
        deadline = time.monotonic() + deadline_s
        self.end_sources()
        self.population.settle(min(deadline_s, _SETTLE_S))
        # Half of what is left: the sinks need the other half for their files.
        self._wait(self.outcome.handed_over, (deadline - time.monotonic()) / 2)
        is_complete = self.outcome.handed_over.is_set()
        if not is_complete:
            for pools in self._sets.values():
                pools.abort_lanes()
        self.phase = Phase.STOPPED
        self._close_stages()
        self._wait(self.outcome.all_written, deadline - time.monotonic())
        losses: dict[str, dict[str, int]] = {}
        if not self.outcome.all_written.is_set():
            if on_abort is not None:
                on_abort()
            losses = {unit.stream: unit.fanout.abort() for unit in self.streams}
            self.outcome.all_written.wait(_ABORT_GRACE_S)
        held = self._join(1.0) + self.population.join_sinks(0.2)
        if not is_complete or losses or held:
            self._name_losses(losses, held)
        self._close_gallery()
        self._close_herald(deadline)
        rest_until = time.monotonic() + (0.0 if held else _REST_S)
        for pools in self._sets.values():
            pools.rest(max(0.0, rest_until - time.monotonic()))
        left = self.population.join_captures(0.5)
        for name in left:
            logger.info("{} is held by its source and is left behind; nothing is lost by it", name)
        self.is_held = bool(self.is_held or held or left or self.population.is_held)
        every = (*self._sets.values(), *self._retired)
        self.is_held = self.is_held or any(pools.is_held for pools in every)

    def _close_stages(self) -> None:
        """Let everything behind the captures finish what it holds."""
        for pools in self._sets.values():
            pools.close()
        self.workers.close()
        for unit in self.streams:
            unit.fanout.close()

    def _join(self, timeout_s: float) -> list[str]:
        """Wait for the threads of the shared stages; return the names of those still alive."""
        until = time.monotonic() + timeout_s
        held = list(self._workers.join(timeout_s))
        for pools in self._sets.values():
            held += pools.join(max(0.0, until - time.monotonic()))
        return held

    def _close_gallery(self) -> None:
        if self.plant.gallery is not None:
            self.plant.gallery.close()

    def _close_herald(self, deadline: float) -> None:
        """Deliver what events can be in the time that is left; the outbox keeps the rest."""
        herald = self.plant.herald
        herald.end()
        self._wait(herald.drained, deadline - time.monotonic())
        self.lost += herald.close()
        self.is_held = self.is_held or herald.is_held

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
        self.population.hurry()

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
