"""From a model's section to its pools: how its requests are waited for, optimised and shared.

* ``mode`` says who shares: all streams one pool (shared), each its own compiled model and pool
  (independent), all one pool that runs several frames at once (batched).
* ``call`` says who waits: one thread feeds the pool and the device calls back (async), or each
  stream has a thread that asks and waits (sync).
* ``hint`` says for what the model is compiled; with ``adaptive`` it is compiled twice.

Streams come and go while the others run: what is a stream's own comes and goes with it, and what is
shared stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from vidpipe.apps.cells import Cell
from vidpipe.apps.description import describe_pool
from vidpipe.apps.units import DispatchUnit, PoolUnit, RouteLoop
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


@dataclass(frozen=True, slots=True)
class PoolMaker:
    """What the pools of one model are made of.

    Attributes:
        name: The model's name.
        model: Its section.
        compile_model: Compiles it.
        workers: Who take the answers.
        clock: Monotonic seconds.
        stages: What every stage costs.
        crash: Told of a thread that has died.
    """

    name: str
    model: ModelConfig
    compile_model: Compile
    workers: AnswerTakers
    clock: Clock
    stages: StageMeters
    crash: Callable[[str, BaseException], None]


class ModelPools:
    """One model's pools, and the way to them; changed by one thread at a time."""

    def __init__(self, maker: PoolMaker, streams: Sequence[str]) -> None:
        """Compile the model, as often as it takes for these streams; nothing runs yet.

        Raises:
            ModelError: It can't be compiled, or can't do what is asked of it.
        """
        self.name = maker.name
        self.model = maker.model
        self._maker = maker
        self._is_sync = maker.model.call == "sync"
        self._is_running = False
        self._shared: Cell | None = None
        self._own: dict[str, Cell] = {}
        """What is one stream's alone: a pool, or only a loop to the one that is shared."""
        self._admitted: set[str] = set()
        self._leaving: list[Cell] = []
        try:
            if maker.model.hint == "adaptive":
                self._shared = self._adaptive_cell(len(streams))
            elif not self._has_own_pools:
                self._shared = self._pooled_cell(self.name, len(streams), 1)
            self.prepare(streams)
        except BaseException:
            self.close()
            raise

    # ---- Streams -------------------------------------------------------------------------------

    def prepare(self, streams: Iterable[str]) -> None:
        """Make what further streams need of their own, before anything else is changed.

        Raises:
            ModelError: It can't be made.
        """
        wanted = [stream for stream in streams if stream not in self._own]
        count = len(self._own) + len(wanted)
        if self._has_own_pools:
            for stream in wanted:
                title = f"{self.name}/{stream}"
                self._own[stream] = self._started(self._pooled_cell(title, 1, count))
        elif self._is_sync:
            assert self._shared is not None
            pool = self._shared.pools[0].pool
            assert isinstance(pool, Pool)
            pool.widen(count)
            for stream in wanted:
                self._own[stream] = self._started(self._loop_cell(stream, pool))

    def admit(self, stream: str) -> Dispatcher:
        """Return the dispatcher for a stream that begins; what it needs is made if it isn't there.

        Raises:
            ModelError: It can't be made.
        """
        self.prepare([stream])
        self._admitted.add(stream)
        dispatcher = self._cell(stream).dispatcher
        assert dispatcher is not None
        return dispatcher

    def dismiss(self, stream: str) -> None:
        """Let go of what was a stream's own; its last frame has come back."""
        self._admitted.discard(stream)
        cell = self._own.pop(stream, None)
        if cell is None:
            return
        cell.close()
        self._let_go(cell)
        if self._is_sync and self._shared is not None:
            cell.join(_LOOP_ENDS_S)
            pool = self._shared.pools[0].pool
            assert isinstance(pool, Pool)
            pool.narrow(max(len(self._own), _requests(self.model, 1) or 1))

    def discard_unused(self) -> None:
        """Let go of what was prepared for streams that never came."""
        for stream in [one for one in self._own if one not in self._admitted]:
            self.dismiss(stream)

    def capacity_for(self, stream: str) -> int:
        """Return how many frames a stream's pool takes at once."""
        cell = self._cell(stream)
        pools = cell.pools or (self._shared.pools if self._shared is not None else ())
        return max(unit.pool.capacity for unit in pools)

    def sharers_of(self, stream: str) -> int:
        """Return how many streams share a stream's pool, itself included."""
        return 1 if self._has_own_pools else len(self._admitted | {stream})

    # ---- The run -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every thread; those of streams to come start with them."""
        self._is_running = True
        for cell in self._cells:
            cell.start()

    def close_lanes(self) -> None:
        """Take no more frames; what waits still goes its way."""
        for cell in self._cells:
            cell.close_lanes()

    def abort_lanes(self) -> None:
        """Drop what waits, too."""
        for cell in self._cells:
            cell.abort_lanes()

    def close(self) -> None:
        """End every loop and every pool; what runs on the device is cancelled."""
        for cell in self._cells:
            cell.close()

    def release(self) -> None:
        """Close, and let go of the model: nobody uses it any more."""
        self.close()
        cells, self._shared, self._own = self._cells, None, {}
        for cell in cells:
            self._let_go(cell)

    def join(self, timeout_s: float) -> list[str]:
        """After ``close``: wait for the threads, so long altogether; return those still alive."""
        until = time.monotonic() + timeout_s
        left = (cell.join(max(0.0, until - time.monotonic())) for cell in self._cells)
        return [name for names in left for name in names]

    def rest(self, timeout_s: float) -> None:
        """After ``join``: wait until the device holds nothing any more, so long altogether."""
        until = time.monotonic() + timeout_s
        for cell in (*self._cells, *self._leaving):
            cell.rest(max(0.0, until - time.monotonic()))

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request, be it of a stream that has gone."""
        return any(cell.is_held for cell in (*self._cells, *self._leaving))

    @property
    def pools(self) -> list[PoolUnit]:
        """All pools."""
        return [unit for cell in self._cells for unit in cell.pools]

    @property
    def dispatchers(self) -> list[Dispatcher]:
        """What feeds them; what was prepared and isn't used yet counts, too."""
        return [cell.dispatcher for cell in self._cells if cell.dispatcher is not None]

    @property
    def routes(self) -> list[RouteLoop]:
        """What moves the streams between the pools of an adaptive model."""
        return [cell.route for cell in self._cells if cell.route is not None]

    # ---- Inside --------------------------------------------------------------------------------

    @property
    def _has_own_pools(self) -> bool:
        return self.model.mode == "independent"

    @property
    def _cells(self) -> list[Cell]:
        shared = [self._shared] if self._shared is not None else []
        return [*shared, *list(self._own.values())]

    def _cell(self, stream: str) -> Cell:
        cell = self._own.get(stream, self._shared)
        assert cell is not None
        return cell

    def _started(self, cell: Cell) -> Cell:
        if self._is_running:
            cell.start()
        return cell

    def _let_go(self, cell: Cell) -> None:
        """Forget a closed cell once the device has: one that holds on is remembered."""
        cell.join(_LOOP_ENDS_S)
        cell.rest(_REST_S)
        if not self._is_sync:
            # What was cancelled is never delivered, and what was answered has been read.
            self._maker.workers.reserve(-sum(unit.pool.capacity for unit in cell.pools))
        self._leaving = [one for one in (*self._leaving, cell) if one.is_held]

    def _pooled_cell(self, title: str, sharers: int, share_of: int) -> Cell:
        """One pool for so many streams, with the loop that feeds it."""
        pool = self._pool(self._deliver, sharers, share_of)
        unit = PoolUnit(title, self.name, pool, partial(describe_pool, pool))
        is_common = self._is_sync and not self._has_own_pools
        cell = Cell(self._maker.crash, pools=[unit])
        if not is_common:
            dispatcher = self._dispatcher()
            loop_name = title if not self._is_sync else title.rpartition("/")[2]
            cell.feed(dispatcher, [DispatchUnit(loop_name, partial(dispatcher.run, pool))])
        self._reserve(pool.capacity)
        return cell

    def _loop_cell(self, stream: str, pool: Pool) -> Cell:
        """The loop of one stream that asks by itself and waits."""
        dispatcher = self._dispatcher()
        cell = Cell(self._maker.crash)
        cell.feed(dispatcher, [DispatchUnit(stream, partial(dispatcher.run, pool))])
        return cell

    def _adaptive_cell(self, sharers: int) -> Cell:
        """Two pools, of which all streams use one at a time."""
        maker, dispatcher = self._maker, self._dispatcher()
        busy = BusyPool(maker.clock), BusyPool(maker.clock)
        cell = Cell(maker.crash)
        loops = []
        for route in Route:
            front = busy[route]
            hint = Hint(route.name.lower())
            pool = self._pool(front.answered, sharers, 1, hint)
            front.attach(pool, maker.workers.put)
            title = f"{self.name}/{hint.value}"
            cell.pools.append(PoolUnit(title, self.name, pool, partial(describe_pool, pool)))
            loops.append(DispatchUnit(title, partial(dispatcher.run, front, route)))
            self._reserve(pool.capacity)
        cell.feed(dispatcher, loops)
        cell.route = AdaptiveRoutes(self.name, busy, dispatcher.move, maker.clock)
        return cell

    @property
    def _deliver(self) -> Callable[[Submission | PassedFrame | StreamEnd], None]:
        """What takes answers: with sync the thread that waited for one reads it itself."""
        workers = self._maker.workers
        return workers.handle if self._is_sync else workers.put

    def _dispatcher(self) -> Dispatcher:
        return Dispatcher(self._deliver, self._maker.clock, self._maker.stages)

    def _reserve(self, capacity: int) -> None:
        if not self._is_sync:
            self._maker.workers.reserve(capacity)

    def _pool(
        self, deliver: Callable[..., None], sharers: int, share_of: int, hint: Hint | None = None
    ) -> Pool | BatchPool:
        maker, model = self._maker, self.model
        compile_model = partial(maker.compile_model, hint=hint, share_of=share_of)
        requests = _requests(model, sharers)
        if model.mode != "batched":
            settings = PoolSettings(requests, model.timeout_s, Call(model.call))
            return Pool(compile_model, settings, deliver, maker.clock, maker.stages)
        batch = model.batch or BatchConfig()
        of_batch = BatchSettings(batch.size, batch.timeout_ms / 1000, requests, model.timeout_s)

        def compile_batch(size: int) -> CompiledDetector:
            return compile_model(batch=size)

        return BatchPool(compile_batch, of_batch, deliver, maker.clock, maker.stages)


_LOOP_ENDS_S = 1.0
"""A loop without streams, and the reaper of a closed pool, end within milliseconds."""

_REST_S = 1.0
"""How long the device may take to let go of what it has answered; microseconds, commonly."""


def _requests(model: ModelConfig, sharers: int) -> int | None:
    """Return how many requests a pool has; None for what the device prefers.

    With sync each stream has one of its own, whatever is configured: it holds it while it waits for
    a frame, and others would starve.
    """
    chosen = None if model.requests == "auto" else model.requests
    return max(chosen or 1, sharers) if model.call == "sync" else chosen
