from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import make_frame, make_picture
from tests.desks import desk
from tests.devices import FAILS, HANGS, Gate, compile_probe, compile_quick, level_frame, tell_level
from tests.threads import running, wait_until
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.pool import Pool, PoolSettings
from vidpipe.inference.request import BoundRequest
from vidpipe.interfaces import Submission
from vidpipe.runtime.channel import Channel
from vidpipe.types import Pixels

FINE = 50


def test_every_frame_gets_its_own_answer(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=5) as (bench, pool):
        assert pool.size == 5
        with running(lambda: bench.read(600)):
            for number in range(600):
                bench.submit(level_frame(number, number % 255 + 1))
        assert bench.answers == {number: number % 255 + 1 for number in range(600)}
        bench.assert_complete()


def test_twenty_thousand_quick_frames_through_three_requests(tmp_path: Path) -> None:
    count = 20_000
    frames = [level_frame(0, level).picture for level in (3, 77, 211)]
    with desk(lambda: compile_quick(tmp_path), requests=3) as (bench, _):
        with running(lambda: bench.read(count)):
            for number in range(count):
                bench.submit(make_frame(number, picture=frames[number % 3]))
        assert bench.answers == {number: (3, 77, 211)[number % 3] for number in range(count)}
        bench.assert_complete()


def test_by_default_there_are_twice_what_the_device_runs_at_once_and_one(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path)) as (_, pool):
        assert pool.size == 2 * pool.detector.optimal_requests + 1
        assert pool.is_ready


def test_an_inference_that_fails_costs_its_frame_alone(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=3) as (bench, pool):
        levels = [FINE, FAILS, FINE + 1, FAILS, FAILS, FAILS, FAILS, FINE + 2]
        with running(lambda: bench.read(len(levels))):
            for number, level in enumerate(levels):
                bench.submit(level_frame(number, level))
        for number, level in enumerate(levels):
            answer = bench.answers[number]
            if level == FAILS:
                assert isinstance(answer, str)
                assert "unlucky" in answer or "failed" in answer
            else:
                assert answer == level
        bench.assert_complete()
        assert pool.parked == 0


@pytest.mark.parametrize("number", range(3))
def test_a_request_that_failed_is_used_again(gate: Gate, number: int) -> None:
    del number
    with desk(lambda: compile_probe(gate), requests=1) as (bench, _):
        for index in range(6):
            bench.submit(level_frame(index, FAILS if index % 2 else FINE))
            answer = bench.read_one()
            assert isinstance(answer, str) if index % 2 else answer == FINE
        bench.assert_complete()


def test_a_frame_that_cannot_be_filled_costs_itself_alone(
    tmp_path: Path, log_lines: list[str]
) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=1) as (bench, _):
        bench.submit(make_frame(0, picture=make_picture(rotation_deg=45)))
        assert bench.read_one() == "45"
        bench.submit(level_frame(1, FINE))
        assert bench.read_one() == FINE
        assert bench.answers == {0: "45", 1: FINE}
        assert any("Traceback" in line for line in log_lines)
        bench.assert_complete()


def test_a_request_that_hangs_is_answered_by_the_reaper_and_replaced(
    gate: Gate,
) -> None:
    with desk(lambda: compile_probe(gate, is_wide=True), requests=5, timeout_s=0.3) as (
        bench,
        pool,
    ):
        started_at = time.monotonic()
        bench.submit(level_frame(0, HANGS))
        answer = bench.read_one()
        assert answer == "no answer within 0.3 s (timeout_s of model probe)"
        assert 0.3 <= time.monotonic() - started_at < 2.0
        wait_until(lambda: len(pool._roster._free) == 5, "the request is replaced")
        assert pool.parked == 1
        assert pool.is_ready
        with running(lambda: bench.read(50)):  # and the others work meanwhile
            for number in range(1, 51):
                bench.submit(level_frame(number, FINE))
        gate.set()
        wait_until(lambda: pool.parked == 0, "the parked one has come to rest")
        bench.assert_complete()
        assert not pool.is_held
    assert len(bench.answers) == 51


def test_a_late_answer_is_discarded(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate, is_wide=True), requests=2, timeout_s=0.2) as (
        bench,
        pool,
    ):
        bench.submit(level_frame(0, HANGS))
        assert isinstance(bench.read_one(), str)
        gate.set()
        wait_until(lambda: pool.parked == 0, "it is answered after all")
        bench.submit(level_frame(1, FINE))
        assert bench.read_one() == FINE
        bench.assert_complete()


