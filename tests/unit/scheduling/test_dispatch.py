from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from tests.builders import make_frame
from tests.fakes import FakeClock, FakePool
from tests.threads import running, wait_until
from vidpipe.interfaces import RequestSlot
from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.ahead import AHEAD, MOST_WAITING
from vidpipe.scheduling.dispatch import Dispatcher
from vidpipe.scheduling.intake import DispatchPolicy, Intake
from vidpipe.scheduling.lanes import LanePolicy
from vidpipe.types import Frame, Overflow, PassedFrame, StreamEnd

BLOCK = LanePolicy(4, Overflow.BLOCK)
NEWEST = LanePolicy(2, Overflow.DROP_OLDEST, max_age_s=0.5)


class Bench:
    """A dispatcher over a fake pool whose answers the test gives, and all that it emits."""

    def __init__(self, clock: FakeClock, requests: int = 100) -> None:
        self.clock = clock
        self.pool = FakePool(requests)
        self.emitted: list[PassedFrame | StreamEnd] = []
        self.dispatcher = Dispatcher(self.emitted.append, clock)
        self.meters: dict[str, StreamMeter] = {}
        self.intakes: dict[str, Intake] = {}
        self._counts: dict[str, int] = {}

    def add(
        self,
        stream: str = "gate",
        *,
        lane: LanePolicy = BLOCK,
        window: int = 100,
        weight: float = 1.0,
        detect_fps: float | None = None,
    ) -> None:
        meter = self.meters[stream] = StreamMeter()
        policy = DispatchPolicy(lane, window, weight, detect_fps)
        self.intakes[stream] = self.dispatcher.add(stream, policy, meter)

    def put(self, stream: str = "gate", count: int = 1) -> list[bool]:
        taken = []
        for _ in range(count):
            number = self._counts[stream] = self._counts.get(stream, -1) + 1
            self.meters[stream].count_captured()
            frame = make_frame(number, stream=stream, captured_at=self.clock.now_s)
            taken.append(self.intakes[stream].put(frame))
        return taken

    def run(self) -> None:
        self.dispatcher.run(self.pool)

    @property
    def submitted(self) -> list[tuple[str, int, int]]:
        return [(s.frame.stream, s.frame.number, s.sequence) for s in list(self.pool.submitted)]

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.pool.submitted) >= count, f"{count} are submitted")

    @contextmanager
    def running(self) -> Iterator[None]:
        with running(self.run):
            try:
                yield
            finally:
                self.dispatcher.abort()
                self.pool.close()


@pytest.fixture
def bench(clock: FakeClock) -> Bench:
    return Bench(clock)


def test_what_waits_is_dispatched_in_order_and_then_the_end_follows(bench: Bench) -> None:
    bench.add()
    bench.put(count=3)
    bench.dispatcher.close()
    bench.run()  # returns by itself
    assert bench.submitted == [("gate", 0, 0), ("gate", 1, 1), ("gate", 2, 2)]
    assert bench.emitted == [StreamEnd("gate", 3)]


def test_a_closed_dispatcher_without_streams_returns_and_keeps_no_credit(bench: Bench) -> None:
    bench.dispatcher.close()
    bench.run()
    assert bench.pool._credits._value == 100


def test_the_run_ends_with_the_pool(bench: Bench) -> None:
    bench.add()
    bench.pool.close()
    bench.run()
    assert bench.submitted == []


def test_one_stream_ends_and_the_others_go_on(bench: Bench) -> None:
    bench.add("gate")
    bench.add("dock")
    bench.put("gate", 2)
    with bench.running():
        bench.intakes["gate"].end()
        bench.intakes["gate"].end()
        wait_until(lambda: bench.emitted == [StreamEnd("gate", 2)], "the stream ends, once")
        assert bench.put("gate") == [False]
        assert bench.put("dock") == [True]
        bench.wait_for(3)


def test_a_stream_may_come_back_under_its_name(bench: Bench) -> None:
    bench.add()
    with bench.running():
        bench.intakes["gate"].end()
        wait_until(lambda: len(bench.emitted) == 1, "the stream ends")
        bench.add()
        bench.put()
        bench.wait_for(1)
    assert bench.submitted[0][2] == 0


