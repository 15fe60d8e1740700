"""Closing drains, aborting returns; either way every frame is accounted for."""

from __future__ import annotations

import threading

import pytest

from tests.fakes import RecordingSink
from tests.plant import Dawdler, DawdlingSink, Plant, PlantPlan, StreamPlan
from tests.threads import wait_until
from vidpipe.outputs.fanout import SinkLane
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.types import Overflow

ENDLESS = 10**9


def endless(name: str, sink: RecordingSink, lane_size: int = 2) -> StreamPlan:
    lane = LanePolicy(lane_size, Overflow.BLOCK)
    return StreamPlan(name, ENDLESS, [SinkLane("s", sink, 2, Overflow.BLOCK)], lane)


@pytest.mark.parametrize("seed", range(10))
def test_close_drains_what_was_taken(seed: int) -> None:
    sinks = {name: DawdlingSink(Dawdler(seed, 0.002)) for name in ("gate", "dock", "yard")}
    streams = [endless(name, sink) for name, sink in sinks.items()]
    with Plant(streams, PlantPlan(seed=seed)) as plant:
        wait_until(lambda: all(len(s.results) > 5 * seed for s in sinks.values()), "some frames")
        plant.dispatcher.close()
        plant.wait_written()
    for name, sink in sinks.items():
        stats = plant.meters[name].snapshot()
        assert sink.numbers == list(range(plant.taken[name]))
        assert stats.processed == plant.taken[name]
        assert stats.in_flight == 0
        assert stats.dropped == {"stop": 1}  # the one in the producer's hand


@pytest.mark.parametrize("seed", range(10))
def test_abort_drops_what_waits_and_hands_over_the_rest(seed: int) -> None:
    sinks = {name: DawdlingSink(Dawdler(seed, 0.002)) for name in ("gate", "dock")}
    streams = [endless(name, sink, lane_size=6) for name, sink in sinks.items()]
    with Plant(streams, PlantPlan(seed=seed)) as plant:
        wait_until(lambda: all(len(s.results) > 3 * seed for s in sinks.values()), "some frames")
        plant.dispatcher.abort()
        plant.wait_written()
    for name, sink in sinks.items():
        stats = plant.meters[name].snapshot()
        assert sink.numbers == list(range(stats.processed))
        assert stats.in_flight == 0
        assert stats.captured == stats.processed + stats.dropped["stop"]


def test_abort_returns_and_the_dispatcher_ends_though_a_sink_is_held_for_good() -> None:
    gate = threading.Event()
    held, other = RecordingSink(gate=gate), RecordingSink()
    with Plant([endless("gate", held), endless("dock", other)]) as plant:
        try:
            full = 4 + 2 + 1  # window, lane, the producer's hand
            captured = plant.meters["gate"].snapshot
            wait_until(lambda: captured().captured == full, "the held stream is full")
            plant.dispatcher.abort()
            wait_until(lambda: "dispatch" not in plant.threads.alive(), "the dispatcher ends")
            wait_until(other.is_closed.is_set, "the other stream ends")
            # One is being written, two wait in the sink's lane, and one in the chain.
            assert captured().in_flight == 1
            assert plant.fanouts["gate"].abort() == {"s": 2}
        finally:
            gate.set()
        plant.wait_written()  # the chain that waited for room has heard of it
    stats = plant.meters["gate"].snapshot()
    assert stats.in_flight == 0
    assert held.numbers == [0]
    assert stats.sink_losses == {"s": 3}


def test_an_end_without_any_frame_closes_the_sinks() -> None:
    sink = RecordingSink()
    with Plant([StreamPlan("gate", 0, [SinkLane("s", sink, 1, Overflow.BLOCK)])]) as plant:
        plant.wait_written()
    assert sink.is_closed.is_set()
    assert plant.ended == ["gate"]
