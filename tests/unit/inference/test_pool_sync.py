"""The pool where who asks waits: the same answers, deadlines and repairs on the asking thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import make_frame, make_picture
from tests.desks import Desk, desk
from tests.devices import FAILS, HANGS, Gate, compile_probe, compile_quick, level_frame
from tests.threads import running, wait_until
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.pool import Call, Pool, PoolSettings
from vidpipe.interfaces import Submission
from vidpipe.runtime.durations import Stage, StageMeters

FINE = 50


def stream(bench: Desk, numbers: range, level_of: Callable[[int], int]) -> Callable[[], None]:
    """Return a stream's thread: it asks about its frames, one after the other."""

    def run() -> None:
        for number in numbers:
            bench.submit(level_frame(number, level_of(number)))

    return run


def test_submit_returns_once_the_frame_is_answered_and_read(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=1, call=Call.SYNC) as (bench, _):
        for number in range(20):
            bench.submit(level_frame(number, number + 1))
            assert bench.answers[number] == number + 1
        bench.assert_complete()


def test_an_answer_is_delivered_on_the_thread_that_asked(tmp_path: Path) -> None:
    threads: list[str] = []

    def deliver(submission: Submission) -> None:
        threads.append(threading.current_thread().name)
        submission.release()

    pool = Pool(
        lambda: compile_quick(tmp_path),
        PoolSettings(requests=2, call=Call.SYNC),
        deliver,
        time.monotonic,
    )

    def ask() -> None:
        slot = pool.acquire()
        assert slot is not None
        pool.submit(slot, level_frame(0, FINE), 0)

    with running(pool.reap, ask):
        wait_until(lambda: len(threads) == 1, "it is delivered")
        pool.close()
    assert threads == ["test-1"]


def test_many_threads_share_one_pool_and_each_gets_its_own_answers(tmp_path: Path) -> None:
    streams, count = 6, 300
    with desk(lambda: compile_quick(tmp_path), requests=streams, call=Call.SYNC) as (bench, _):
        spans = [range(first * count, (first + 1) * count) for first in range(streams)]
        with running(*(stream(bench, span, lambda n: n % 251 + 1) for span in spans)):
            pass
        assert bench.answers == {number: number % 251 + 1 for number in range(streams * count)}
        bench.assert_complete()


def test_both_calls_give_the_same_answers(tmp_path: Path) -> None:
    found = []
    for call in Call:
        with desk(lambda: compile_quick(tmp_path), requests=2, call=call) as (bench, _):
            for number in range(30):
                bench.submit(level_frame(number, 3 * number + 1))
                if call is Call.ASYNC:
                    bench.read_one()
            found.append(bench.answers)
    assert found[0] == found[1]


def test_an_inference_that_fails_costs_its_frame_alone_and_no_time(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=1, call=Call.SYNC) as (bench, pool):
        for number, level in enumerate([FINE, FAILS, FAILS, FINE + 1]):
            bench.submit(level_frame(number, level))
            answer = bench.answers[number]
            assert isinstance(answer, str) if level == FAILS else answer == level
        assert pool.parked == 0
        bench.assert_complete()


def test_a_frame_that_cannot_be_filled_costs_itself_alone(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=1, call=Call.SYNC) as (bench, _):
        bench.submit(make_frame(0, picture=make_picture(rotation_deg=45)))
        bench.submit(level_frame(1, FINE))
        assert bench.answers == {0: "45", 1: FINE}
        bench.assert_complete()


def test_a_request_that_hangs_is_given_up_parked_and_replaced(gate: Gate) -> None:
    def compile_model() -> CompiledDetector:
        return compile_probe(gate, is_wide=True)

    with desk(compile_model, requests=2, timeout_s=0.3, call=Call.SYNC) as (bench, pool):
        others = stream(bench, range(1, 60), lambda _: FINE)
        with running(lambda: bench.submit(level_frame(0, HANGS)), others):
            pass
        assert bench.answers.pop(0) == "no answer within 0.3 s (timeout_s of model probe)"
        assert set(bench.answers.values()) == {FINE}
        assert pool.parked == 1
        assert pool.is_ready
        bench.submit(level_frame(60, FINE))
        bench.submit(level_frame(61, FINE))
        gate.set()
        wait_until(lambda: pool.parked == 0, "the parked one has come to rest")
        bench.assert_complete()


def test_a_pool_whose_device_is_held_is_rebuilt(gate: Gate) -> None:
    compiled: list[CompiledDetector] = []

    def compile_model() -> CompiledDetector:
        compiled.append(compile_probe(gate))
        return compiled[-1]

    with desk(compile_model, requests=2, timeout_s=0.3, call=Call.SYNC) as (bench, pool):
        hung = [stream(bench, range(n, n + 1), lambda _: HANGS) for n in range(2)]
        with running(*hung):
            pass
        wait_until(lambda: len(compiled) == 2 and pool.is_ready, "the pool is rebuilt")
        bench.submit(level_frame(2, FINE))
        assert bench.answers[2] == FINE


def test_close_wakes_who_waits_for_an_answer_and_delivers_nothing(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=2, call=Call.SYNC) as (bench, pool):
        waiters = [stream(bench, range(n, n + 1), lambda _: HANGS) for n in range(2)]
        with running(*waiters):
            wait_until(lambda: gate.comers == 2, "both wait")
            closed_at = time.monotonic()
            pool.close()
        assert time.monotonic() - closed_at < 5.0  # far less than the deadline of a request
        assert bench.answers == {}
        assert pool.is_held
        gate.set()
        wait_until(lambda: not pool.is_held, "they have come to rest")


def test_what_each_stage_takes_is_counted(tmp_path: Path) -> None:
    stages = StageMeters()
    compile_model = lambda: compile_quick(tmp_path)  # noqa: E731 - as the others
    with desk(compile_model, requests=1, call=Call.SYNC, stages=stages) as (bench, _):
        for number in range(5):
            bench.submit(level_frame(number, FINE))
    counts = {stage: durations.count for stage, durations in stages.snapshot().items()}
    assert {stage for stage, count in counts.items() if count} == {
        Stage.FILL,
        Stage.INFER,
        Stage.BOXES,
    }
    assert set(counts.values()) == {0, 5}


@pytest.mark.parametrize("seed", range(2))
def test_one_delivery_each_whatever_fails_and_hangs(gate: Gate, seed: int) -> None:
    streams, each = 4, 20
    levels = [FINE + number % 20 for number in range(streams * each)]
    levels[5 + seed] = levels[30] = levels[31] = FAILS
    levels[10 + seed] = levels[50] = HANGS

    def compile_model() -> CompiledDetector:
        return compile_probe(gate, is_wide=True)

    with desk(compile_model, requests=streams, timeout_s=0.6, call=Call.SYNC) as (bench, pool):
        spans = [range(first * each, (first + 1) * each) for first in range(streams)]
        with running(*(stream(bench, span, levels.__getitem__) for span in spans)):
            # Both threads of the device may be held now; what they hold is given up, and then
            # goes on, late.
            wait_until(lambda: pool.parked >= 2, "two are given up")
            gate.set()
        wait_until(lambda: pool.parked == 0, "nothing is held")
        bench.assert_complete()
    assert len(bench.answers) == streams * each
    wrong = {n: answer for n, answer in bench.answers.items() if answer != levels[n]}
    assert {5 + seed, 30, 31} <= set(wrong)
    # What waits behind a hung one may be given up, too.
    late = {answer for n, answer in wrong.items() if levels[n] != FAILS}
    assert late == {"no answer within 0.6 s (timeout_s of model probe)"}