def test_a_stream_is_added_once(bench: Bench) -> None:
    bench.add()
    with pytest.raises(ValueError, match="gate"):
        bench.add()


def test_a_stream_that_is_added_while_closing_has_ended(bench: Bench) -> None:
    bench.dispatcher.close()
    bench.add()
    assert bench.put() == [False]
    bench.run()
    assert bench.emitted == [StreamEnd("gate", 0)]


def test_the_freshest_frame_goes_when_the_credit_comes(clock: FakeClock) -> None:
    bench = Bench(clock, requests=1)
    bench.add(lane=NEWEST)
    with bench.running():
        bench.put()
        bench.wait_for(1)  # the only credit is out now
        bench.put(count=5)
        bench.pool.submitted[0].release()
        bench.wait_for(2)
        assert [number for _, number, _ in bench.submitted] == [0, 5]
        assert bench.meters["gate"].snapshot().dropped == {"lane": 4}


def test_a_frame_that_aged_while_there_was_no_credit_is_dropped(clock: FakeClock) -> None:
    bench = Bench(clock, requests=1)
    bench.add(lane=NEWEST)
    with bench.running():
        bench.put()
        bench.wait_for(1)
        bench.put(count=2)
        clock.advance(1.0)
        bench.pool.submitted[0].release()
        wait_until(lambda: bench.intakes["gate"].depth() == 0, "the stale ones are gone")
        bench.put()
        bench.wait_for(2)
        assert [number for _, number, _ in bench.submitted] == [0, 3]
        assert bench.meters["gate"].snapshot().dropped == {"age": 2}


def test_a_full_window_is_passed_over_and_moves_on_with_each_release(bench: Bench) -> None:
    bench.add("gate", window=2)
    bench.add("dock", window=50)
    bench.put("gate", 4)
    bench.put("dock", 4)
    with bench.running():
        bench.wait_for(6)
        assert sum(stream == "gate" for stream, _, _ in bench.submitted) == 2
        assert bench.intakes["gate"].depth() == 2
        bench.intakes["gate"].release()
        bench.wait_for(7)
        assert bench.intakes["gate"].depth() == 1


