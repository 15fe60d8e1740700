from __future__ import annotations

import pytest

from tests.builders import make_detections, make_frame
from tests.fakes import FakeClock, FakePool
from tests.threads import running
from vidpipe.analytics.chain import StreamChain, StreamRole
from vidpipe.analytics.workers import Workers
from vidpipe.errors import InferenceError
from vidpipe.outputs.fanout import Fanout
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import (
    NO_DETECTIONS,
    Detections,
    Frame,
    FrameResult,
    PassedFrame,
    StreamEnd,
    Verdict,
)


class Outlet:
    """Keeps what it is given."""

    has_room = True

    def __init__(self) -> None:
        self.results: list[FrameResult] = []
        self.is_closed = False

    def write(self, result: FrameResult) -> None:
        self.results.append(result)

    def close(self) -> None:
        self.is_closed = True


class Bench:
    def __init__(self, clock: FakeClock, capacity: int = 10) -> None:
        self.outlet = Outlet()
        self.meter = StreamMeter()
        self.ended: list[str] = []
        role = StreamRole("gate", self.outlet, self.meter)
        self.chain = StreamChain(role, self.ended.append, clock)
        self.workers = Workers(capacity, {"gate": self.chain}.__getitem__)

    def finish(self) -> list[FrameResult]:
        self.workers.close()
        self.workers.run()
        return self.outlet.results


def submit(bench: Bench, answer: Detections | Exception, number: int = 0) -> FakePool:
    def device(_: Frame) -> Detections:
        if isinstance(answer, InferenceError):
            raise answer
        return NO_DETECTIONS

    pool = FakePool(1, bench.workers.put, device)
    slot = pool.acquire()
    assert slot is not None
    pool.submit(slot, make_frame(number), number)
    pool.submitted[-1].answer = answer
    return pool


def test_an_answer_becomes_a_result_and_its_request_is_free_again(clock: FakeClock) -> None:
    bench = Bench(clock)
    found = make_detections((0, 0, 1, 1))
    pool = submit(bench, found)
    (result,) = bench.finish()
    assert result == FrameResult(result.frame, found)
    assert pool._credits._value == 1


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InferenceError("no answer within 10 s"), "no answer within 10 s"),
        (InferenceError("at rtsp://bob:pw@cam"), "at rtsp://***@cam"),
        (InferenceError(), "InferenceError()"),
        (ValueError("shapes differ"), "ValueError: shapes differ"),
    ],
)
def test_a_failure_is_that_frames_alone(clock: FakeClock, error: Exception, text: str) -> None:
    bench = Bench(clock)
    pool = submit(bench, error)
    submit(bench, NO_DETECTIONS, 1)
    failed, answered = bench.finish()
    assert (failed.verdict, failed.error) == (Verdict.FAILED, text)
    assert failed.detections is NO_DETECTIONS
    assert answered.verdict is Verdict.DETECTED
    assert pool._credits._value == 1


def test_only_what_nobody_foresaw_is_logged_with_its_traceback(
    clock: FakeClock, log_lines: list[str]
) -> None:
    bench = Bench(clock)
    submit(bench, InferenceError("foreseen"))
    submit(bench, ValueError("unforeseen"), 1)
    bench.finish()
    text = "\n".join(log_lines)
    assert "unforeseen" in text
    assert text.count("Traceback") == 1
    assert "InferenceError" not in text


def test_passed_frames_and_the_end_keep_their_places(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.workers.put(StreamEnd("gate", 2))
    bench.workers.put(PassedFrame(make_frame(1), 1))
    submit(bench, NO_DETECTIONS, 0)
    results = bench.finish()
    assert [result.verdict for result in results] == [Verdict.DETECTED, Verdict.PASSED]
    assert bench.outlet.is_closed
    assert bench.ended == ["gate"]


def test_too_small_a_capacity_is_an_error_and_no_wait(clock: FakeClock) -> None:
    bench = Bench(clock, capacity=1)
    bench.workers.put(PassedFrame(make_frame(0), 0))
    with pytest.raises(RuntimeError, match="channel of 1 is full"):
        bench.workers.put(PassedFrame(make_frame(1), 1))
    bench.workers.reserve(1)
    bench.workers.put(PassedFrame(make_frame(1), 1))
    assert len(bench.finish()) == 2


def test_what_comes_after_the_close_is_discarded(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.workers.close()
    bench.workers.put(PassedFrame(make_frame(0), 0))
    assert bench.finish() == []


def test_a_resumption_is_left_only_for_a_chain_that_waits(clock: FakeClock) -> None:
    bench = Bench(clock, capacity=1)
    for _ in range(5):
        bench.workers.resume(bench.chain)  # would not fit twice
    bench.outlet.has_room = False
    bench.chain.offer(0, FrameResult(make_frame(0), NO_DETECTIONS))
    assert bench.outlet.results == []
    bench.outlet.has_room = True
    for _ in range(5):
        bench.workers.resume(bench.chain)
    assert len(bench.finish()) == 1


def test_threads_end_when_it_is_closed(clock: FakeClock) -> None:
    bench = Bench(clock)
    with running(*[bench.workers.run] * 3):
        bench.workers.put(PassedFrame(make_frame(0), 0))
        bench.workers.close()
    assert len(bench.outlet.results) == 1


def test_the_fan_out_is_an_outlet() -> None:
    # The chain knows it by its Protocol alone; this is where both meet.
    class Deaf:
        def settle(self, stream: str) -> None: ...
        def make_room(self, stream: str) -> None: ...
        def fail(self, stream: str, sink: str, error: str) -> None: ...
        def finish(self, stream: str, sink: str, paths: object) -> None: ...

    meter = StreamMeter()
    role = StreamRole("gate", Fanout("gate", [], meter, Deaf()), meter)
    assert role.outlet.has_room


def submit_hurried(bench: Bench, name: str, answer: Detections) -> FakePool:
    pool = FakePool(1, bench.workers.put)
    slot = pool.acquire()
    assert slot is not None
    pool.submit(slot, make_frame(stream=name), -1)
    pool.submitted[-1].answer = answer
    return pool


def test_an_answer_of_no_stream_goes_to_who_waits_for_it(clock: FakeClock) -> None:
    bench = Bench(clock)
    found = make_detections((0, 0, 1, 1))
    got: list[FrameResult] = []
    bench.workers.expect("#1", got.append)
    pool = submit_hurried(bench, "#1", found)
    assert bench.finish() == []
    (result,) = got
    assert (result.frame.stream, result.detections) == ("#1", found)
    assert pool._credits._value == 1
    assert bench.meter.snapshot().processed == 0


def test_an_answer_that_nobody_waits_for_any_more_frees_its_request(clock: FakeClock) -> None:
    bench = Bench(clock)
    bench.workers.expect("#1", lambda _: pytest.fail("it was forgotten"))
    bench.workers.forget("#1")
    bench.workers.forget("#1")
    pool = submit_hurried(bench, "#1", NO_DETECTIONS)
    assert bench.finish() == []
    assert pool._credits._value == 1
