"""A model with two pools, one compiled for latency and one for throughput: which one is in use.

A hint is fixed when a model is compiled, so ``hint: adaptive`` compiles it twice. All streams of
the model are on one pool at a time: run side by side, the two would only take the cores from each
other. Few frames go to the pool that answers each of them soonest; when that one is busy nearly all
the time, the streams move to the one that answers most of them, and return once the quick one would
be idle half of the time. Between the two marks nothing moves, and each has to hold for a while.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from loguru import logger

from vidpipe.interfaces import Clock, RequestPool, RequestSlot, Submission
from vidpipe.types import Frame

_TICK_S = 0.25


class Route(IntEnum):
    """The pools, as the dispatcher numbers them."""

    LATENCY = 0
    THROUGHPUT = 1


@dataclass(frozen=True, slots=True)
class Marks:
    """When the streams move.

    Attributes:
        raise_at: Share of the time that the latency pool is busy, from which it has too much to do.
        raise_after_s: For how long.
        lower_at: The share below which it would have little to do.
        lower_after_s: For how long.
    """

    raise_at: float = 0.8
    raise_after_s: float = 1.5
    lower_at: float = 0.5
    lower_after_s: float = 6.0


class RouteChooser:
    """Chooses by measured load. Pure: it is told what was measured."""

    def __init__(self, marks: Marks | None = None) -> None:
        """Begin on the latency pool."""
        self._marks = marks or Marks()
        self.route = Route.LATENCY
        self.load = 0.0
        """The share of its time that the latency pool is, or would be, busy."""
        self._service_s: float | None = None
        self._unexplained_s = 0.0
        self._held_s = 0.0

    def observe(self, seconds: float, busy_s: float, finished: int) -> Route:
        """Take what the pool in use did in an interval, and return the one to use from now on.

        Args:
            seconds: The interval's length.
            busy_s: For how much of it at least one request was running.
            finished: How many frames were answered in it.
        """
        marks = self._marks
        if self.route is Route.LATENCY:
            self._learn(busy_s, finished)
            self.load = busy_s / seconds
            wants_other = self.load >= marks.raise_at and self._service_s is not None
            after_s, other = marks.raise_after_s, Route.THROUGHPUT
        else:
            self.load = finished / seconds * (self._service_s or 0.0)
            wants_other = self.load <= marks.lower_at
            after_s, other = marks.lower_after_s, Route.LATENCY
        self._held_s = self._held_s + seconds if wants_other else 0.0
        if self._held_s >= after_s:
            self._held_s = 0.0
            self.route = other
        return self.route

    def _learn(self, busy_s: float, finished: int) -> None:
        """Keep what a frame costs the latency pool; an answer may take several intervals."""
        self._unexplained_s += busy_s
        if finished:
            cost_s = self._unexplained_s / finished
            known_s = self._service_s
            self._service_s = cost_s if known_s is None else 0.8 * known_s + 0.2 * cost_s
            self._unexplained_s = 0.0


class BusyPool:
    """Implements ``RequestPool`` in front of another one, and measures when that is busy."""

    def __init__(self, clock: Clock) -> None:
        """Begin idle; `attach` names the pool, whose answers go through `answered`."""
        self._clock = clock
        self._lock = threading.Lock()
        self._running = 0
        self._since_s = 0.0
        self._busy_s = 0.0
        self._finished = 0

    def attach(self, pool: RequestPool, deliver: Callable[[Submission], None]) -> None:
        """Stand in front of a pool; before anything is submitted."""
        self._pool = pool
        self._deliver = deliver

    def acquire(self) -> RequestSlot | None:
        """Pass on."""
        return self._pool.acquire()

    def give_back(self, slot: RequestSlot) -> None:
        """Pass on."""
        self._pool.give_back(slot)

    def flush_in_s(self) -> float | None:
        """Pass on."""
        return self._pool.flush_in_s()

    def flush(self) -> None:
        """Pass on."""
        self._pool.flush()

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Pass on; the pool is busy until the answer."""
        with self._lock:
            if not self._running:
                self._since_s = self._clock()
            self._running += 1
        self._pool.submit(slot, frame, sequence)

    def answered(self, submission: Submission) -> None:
        """Deliver an answer."""
        with self._lock:
            self._running -= 1
            self._finished += 1
            if not self._running:
                self._busy_s += self._clock() - self._since_s
        self._deliver(submission)

    def take(self) -> tuple[float, int]:
        """Return the busy seconds and the answers since the last call."""
        with self._lock:
            if self._running:
                now_s = self._clock()
                self._busy_s += now_s - self._since_s
                self._since_s = now_s
            taken = self._busy_s, self._finished
            self._busy_s, self._finished = 0.0, 0
            return taken


class AdaptiveRoutes:
    """Watches the two pools of a model and moves its streams. ``run`` is its thread's loop."""

    def __init__(
        self,
        model: str,
        pools: tuple[BusyPool, BusyPool],
        move: Callable[[int], None],
        clock: Clock,
        chooser: RouteChooser | None = None,
    ) -> None:
        """Begin with the streams on the latency pool; ``move`` puts them on another."""
        self.model = model
        self._pools = pools
        self._move = move
        self._clock = clock
        self._chooser = chooser or RouteChooser()
        self._stop = threading.Event()
        self.switches = 0
        """How often the streams were moved."""

    @property
    def route(self) -> Route:
        """The pool in use."""
        return self._chooser.route

    def run(self) -> None:
        """Watch until closed."""
        last_s = self._clock()
        while not self._stop.wait(_TICK_S):
            now_s = self._clock()
            self.look(now_s - last_s)
            last_s = now_s

    def look(self, seconds: float) -> None:
        """Measure once and move the streams if it is time."""
        before = self._chooser.route
        measured = [pool.take() for pool in self._pools]
        if seconds <= 0:
            return
        route = self._chooser.observe(seconds, *measured[before])
        if route is not before:
            self.switches += 1
            self._move(route)
            logger.info(
                "model {}: load {:.0%} of what the latency pool can do: the streams move to the"
                " pool for {} (switch {})",
                self.model,
                self._chooser.load,
                route.name.lower(),
                self.switches,
            )

    def close(self) -> None:
        """Let ``run`` return."""
        self._stop.set()
