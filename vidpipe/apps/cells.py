"""Pools and the loops that feed them, with their threads: what is started and ended together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from vidpipe.apps.units import DispatchUnit, PoolUnit, RouteLoop
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.scheduling.dispatch import Dispatcher


class Cell:
    """Some pools, perhaps none, and what feeds them; ``start`` and ``close`` once each."""

    def __init__(
        self, crash: Callable[[str, BaseException], None], pools: Sequence[PoolUnit] = ()
    ) -> None:
        """Begin with nothing to run but the pools' reapers; ``crash`` is told of a death."""
        self.pools = list(pools)
        self.dispatcher: Dispatcher | None = None
        self.route: RouteLoop | None = None
        self._loops: Sequence[DispatchUnit] = ()
        self._threads = ThreadGroup(crash)

    def feed(self, dispatcher: Dispatcher, loops: Sequence[DispatchUnit]) -> None:
        """Have loops of a dispatcher run; before the start."""
        self.dispatcher = dispatcher
        self._loops = loops

    def start(self) -> None:
        """Start every thread."""
        for unit in self.pools:
            self._threads.spawn(f"vp-reap-{unit.name}", unit.pool.reap)
        for loop in self._loops:
            self._threads.spawn(f"vp-disp-{loop.name}", loop.run)
        if self.route is not None:
            self._threads.spawn(f"vp-route-{self.route.model}", self.route.run)

    def close_lanes(self) -> None:
        """Take no more frames; what waits still goes its way."""
        if self.dispatcher is not None:
            self.dispatcher.close()

    def abort_lanes(self) -> None:
        """Drop what waits, too."""
        if self.dispatcher is not None:
            self.dispatcher.abort()

    def close(self) -> None:
        """End every loop and every pool; what runs on the device is cancelled."""
        if self.route is not None:
            self.route.close()
        self.close_lanes()
        for unit in self.pools:
            unit.pool.close()

    def join(self, timeout_s: float) -> list[str]:
        """Wait for the threads; return the names of those still alive."""
        return self._threads.join(timeout_s)

    def rest(self, timeout_s: float) -> None:
        """After ``close``: wait until the device holds nothing any more, so long altogether."""
        until = time.monotonic() + timeout_s
        for unit in self.pools:
            unit.pool.rest(max(0.0, until - time.monotonic()))

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request."""
        return any(unit.pool.is_held for unit in self.pools)
