"""Whatever the order of the answers, results come in order and complete, and nothing piles up."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest

from tests.builders import make_detections
from tests.fakes import RecordingSink
from tests.plant import Dawdler, DawdlingSink, Plant, PlantPlan, StreamPlan
from vidpipe.errors import InferenceError
from vidpipe.outputs.fanout import SinkLane
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.types import Detections, Frame, FrameResult, Overflow, Verdict


@pytest.fixture
def threads_change_often() -> Iterator[None]:
    """Let the interpreter change threads a hundred times as often, so that races show."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(interval_s / 100)
    yield
    sys.setswitchinterval(interval_s)


def by_number(frame: Frame) -> Detections:
    """Fail every thirteenth frame; find one object whose place tells the frame's number."""
    if frame.number % 13 == 7:
        raise InferenceError(f"frame {frame.number} is unlucky")
    return make_detections((0, 0, frame.number, 1))


def assert_right(result: FrameResult) -> None:
    number = result.frame.number
    match result.verdict:
        case Verdict.DETECTED:
            assert result.detections.boxes_xyxy[0, 2] == number
            assert result.error is None
        case Verdict.FAILED:
            assert number % 13 == 7
            assert result.error == f"frame {number} is unlucky"
            assert len(result.detections) == 0
        case Verdict.PASSED:
            for box in result.detections.boxes_xyxy:
                assert box[2] < number


@pytest.mark.parametrize("seed", range(24))
def test_blocking_lanes_lose_nothing_and_keep_the_order(seed: int) -> None:
    rng = random.Random(seed)
    frames = 60
    streams = []
    for name in ("gate", "dock", "yard", "hall")[: rng.randint(1, 4)]:
        pause_s = rng.choice([0, 0, 0.001, 0.003])
        sinks = [
            DawdlingSink(Dawdler(seed, pause_s), needs_picture=needs_picture)
            for needs_picture in (True, False)[: rng.randint(1, 2)]
        ]
        lanes = [
            SinkLane(f"s{number}", sink, rng.randint(1, 3), Overflow.BLOCK)
            for number, sink in enumerate(sinks)
        ]
        plan = StreamPlan(
            name,
            frames,
            lanes,
            lane=LanePolicy(rng.randint(1, 4), Overflow.BLOCK),
            window=rng.randint(1, 6),
            detect_fps=rng.choice([None, None, 5]),
        )
        streams.append(plan)
    common = PlantPlan(rng.randint(1, 5), rng.randint(1, 3), seed, 0.002, by_number)
    with Plant(streams, common) as plant:
        plant.wait_written()
    for stream in streams:
        stats = plant.meters[stream.stream].snapshot()
        assert stats.captured == frames
        assert stats.in_flight == 0
        assert stats.processed + stats.passed + stats.dropped.get("error", 0) == frames
        assert set(stats.dropped) <= {"error"}
        assert stats.sink_losses == {}
        for lane in stream.sinks:
            assert isinstance(lane.sink, RecordingSink)
            asked = [r.frame.number for r in lane.sink.results if r.verdict is not Verdict.PASSED]
            if lane.sink.needs_picture:
                assert lane.sink.numbers == list(range(frames))
            else:
                assert lane.sink.numbers == asked
                assert len(asked) == frames - stats.passed
            for result in lane.sink.results:
                assert_right(result)


@pytest.mark.parametrize("seed", range(8))
def test_live_lanes_drop_and_keep_the_order_and_the_count(seed: int) -> None:
    rng = random.Random(seed)
    frames = 120
    streams = []
    for name in ("gate", "dock", "yard"):
        sink = DawdlingSink(Dawdler(seed, rng.choice([0, 0.002])))
        plan = StreamPlan(
            name,
            frames,
            [SinkLane("wall", sink, rng.randint(1, 3), Overflow.DROP_OLDEST)],
            lane=LanePolicy(2, Overflow.DROP_OLDEST, max_age_s=rng.choice([0.002, 0.5])),
            window=rng.randint(1, 4),
            dawdle=Dawdler(seed, 0.001),
        )
        streams.append(plan)
    with Plant(streams, PlantPlan(2, 2, seed, 0.003, by_number)) as plant:
        plant.wait_written()
    for stream in streams:
        stats = plant.meters[stream.stream].snapshot()
        (lane,) = stream.sinks
        assert isinstance(lane.sink, RecordingSink)
        numbers = lane.sink.numbers
        assert numbers == sorted(set(numbers))
        assert stats.in_flight == 0
        assert set(stats.dropped) <= {"lane", "age", "error"}
        failed = stats.dropped.get("error", 0)
        assert len(numbers) + stats.sink_losses.get("wall", 0) == stats.processed + failed
        for result in lane.sink.results:
            assert_right(result)


@pytest.mark.usefixtures("threads_change_often")
@pytest.mark.parametrize("seed", range(6))
def test_a_chain_that_waited_always_goes_on(seed: int) -> None:
    # Lanes of one, two blocking sinks and nothing that takes time: every other result waits for
    # room, and a single lost word would stop the stream for good.
    rng = random.Random(seed)
    frames = 700
    sinks = [RecordingSink() for _ in range(2)]
    lanes = [SinkLane(f"s{n}", sink, 1, Overflow.BLOCK) for n, sink in enumerate(sinks)]
    other = RecordingSink()
    streams = [
        StreamPlan("gate", frames, lanes, window=rng.randint(2, 6)),
        StreamPlan("dock", frames, [SinkLane("s", other, 1, Overflow.BLOCK)], window=8),
    ]
    with Plant(streams, PlantPlan(4, 3, seed, 0.0)) as plant:
        plant.wait_written()
    assert [sink.numbers for sink in (*sinks, other)] == [list(range(frames))] * 3