def test_a_full_lane_that_blocks_holds_its_producer_until_there_is_room(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.add(window=1)
    done = threading.Event()

    def produce() -> None:
        assert bench.put(count=20) == [True] * 20
        done.set()

    with bench.running(), running(produce):
        for count in range(1, 21):
            bench.wait_for(count)
            assert bench.intakes["gate"].depth() <= 4
            bench.intakes["gate"].release()
        assert done.wait(5)
    assert [number for _, number, _ in bench.submitted] == list(range(20))
    assert bench.meters["gate"].snapshot().dropped == {}


@pytest.mark.parametrize("way", ["end", "close", "abort"])
def test_a_blocked_producer_is_woken_and_told(bench: Bench, way: str) -> None:
    bench.add()
    bench.put(count=4)
    answers: list[bool] = []
    with running(lambda: answers.extend(bench.put())):
        wait_until(lambda: bench.meters["gate"].snapshot().captured == 5, "it is about to wait")
        match way:
            case "end":
                bench.intakes["gate"].end()
            case "close":
                bench.dispatcher.close()
            case _:
                bench.dispatcher.abort()
    assert answers == [False]


def test_abort_drops_what_waits_and_ends_the_run_though_windows_are_full(bench: Bench) -> None:
    bench.add(window=1)
    bench.put(count=4)
    with running(bench.run):
        bench.wait_for(1)
        bench.dispatcher.abort()  # nobody will ever release the frame that is out
    assert bench.meters["gate"].snapshot().dropped == {"stop": 3}
    assert bench.emitted == [StreamEnd("gate", 1)]
    assert bench.put() == [False]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_slips_in_while_aborting(clock: FakeClock, seed: int) -> None:
    bench = Bench(clock)
    bench.add(window=1, lane=LanePolicy(1 + seed % 3, Overflow.BLOCK))
    refused = threading.Event()

    def produce() -> None:
        while bench.put()[0]:
            pass
        refused.set()

    with running(bench.run, produce):
        bench.wait_for(1)
        bench.dispatcher.abort()
        assert refused.wait(5)
    stats = bench.meters["gate"].snapshot()
    out = len(bench.submitted)
    assert out == 1
    assert stats.captured == out + stats.dropped.get("stop", 0) + 1  # one was refused


def test_frames_that_are_not_due_keep_their_place_without_a_request(bench: Bench) -> None:
    bench.add(detect_fps=5, lane=LanePolicy(20, Overflow.BLOCK))
    bench.put(count=11)
    bench.dispatcher.close()
    bench.run()
    assert bench.submitted == [("gate", 0, 0), ("gate", 5, 5), ("gate", 10, 10)]
    passed = [item for item in bench.emitted if isinstance(item, PassedFrame)]
    assert [(item.frame.number, item.sequence) for item in passed] == [
        (number, number) for number in range(11) if number % 5
    ]
    assert bench.emitted[-1] == StreamEnd("gate", 11)


def test_passed_frames_count_in_the_window_too(bench: Bench) -> None:
    bench.add(detect_fps=1, window=3, lane=LanePolicy(10, Overflow.BLOCK))
    bench.put(count=10)
    with bench.running():
        wait_until(lambda: len(bench.emitted) == 2, "one was asked about, two were passed")
        assert bench.intakes["gate"].depth() == 7
        bench.intakes["gate"].release()
        wait_until(lambda: len(bench.emitted) == 3, "one more")
        assert bench.intakes["gate"].depth() == 6


def test_streams_share_the_pool_by_weight(clock: FakeClock) -> None:
    bench = Bench(clock)
    lane = LanePolicy(200, Overflow.BLOCK)
    bench.add("gate", weight=3, lane=lane, window=400)
    bench.add("dock", weight=1, lane=lane, window=400)
    bench.put("gate", 100)
    bench.put("dock", 100)
    bench.pool._credits.release(200)
    bench.dispatcher.close()
    bench.run()
    first = [stream for stream, _, _ in bench.submitted[:80]]
    assert first.count("gate") == pytest.approx(60, abs=2)


class GatheringPool(FakePool):
    """A pool that starts frames by ``size`` at once, or when told to; never at a time."""

    def __init__(self, size: int) -> None:
        super().__init__(100)
        self._batch_size = size
        self._gathered: list[int] = []
        self.batches: list[list[int]] = []
        self.patience_s = 60.0
        self._due_at = 0.0

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        super().submit(slot, frame, sequence)
        if not self._gathered:
            self._due_at = time.monotonic() + self.patience_s
        self._gathered.append(frame.number)
        if len(self._gathered) == self._batch_size:
            self.flush()

    def flush_in_s(self) -> float | None:
        return self._due_at - time.monotonic() if self._gathered else None

    def flush(self) -> None:
        self.batches.append(self._gathered)
        self._gathered = []


def gathering(clock: FakeClock, size: int) -> tuple[Bench, GatheringPool]:
    bench = Bench(clock)
    pool = bench.pool = GatheringPool(size)
    return bench, pool


def test_a_batch_is_started_at_once_when_every_window_is_full(clock: FakeClock) -> None:
    bench, pool = gathering(clock, 8)
    bench.add(window=3)
    bench.put(count=4)
    with bench.running():
        wait_until(lambda: pool.batches == [[0, 1, 2]], "nothing more can come")
        bench.intakes["gate"].release()
        wait_until(lambda: pool.batches == [[0, 1, 2], [3]], "nor now")


def test_a_batch_is_started_at_once_when_the_last_stream_has_ended(clock: FakeClock) -> None:
    bench, pool = gathering(clock, 8)
    bench.add("gate")
    bench.add("dock")
    bench.put("gate", 2)
    with bench.running():
        bench.intakes["gate"].end()
        wait_until(lambda: len(bench.emitted) == 1, "the other one may still bring something")
        assert pool.batches == []
        bench.intakes["dock"].end()
        wait_until(lambda: pool.batches == [[0, 1]], "nothing more can come")


def test_a_batch_waits_no_longer_than_its_patience(clock: FakeClock) -> None:
    bench, pool = gathering(clock, 8)
    pool.patience_s = 0.01
    bench.add()
    bench.put(count=2)
    with bench.running():
        wait_until(lambda: pool.batches == [[0, 1]], "both are started")


def test_full_batches_are_not_started_twice(clock: FakeClock) -> None:
    bench, pool = gathering(clock, 4)
    bench.add(lane=LanePolicy(20, Overflow.BLOCK))
    bench.put(count=10)
    bench.dispatcher.close()
    bench.run()
    assert pool.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize("seed", range(10))
def test_a_stream_that_moves_between_two_pools_loses_nothing(clock: FakeClock, seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(clock)
    other = FakePool(1000)
    bench.pool._credits.release(900)
    bench.add("gate", window=1000)
    bench.add("dock", window=1000)

    def produce(stream: str) -> None:
        for _ in range(200):
            assert bench.put(stream) == [True]

    def run_other() -> None:
        bench.dispatcher.run(other, 1)

    with running(bench.run, run_other):
        with running(lambda: produce("gate"), lambda: produce("dock")):
            for _ in range(20):
                moved = len(bench.pool.submitted) + len(other.submitted) + rng.randrange(15)
                wait_until(
                    lambda least=moved: (  # type: ignore[misc]  # a default in a lambda
                        len(bench.pool.submitted) + len(other.submitted) >= min(least, 400)
                    ),
                    "some frames went",
                )
                bench.dispatcher.move(rng.randrange(2))
        bench.dispatcher.close()
    for stream in ("gate", "dock"):
        went = [s for pool in (bench.pool, other) for s in pool.submitted]
        of_stream = sorted(s.sequence for s in went if s.frame.stream == stream)
        assert of_stream == list(range(200))
        assert all(s.sequence == s.frame.number for s in went)
    assert len(bench.emitted) == 2


def test_a_stream_that_is_added_after_a_move_is_on_the_new_route(clock: FakeClock) -> None:
    bench = Bench(clock)
    other = FakePool(10)
    bench.dispatcher.move(1)
    bench.add()
    bench.put()
    bench.dispatcher.close()
    bench.run()
    bench.dispatcher.run(other, 1)
    assert bench.submitted == []
    assert [s.frame.number for s in other.submitted] == [0]


def test_nothing_moves_to_a_loop_that_may_have_ended(clock: FakeClock) -> None:
    bench = Bench(clock)
    other = FakePool(10)
    bench.add()
    bench.put()
    bench.dispatcher.close()
    bench.dispatcher.run(other, 1)
    bench.dispatcher.move(1)
    bench.run()
    assert [s.frame.number for s in bench.pool.submitted] == [0]


# ---- Frames that somebody waits for ------------------------------------------------------------


def hurried(number: int) -> Frame:
    return make_frame(number, stream=f"#{number}")


def test_a_frame_that_somebody_waits_for_goes_ahead(bench: Bench) -> None:
    bench.add()
    bench.put(count=3)
    assert bench.dispatcher.put_ahead(hurried(1), pytest.fail)
    assert bench.dispatcher.waiting_ahead == 1
    with bench.running():
        bench.wait_for(4)
    assert bench.submitted[0] == ("#1", 1, AHEAD)
    assert [sequence for name, _, sequence in bench.submitted if name == "gate"] == [0, 1, 2]


def test_streams_have_a_third_of_the_turns_however_many_go_ahead(bench: Bench) -> None:
    bench.add()
    bench.put(count=4)
    for number in range(MOST_WAITING):
        assert bench.dispatcher.put_ahead(hurried(number), pytest.fail)
    assert not bench.dispatcher.put_ahead(hurried(99), pytest.fail)
    with bench.running():
        bench.wait_for(4 + MOST_WAITING)
    names = [name for name, _, _ in bench.submitted]
    assert [name == "gate" for name in names[:9]] == [False, False, True] * 3


def test_without_streams_it_goes_all_the_same(bench: Bench) -> None:
    with bench.running():
        for number in range(20):
            assert bench.dispatcher.put_ahead(hurried(number), pytest.fail)
            bench.wait_for(number + 1)


def test_it_goes_on_the_route_in_use(bench: Bench) -> None:
    bench.add()
    bench.dispatcher.move(1)
    bench.dispatcher.put_ahead(hurried(1), pytest.fail)
    quick, strong = FakePool(4), FakePool(4)
    with running(lambda: bench.dispatcher.run(quick, 0), lambda: bench.dispatcher.run(strong, 1)):
        wait_until(lambda: len(strong.submitted) == 1, "it is submitted")
        assert not quick.submitted
        bench.dispatcher.abort()
        for pool in (quick, strong):
            pool.close()


def test_it_is_counted_nowhere(bench: Bench) -> None:
    bench.add()
    bench.put()
    bench.dispatcher.put_ahead(hurried(1), pytest.fail)
    with bench.running():
        bench.wait_for(2)
    stats = bench.meters["gate"].snapshot()
    assert (stats.captured, stats.in_flight, dict(stats.dropped)) == (1, 1, {})


def test_who_withdraws_is_not_asked_about(bench: Bench) -> None:
    frame = hurried(1)
    bench.dispatcher.put_ahead(frame, pytest.fail)
    bench.dispatcher.put_ahead(hurried(2), pytest.fail)
    bench.dispatcher.withdraw(frame)
    bench.dispatcher.withdraw(frame)
    with bench.running():
        bench.wait_for(1)
    assert [name for name, _, _ in bench.submitted] == ["#2"]


@pytest.mark.parametrize("end", ["close", "abort"])
def test_a_close_tells_those_who_wait(bench: Bench, end: str) -> None:
    told: list[int] = []
    for number in range(3):
        bench.dispatcher.put_ahead(hurried(number), partial(told.append, number))
    getattr(bench.dispatcher, end)()
    assert told == [0, 1, 2]
    assert not bench.dispatcher.put_ahead(hurried(9), pytest.fail)
    bench.run()
    assert not bench.submitted


def test_a_place_of_a_former_life_touches_nothing_of_the_next(bench: Bench) -> None:
    policy = DispatchPolicy(BLOCK, window=1)
    meter = StreamMeter()
    former = bench.dispatcher.add("gate", policy, meter)
    assert former.put(make_frame(0))
    with bench.running():
        wait_until(lambda: len(bench.pool.submitted) == 1, "it is out")
        former.end()
        wait_until(lambda: bench.emitted == [StreamEnd("gate", 1)], "its end")
        new = bench.dispatcher.add("gate", policy, meter)
        assert not former.put(make_frame(1)), "a capture that was held until now"
        assert new.put(make_frame(2))
        assert new.put(make_frame(3))
        bench.wait_for(2)
        former.release()  # a sink that was held until now
        assert [number for _, number, _ in bench.submitted] == [0, 2]
        new.release()
        bench.wait_for(3)
    assert bench.submitted[1:] == [("gate", 2, 0), ("gate", 3, 1)]


def test_a_window_may_become_larger_and_smaller(bench: Bench) -> None:
    intake = bench.dispatcher.add("gate", DispatchPolicy(BLOCK, window=1), StreamMeter())
    with bench.running():
        for number in range(4):
            assert intake.put(make_frame(number))
        bench.wait_for(1)
        intake.resize(3)
        bench.wait_for(3)
        intake.resize(1)
        for _ in range(2):
            intake.release()
        assert len(bench.pool.submitted) == 3, "one is still out"
        intake.release()
        bench.wait_for(4)


def test_one_stream_alone_is_given_up(bench: Bench) -> None:
    meter = StreamMeter()
    intake = bench.dispatcher.add("gate", DispatchPolicy(BLOCK, window=0), meter)
    for number in range(3):
        meter.count_captured()
        assert intake.put(make_frame(number))
    with bench.running():
        intake.abort()
        wait_until(lambda: bench.emitted == [StreamEnd("gate", 0)], "its end")
        assert meter.snapshot().dropped == {"stop": 3}
        bench.add("dock")
        bench.put("dock")
        bench.wait_for(1)