def test_a_pool_whose_device_is_held_is_rebuilt_and_ready_again(gate: Gate) -> None:
    compiled: list[CompiledDetector] = []

    def compile_model() -> CompiledDetector:
        compiled.append(compile_probe(gate))
        return compiled[-1]

    with desk(compile_model, requests=3, timeout_s=0.3) as (bench, pool):
        held = pool.acquire()  # as the dispatcher does, which waits for a frame
        assert held is not None
        for number in range(2):
            bench.submit(level_frame(number, HANGS))
        assert all(isinstance(answer, str) for answer in bench.read(2))
        wait_until(lambda: len(compiled) == 2 and pool.is_ready, "the pool is rebuilt")
        assert pool.detector is compiled[1]
        assert pool.is_held
        pool.submit(held, level_frame(2, FINE), 2)  # one of the old model's
        assert bench.read_one() == FINE
        with running(lambda: bench.read(20)):
            for number in range(3, 23):
                bench.submit(level_frame(number, FINE))
        bench.assert_complete()
        gate.set()
        wait_until(lambda: not pool.is_held, "the old requests have come to rest")
        wait_until(lambda: not pool._roster._left_behind, "and are let go")
    assert len(compiled) == 2


def test_a_model_that_cannot_be_compiled_anew_leaves_the_pool_as_it_is(
    gate: Gate, log_lines: list[str]
) -> None:
    calls: list[float] = []

    def compile_model() -> CompiledDetector:
        calls.append(time.monotonic())
        if len(calls) > 1:
            raise ModelError("the file is gone")
        return compile_probe(gate)

    with desk(compile_model, requests=2, timeout_s=0.3) as (bench, pool):
        # Every request hangs: as many as there are, and no more.
        for number in range(pool.size + 1):
            bench.submit(level_frame(number, HANGS))
            bench.read_one()
        wait_until(lambda: pool.parked == pool.size + 1, "all are parked")
        number += 1
        assert not pool.is_ready
        assert not pool._roster._free
        assert len(calls) == 2
        assert any("the file is gone" in line for line in log_lines)
        gate.set()
        wait_until(lambda: pool.parked == 0, "the parked have come to rest")
        wait_until(
            lambda: len(pool._roster._free) == pool.size, "there are as many requests as before"
        )
        bench.submit(level_frame(number, FINE))
        assert bench.read_one() == FINE
        assert pool.is_ready
        bench.assert_complete()


def test_the_pause_before_a_rebuild_grows_with_the_models_that_hang(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=3, timeout_s=0.2) as (bench, pool):
        before_s = pool._roster._rebuild_pause_s()
        bench.submit(level_frame(0, HANGS))
        bench.read_one()
        wait_until(lambda: pool.is_ready, "the pool is rebuilt")
        assert pool._roster._rebuild_pause_s() == 2 * before_s
        gate.set()
        wait_until(
            lambda: pool._roster._rebuild_pause_s() == before_s, "the old model has come to rest"
        )


def test_a_request_whose_callback_has_not_returned_yet_can_be_used_again(tmp_path: Path) -> None:
    # Its answer is read and its request given back while the callback is still on its way out.
    delivered: Channel[Submission] = Channel(10)
    deliverers: list[str] = []

    def deliver(submission: Submission) -> None:
        deliverers.append(threading.current_thread().name)
        delivered.put(submission)
        threading.Event().wait(0.05)

    settings = PoolSettings(requests=1)
    pool = Pool(lambda: compile_quick(tmp_path), settings, deliver, time.monotonic)
    with running(pool.reap):
        try:
            for number in range(10):
                slot = pool.acquire()
                assert slot is not None
                pool.submit(slot, level_frame(number, number + 1), number)
                submission = delivered.get(timeout_s=10)
                assert tell_level(submission.detections()) == number + 1
                submission.release()
        finally:
            pool.close()
    assert "test-0" not in deliverers, "the reaper had to find an answer that nobody was told of"


class SlowStart(BoundRequest):
    """A request whose start takes a while, as that of a thread that has to wait for its turn."""

    __slots__ = ()
    pause_s = 0.0

    def start(self) -> None:
        threading.Event().wait(SlowStart.pause_s)
        super().start()


