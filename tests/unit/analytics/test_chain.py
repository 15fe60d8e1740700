from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from tests.builders import make_detections, make_frame, make_result
from tests.fakes import FakeClock
from tests.threads import running
from vidpipe.analytics.chain import StreamChain, StreamRole
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import NO_DETECTIONS, FrameResult, StreamEnd, Verdict


class Outlet:
    """A fan-out with room for so many results, which the test takes away."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.results: list[FrameResult] = []
        self.is_closed = False
        self.on_write: Callable[[FrameResult], None] = lambda _: None
        self._busy = threading.Lock()

    @property
    def has_room(self) -> bool:
        return self.room > 0

    def write(self, result: FrameResult) -> None:
        assert self._busy.acquire(blocking=False), "two threads write at once"
        assert not self.is_closed
        self.room -= 1
        self.results.append(result)
        self.on_write(result)
        self._busy.release()

    def close(self) -> None:
        self.is_closed = True

    @property
    def numbers(self) -> list[int]:
        return [result.frame.number for result in self.results]


class Bench:
    def __init__(self, clock: FakeClock, room: int = 1000) -> None:
        self.outlet = Outlet(room)
        self.meter = StreamMeter()
        self.ended: list[str] = []
        self.seen: list[int] = []
        role = StreamRole(
            "gate", self.outlet, self.meter, lambda result: self.seen.append(result.frame.number)
        )
        self.chain = StreamChain(role, self.ended.append, clock)

    def offer(self, *numbers: int) -> None:
        for number in numbers:
            self.meter.count_captured()
            self.chain.offer(number, make_result(number))


def test_results_are_handed_over_in_order(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.offer(2, 1)
    assert bench.outlet.numbers == []
    bench.offer(0, 3)
    assert bench.outlet.numbers == [0, 1, 2, 3]


def test_the_end_closes_the_outlet_after_the_last_result(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.chain.offer(2, StreamEnd("gate", 2))
    bench.offer(1)
    assert not bench.outlet.is_closed
    assert bench.ended == []
    bench.offer(0)
    assert bench.outlet.numbers == [0, 1]
    assert bench.outlet.is_closed
    assert bench.ended == ["gate"]


def test_each_verdict_is_counted_as_what_it_is(clock: FakeClock) -> None:
    bench = Bench(clock)
    for _ in range(3):
        bench.meter.count_captured()
    clock.advance(2.0)
    found = make_detections((0, 0, 1, 1), (1, 1, 2, 2))
    bench.chain.offer(0, make_result(detections=found, frame=make_frame(0, captured_at=1.5)))
    bench.chain.offer(1, make_result(1, verdict=Verdict.FAILED, error="no answer"))
    bench.chain.offer(2, make_result(2, verdict=Verdict.PASSED))
    stats = bench.meter.snapshot()
    assert (stats.processed, stats.passed, stats.in_flight) == (1, 1, 0)
    assert stats.dropped == {"error": 1}
    assert stats.errors == {"inference": 1}
    assert stats.detections == 2
    assert stats.age.sum_s == pytest.approx(0.5)


def test_frames_that_go_on_failing_are_mentioned_once_a_minute(
    clock: FakeClock, log_lines: list[str]
) -> None:
    bench = Bench(clock)
    for number in range(4):
        bench.meter.count_captured()
        bench.chain.offer(number, make_result(number, verdict=Verdict.FAILED, error="no answer"))
        clock.advance(20.0)
    assert [line.partition("} ")[2] for line in log_lines] == [
        "frame 0 failed: no answer",
        "frame 3 failed: no answer",
    ]
    assert "gate" in log_lines[0]


def test_a_passed_frame_gets_the_boxes_of_the_last_answered_one(clock: FakeClock) -> None:
    bench = Bench(clock)
    found = make_detections((0, 0, 1, 1))
    bench.chain.offer(0, make_result(0, verdict=Verdict.PASSED))
    bench.chain.offer(1, make_result(1, found))
    bench.chain.offer(2, make_result(2, verdict=Verdict.PASSED))
    bench.chain.offer(3, make_result(3, verdict=Verdict.FAILED, error="no answer"))
    bench.chain.offer(4, make_result(4, verdict=Verdict.PASSED))
    bench.chain.offer(5, make_result(5))
    bench.chain.offer(6, make_result(6, verdict=Verdict.PASSED))
    shown = [result.detections for result in bench.outlet.results]
    assert shown == [NO_DETECTIONS, found, found, NO_DETECTIONS, found, *[NO_DETECTIONS] * 2]
    assert bench.outlet.results[3].error == "no answer"


def test_boxes_of_another_epoch_are_not_shown(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.chain.offer(0, make_result(0, make_detections((0, 0, 1, 1))))
    frame = make_frame(1, epoch=1)
    bench.chain.offer(1, make_result(frame=frame, verdict=Verdict.PASSED))
    assert bench.outlet.results[1].detections is NO_DETECTIONS


def test_a_chain_without_room_waits_and_holds_nobody(clock: FakeClock) -> None:
    bench = Bench(clock, room=2)
    bench.offer(0, 1, 2, 3)
    assert bench.outlet.numbers == [0, 1]
    bench.outlet.room = 1
    assert bench.chain.take_stall()
    bench.chain.resume()
    assert bench.outlet.numbers == [0, 1, 2]


def test_a_stall_is_taken_once(clock: FakeClock) -> None:
    bench = Bench(clock, room=0)
    assert not bench.chain.take_stall()
    bench.offer(0)
    assert bench.chain.take_stall()
    assert not bench.chain.take_stall()
    bench.chain.resume()  # still no room: it waits again, and can be taken again
    assert bench.chain.take_stall()
    assert not bench.chain.take_stall()


def test_a_resumption_under_way_is_enough_though_it_stalls_again(clock: FakeClock) -> None:
    bench = Bench(clock, room=0)
    bench.offer(0)
    assert bench.chain.take_stall()
    bench.offer(1)  # another worker finds no room either
    assert not bench.chain.take_stall()
    bench.outlet.room = 5
    bench.chain.resume()
    assert bench.outlet.numbers == [0, 1]


@pytest.mark.parametrize("number", range(20))
def test_room_that_is_made_while_the_chain_looks_for_it_is_not_missed(
    clock: FakeClock, number: int
) -> None:
    del number
    bench = Bench(clock)
    answers: list[bool] = []
    asking = threading.Event()

    def ask() -> None:
        asking.set()
        answers.append(bench.chain.take_stall())

    sink = threading.Thread(target=ask)

    class Crowded(Outlet):
        @property
        def has_room(self) -> bool:
            sink.start()  # the lane was full when it was looked at; now the sink takes a result
            asking.wait()
            return False

    bench.chain._role = StreamRole("gate", Crowded(), bench.meter)
    bench.offer(0)
    sink.join()
    assert answers == [True]


def test_a_chain_that_goes_on_by_itself_needs_no_resumption(clock: FakeClock) -> None:
    bench = Bench(clock, room=0)
    bench.offer(0)
    bench.outlet.room = 5
    bench.offer(1)
    assert bench.outlet.numbers == [0, 1]
    assert not bench.chain.take_stall()


def test_an_outlet_that_breaks_its_promise_leaves_the_chain_usable(clock: FakeClock) -> None:
    bench = Bench(clock)

    def fail(_: FrameResult) -> None:
        bench.outlet._busy.release()
        raise RuntimeError("a bug")

    bench.outlet.on_write = fail
    with pytest.raises(RuntimeError, match="a bug"):
        bench.offer(0)
    bench.outlet.on_write = lambda _: None
    bench.offer(1)
    assert bench.outlet.numbers == [0, 1]


@pytest.mark.parametrize("seed", range(10))
def test_many_workers_keep_the_order_one_at_a_time(clock: FakeClock, seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(clock)
    sequences = list(range(400))
    rng.shuffle(sequences)
    shares = [sequences[number::4] for number in range(4)]

    def work(share: list[int]) -> None:
        bench.offer(*share)

    with running(*(lambda share=share: work(share) for share in shares)):
        pass
    assert bench.outlet.numbers == list(range(400))
    assert bench.meter.snapshot().processed == 400


def test_whoever_watches_sees_every_result_in_order_once_it_is_handed_over(
    clock: FakeClock,
) -> None:
    bench = Bench(clock, room=2)
    bench.offer(1, 0, 2)
    assert bench.seen == bench.outlet.numbers == [0, 1]
    bench.outlet.room = 10
    bench.chain.advance()
    assert bench.seen == [0, 1, 2]
