from __future__ import annotations

from itertools import pairwise

import pytest

from tests.builders import make_frame
from tests.fakes import FakeClock, FakePool
from tests.threads import running
from vidpipe.interfaces import Submission
from vidpipe.scheduling.adaptive import AdaptiveRoutes, BusyPool, Marks, Route, RouteChooser

MARKS = Marks(raise_at=0.8, raise_after_s=2.0, lower_at=0.5, lower_after_s=4.0)


def observe(chooser: RouteChooser, seconds: float, load: float, cost_s: float = 0.01) -> Route:
    """Let so much load last, in steps of half a second; a frame costs the latency pool so much."""
    for _ in range(round(seconds / 0.5)):
        chooser.observe(0.5, min(load, 1.0) * 0.5, round(load * 0.5 / cost_s))
    return chooser.route


@pytest.fixture
def chooser() -> RouteChooser:
    return RouteChooser(MARKS)


def test_little_load_stays_with_the_latency_pool(chooser: RouteChooser) -> None:
    assert observe(chooser, 100, load=0.7) is Route.LATENCY


def test_much_load_moves_only_after_a_while(chooser: RouteChooser) -> None:
    assert observe(chooser, 1.5, load=0.95) is Route.LATENCY
    assert observe(chooser, 0.5, load=0.95) is Route.THROUGHPUT


def test_a_burst_moves_nothing(chooser: RouteChooser) -> None:
    for _ in range(10):
        observe(chooser, 1.5, load=1.0)
        assert observe(chooser, 0.5, load=0.3) is Route.LATENCY


def test_the_way_back_is_at_a_lower_mark_and_takes_longer(chooser: RouteChooser) -> None:
    observe(chooser, 2, load=1.0)
    assert observe(chooser, 60, load=0.6) is Route.THROUGHPUT
    assert observe(chooser, 3.5, load=0.4) is Route.THROUGHPUT
    assert observe(chooser, 0.5, load=0.4) is Route.LATENCY


def test_a_load_that_rises_and_falls_switches_twice(chooser: RouteChooser) -> None:
    routes = [observe(chooser, 0.5, load) for load in [0.3] * 20 + [1.2] * 40 + [0.3] * 40]
    changes = sum(a is not b for a, b in pairwise(routes))
    assert changes == 2
    assert routes[-1] is Route.LATENCY


def test_without_any_answer_nothing_is_known_and_nothing_moves(chooser: RouteChooser) -> None:
    for _ in range(20):
        assert chooser.observe(0.5, 0.5, 0) is Route.LATENCY
    chooser.observe(0.5, 0.5, 1)  # one frame in ten seconds
    assert observe(chooser, 2, load=1.0, cost_s=0.25) is Route.THROUGHPUT


def test_busy_seconds_are_those_with_a_frame_out(clock: FakeClock) -> None:
    answers: list[Submission] = []
    busy, pool = BusyPool(clock), FakePool(10)
    busy.attach(pool, answers.append)

    def submit() -> None:
        slot = busy.acquire()
        assert slot is not None
        busy.submit(slot, make_frame(), 0)

    clock.advance(5)
    submit()
    clock.advance(1)
    submit()
    clock.advance(1)
    busy.answered(pool.submitted[0])
    assert busy.take() == (2.0, 1)
    clock.advance(3)
    busy.answered(pool.submitted[1])
    clock.advance(10)
    assert busy.take() == (3.0, 1)
    assert busy.take() == (0.0, 0)
    assert answers == pool.submitted


def test_streams_are_moved_and_the_moves_counted(clock: FakeClock) -> None:
    pools = BusyPool(clock), BusyPool(clock)
    for pool in pools:
        pool.attach(FakePool(100), lambda _: None)
    moves: list[int] = []
    routes = AdaptiveRoutes("person", pools, moves.append, clock, RouteChooser(MARKS))

    def work(route: Route, share: float, seconds: float) -> None:
        for _ in range(round(seconds)):
            slot = pools[route].acquire()
            assert slot is not None
            pools[route].submit(slot, make_frame(), 0)
            clock.advance(share)
            pools[route].answered(pools[route]._pool.submitted[-1])  # type: ignore[attr-defined]  # the fake's
            clock.advance(1 - share)
            routes.look(1.0)

    work(Route.LATENCY, 0.9, 2)
    assert routes.route is Route.THROUGHPUT
    work(Route.THROUGHPUT, 0.5, 3)  # one frame a second: 0.9 of what the latency pool can do
    assert moves == [Route.THROUGHPUT]
    for _ in range(4):
        routes.look(1.0)  # no frame at all
    assert moves == [Route.THROUGHPUT, Route.LATENCY]
    assert routes.switches == 2


def test_the_loop_ends_when_closed(clock: FakeClock) -> None:
    pools = BusyPool(clock), BusyPool(clock)
    routes = AdaptiveRoutes("person", pools, lambda _: None, clock)
    with running(routes.run):  # which waits for its end
        routes.close()
