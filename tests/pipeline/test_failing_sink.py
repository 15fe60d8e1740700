"""A sink that blocks or raises is its own affair."""

from __future__ import annotations

import threading

import pytest

from tests.fakes import RecordingSink
from tests.plant import Plant, PlantPlan, StreamPlan
from tests.threads import wait_until
from vidpipe.errors import SinkError
from vidpipe.outputs.fanout import SinkLane
from vidpipe.types import Overflow

FRAMES = 80


@pytest.mark.parametrize("error", [SinkError("disk full"), ZeroDivisionError("a bug")])
@pytest.mark.parametrize("overflow", list(Overflow))
def test_a_sink_that_raises_harms_no_other_sink_and_no_other_stream(
    error: Exception, overflow: Overflow
) -> None:
    brittle, beside, elsewhere = RecordingSink(error=error), RecordingSink(), RecordingSink()
    streams = [
        StreamPlan(
            "gate",
            FRAMES,
            [
                SinkLane("video", brittle, 2, overflow),
                SinkLane("jsonl", beside, 2, Overflow.BLOCK),
            ],
        ),
        StreamPlan("dock", FRAMES, [SinkLane("jsonl", elsewhere, 2, Overflow.BLOCK)]),
    ]
    with Plant(streams) as plant:
        plant.wait_written()
    assert beside.numbers == elsewhere.numbers == list(range(FRAMES))
    assert plant.failures == [("gate", "video", str(error))]
    stats = plant.meters["gate"].snapshot()
    assert stats.processed == FRAMES
    assert stats.sink_losses == {"video": FRAMES}
    assert plant.meters["dock"].snapshot().sink_losses == {}


def test_a_blocking_sink_that_blocks_holds_its_own_stream_and_no_other() -> None:
    gate = threading.Event()
    held, other = RecordingSink(gate=gate), RecordingSink()
    window, lane = 5, 2
    streams = [
        StreamPlan("gate", FRAMES, [SinkLane("video", held, 2, Overflow.BLOCK)], window=window),
        StreamPlan("dock", FRAMES, [SinkLane("video", other, 2, Overflow.BLOCK)], window=window),
    ]
    with Plant(streams, PlantPlan(requests=3)) as plant:
        try:
            wait_until(other.is_closed.is_set, "the other stream is done")
            assert other.numbers == list(range(FRAMES))
            full = window + lane + 1  # out, waiting in the lane, in the producer's hand
            captured = plant.meters["gate"].snapshot
            wait_until(lambda: captured().captured == full, "its own stream is full")
            assert held.numbers == []
        finally:
            gate.set()
        plant.wait_written()
    assert held.numbers == list(range(FRAMES))


def test_a_dropping_sink_that_blocks_holds_nobody() -> None:
    gate = threading.Event()
    held, beside = RecordingSink(gate=gate), RecordingSink()
    lanes = [
        SinkLane("wall", held, 2, Overflow.DROP_OLDEST),
        SinkLane("jsonl", beside, 2, Overflow.BLOCK),
    ]
    with Plant([StreamPlan("gate", FRAMES, lanes)]) as plant:
        try:
            wait_until(beside.is_closed.is_set, "the sink beside it is done")
        finally:
            gate.set()
        plant.wait_written()
    assert beside.numbers == list(range(FRAMES))
    stats = plant.meters["gate"].snapshot()
    assert len(held.numbers) + stats.sink_losses["wall"] == FRAMES
    assert held.numbers[-1] == FRAMES - 1


def test_streams_without_sinks_are_analysed_all_the_same() -> None:
    with Plant([StreamPlan("gate", FRAMES, [])]) as plant:
        plant.wait_handed_over()
    assert plant.meters["gate"].snapshot().processed == FRAMES
