"""From a model's section to its pools: how its requests are waited for, optimised and shared.

* ``mode`` says who shares: all streams one pool (shared), each its own compiled model and pool
  (independent), all one pool that runs several frames at once (batched).
* ``call`` says who waits: one thread feeds the pool and the device calls back (async), or each
  stream has a thread that asks and waits (sync).
* ``hint`` says for what the model is compiled; with ``adaptive`` it is compiled twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from vidpipe.apps.description import describe_pool
from vidpipe.apps.engine import DispatchUnit, PoolUnit
from vidpipe.config.model import BatchConfig, ModelConfig
from vidpipe.inference.batching import BatchPool, BatchSettings
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.pool import Call, Pool, PoolSettings
from vidpipe.inference.settings import Hint
from vidpipe.interfaces import Clock, Submission
from vidpipe.runtime.durations import StageMeters
from vidpipe.scheduling.adaptive import AdaptiveRoutes, BusyPool, Route
from vidpipe.scheduling.dispatch import Dispatcher
from vidpipe.types import PassedFrame, StreamEnd

Compile = Callable[..., CompiledDetector]
"""Compiles a model; ``hint``, ``batch`` and ``share_of`` (so many compiled models side by side)."""


class AnswerTakers(Protocol):
    """Who reads answers, and takes what needs none."""

    def put(self, work: Submission | PassedFrame | StreamEnd) -> None:
        """Leave it to another thread; never waits."""

    def handle(self, work: Submission | PassedFrame | StreamEnd) -> None:
        """Do it now, on this thread."""

    def reserve(self, count: int) -> None:
        """Make room for so many more that were left."""


@dataclass(slots=True)
class ModelPools:
    """One model's pools, and the way to them.

    Attributes:
        pools: All of them.
        loops: What feeds them.
        dispatcher_of: By stream.
        capacity_of: By stream, how many frames its pool takes at once.
        routes: What moves the streams between the pools of an adaptive model.
    """

    pools: list[PoolUnit] = field(default_factory=list)
    loops: list[DispatchUnit] = field(default_factory=list)
    dispatcher_of: dict[str, Dispatcher] = field(default_factory=dict)
    capacity_of: dict[str, int] = field(default_factory=dict)
    routes: AdaptiveRoutes | None = None


@dataclass(frozen=True, slots=True)
class PoolMaker:
    """Makes the pools of one model.

    Attributes:
        name: The model's name.
        model: Its section.
        streams: The ids of its streams.
        compile_model: Compiles it.
        workers: Who take the answers.
        clock: Monotonic seconds.
        stages: What every stage costs.
    """

    name: str
    model: ModelConfig
    streams: Sequence[str]
    compile_model: Compile
    workers: AnswerTakers
    clock: Clock
    stages: StageMeters

    def make(self) -> ModelPools:
        """Compile the model, as often as it takes, and connect it.

        Raises:
            ModelError: It can't be compiled, or can't do what is asked of it.
        """
        made = ModelPools()
        if self.model.mode == "independent":
            for stream in self.streams:
                self._add_shared(made, [stream], f"{self.name}/{stream}")
        elif self.model.hint == "adaptive":
            self._add_adaptive(made)
        else:
            self._add_shared(made, self.streams, self.name)
        return made

    def _add_shared(self, made: ModelPools, streams: Sequence[str], title: str) -> None:
        """One pool for so many streams."""
        pool = self._pool(self._deliver, len(streams), len(self.streams) // len(streams))
        made.pools.append(PoolUnit(title, self.name, pool, partial(describe_pool, pool)))
        for sharers, name in self._groups(streams, title):
            dispatcher = self._dispatcher()
            made.loops.append(DispatchUnit(name, dispatcher, partial(dispatcher.run, pool)))
            made.dispatcher_of |= dict.fromkeys(sharers, dispatcher)
        made.capacity_of |= dict.fromkeys(streams, pool.capacity)
        self._reserve(pool.capacity)

    def _add_adaptive(self, made: ModelPools) -> None:
        """Two pools, of which all streams use one at a time."""
        dispatcher = self._dispatcher()
        busy = BusyPool(self.clock), BusyPool(self.clock)
        for route in Route:
            front = busy[route]
            hint = Hint(route.name.lower())
            pool = self._pool(front.answered, len(self.streams), 1, hint)
            front.attach(pool, self.workers.put)
            title = f"{self.name}/{hint.value}"
            made.pools.append(PoolUnit(title, self.name, pool, partial(describe_pool, pool)))
            loop = partial(dispatcher.run, front, route)
            made.loops.append(DispatchUnit(title, dispatcher, loop))
            self._reserve(pool.capacity)
        capacity = max(unit.pool.capacity for unit in made.pools)
        made.dispatcher_of |= dict.fromkeys(self.streams, dispatcher)
        made.capacity_of |= dict.fromkeys(self.streams, capacity)
        made.routes = AdaptiveRoutes(self.name, busy, dispatcher.move, self.clock)

    def _groups(self, streams: Sequence[str], title: str) -> Iterator[tuple[Sequence[str], str]]:
        """Yield which streams of a pool share one loop, and the loop's name."""
        if self.model.call == "sync":
            yield from (([stream], stream) for stream in streams)
        else:
            yield streams, title

    @property
    def _deliver(self) -> Callable[[Submission | PassedFrame | StreamEnd], None]:
        """What takes answers: with sync the thread that waited for one reads it itself."""
        return self.workers.handle if self.model.call == "sync" else self.workers.put

    def _dispatcher(self) -> Dispatcher:
        return Dispatcher(self._deliver, self.clock, self.stages)

    def _reserve(self, capacity: int) -> None:
        if self.model.call == "async":
            self.workers.reserve(capacity)

    def _pool(
        self, deliver: Callable[..., None], sharers: int, share_of: int, hint: Hint | None = None
    ) -> Pool | BatchPool:
        model = self.model
        compile_model = partial(self.compile_model, hint=hint, share_of=share_of)
        requests = _requests(model, sharers)
        if model.mode != "batched":
            settings = PoolSettings(requests, model.timeout_s, Call(model.call))
            return Pool(compile_model, settings, deliver, self.clock, self.stages)
        batch = model.batch or BatchConfig()
        of_batch = BatchSettings(batch.size, batch.timeout_ms / 1000, requests, model.timeout_s)

        def compile_batch(size: int) -> CompiledDetector:
            return compile_model(batch=size)

        return BatchPool(compile_batch, of_batch, deliver, self.clock, self.stages)


def _requests(model: ModelConfig, sharers: int) -> int | None:
    """Return how many requests a pool has; None for what the device prefers.

    With sync each stream has one of its own, whatever is configured: it holds it while it waits for
    a frame, and others would starve.
    """
    chosen = None if model.requests == "auto" else model.requests
    return max(chosen or 1, sharers) if model.call == "sync" else chosen