def test_a_slow_start_is_not_taken_for_an_answer(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Detector(CompiledDetector):
        def create_request(self, pixels: Pixels | None = None) -> BoundRequest:
            return SlowStart(self._compiled, pixels)

    def compile_model() -> CompiledDetector:
        plain = compile_probe(gate)
        return Detector(plain._detector, plain._compiled)

    with desk(compile_model, requests=1) as (bench, _):
        bench.submit(level_frame(0, FINE))
        assert bench.read_one() == FINE
        monkeypatch.setattr(SlowStart, "pause_s", 0.4)
        bench.submit(level_frame(1, FINE + 1))
        assert bench.read_one() == FINE + 1
        bench.assert_complete()


def test_close_returns_though_requests_are_running(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=3) as (bench, pool):
        for number in range(3):
            bench.submit(level_frame(number, HANGS))
        assert pool.report("probe").requests == {"free": 0, "running": 3, "parked": 0}
        wait_until(lambda: gate.comers == 2, "both threads of the device are held")
        started_at = time.monotonic()
        pool.close()
        assert time.monotonic() - started_at < 1.0
        assert pool.acquire() is None
        assert pool.is_held
        gate.set()
        wait_until(lambda: not pool.is_held, "they have come to rest")
        assert len(bench.delivered) == 0


def test_close_wakes_a_dispatcher_that_waits_for_a_request(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate), requests=1) as (bench, pool):
        bench.submit(level_frame(0, HANGS))
        got: list[object] = []
        with running(lambda: got.append(pool.acquire())):
            wait_until(lambda: len(pool._roster._has_free._waiters) == 1, "it waits")  # type: ignore[attr-defined]  # to be sure that it is blocked
            pool.close()
        assert got == [None]
        gate.set()


def test_an_unused_request_can_be_given_back(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=1) as (bench, pool):
        for _ in range(3):
            slot = pool.acquire()
            assert slot is not None
            pool.give_back(slot)
        bench.assert_complete()


def test_a_submission_is_released_once_however_often(tmp_path: Path) -> None:
    with desk(lambda: compile_quick(tmp_path), requests=2) as (bench, _):
        bench.submit(level_frame(0, FINE))
        submission = bench.delivered.get(timeout_s=5)
        submission.release()
        submission.release()
        with pytest.raises(InferenceError, match="given back"):
            submission.detections()
        bench.assert_complete()


def test_an_answer_that_cannot_be_handed_over_is_logged_and_nothing_dies(
    tmp_path: Path, log_lines: list[str]
) -> None:
    told = threading.Event()

    def deliver(_: Submission) -> None:
        told.set()
        raise RuntimeError("the channel is full")

    settings = PoolSettings(requests=2)
    pool = Pool(lambda: compile_quick(tmp_path), settings, deliver, time.monotonic)
    slot = pool.acquire()
    assert slot is not None
    pool.submit(slot, level_frame(0, FINE), 0)
    assert told.wait(5)
    pool.close()
    wait_until(lambda: any("the channel is full" in line for line in log_lines), "it is logged")


def work_and_close(gate: Gate) -> list[Callable[[], object]]:
    """Let a pool meet everything; return weak references to what must not outlive it."""
    with desk(lambda: compile_probe(gate, is_wide=True), requests=3, timeout_s=0.2) as (
        bench,
        pool,
    ):
        for number, level in enumerate([FINE, FAILS, HANGS]):
            bench.submit(level_frame(number, level))
        bench.read(3)
        gate.set()
        bench.assert_complete()
        wait_until(lambda: pool.parked == 0, "nothing is held")
        return [weakref.ref(pool), weakref.ref(pool.detector)]


def test_a_closed_pool_leaves_nothing_behind(gate: Gate) -> None:
    known = work_and_close(gate)
    gc.collect()
    assert [ref() for ref in known] == [None, None]


@pytest.mark.parametrize("seed", range(3))
def test_one_delivery_each_whatever_fails_and_hangs(gate: Gate, seed: int) -> None:
    count = 60
    with desk(lambda: compile_probe(gate, is_wide=True), requests=4, timeout_s=0.4) as (
        bench,
        pool,
    ):
        levels = [FINE + (number % 20) for number in range(count)]
        levels[5 + seed] = levels[30] = FAILS
        levels[10 + seed] = HANGS
        with running(lambda: bench.read(count)):
            for number, level in enumerate(levels):
                bench.submit(level_frame(number, level))
        gate.set()
        wait_until(lambda: pool.parked == 0, "nothing is held")
        bench.assert_complete()
    wrong = {n for n, answer in bench.answers.items() if answer != levels[n]}
    assert wrong == {5 + seed, 30, 10 + seed}


def test_a_rest_waits_no_longer_than_it_may_for_a_device_that_hangs(gate: Gate) -> None:
    with desk(lambda: compile_probe(gate, is_wide=True), requests=2, timeout_s=0.2) as (
        bench,
        pool,
    ):
        bench.submit(level_frame(0, HANGS))
        assert isinstance(bench.read_one(), str)
        pool.close()
        pool.rest(0.05)
        assert pool.is_held
        free = [slot for slot in pool._roster._made if slot.is_idle()]
        assert not free, "only what the device holds is left"
        gate.set()
        pool.rest(10)
        assert pool._roster._made == []
