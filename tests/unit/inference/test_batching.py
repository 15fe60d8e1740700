from __future__ import annotations

import random
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.builders import make_frame, make_picture
from tests.desks import Desk, batch_desk
from tests.devices import FAILS, HANGS, Gate, compile_probe, compile_quick, level_frame
from tests.fakes import FakeClock
from tests.graphs import plane_means, saved
from tests.threads import running, wait_until
from vidpipe.errors import ModelError
from vidpipe.inference.batching import BatchPool, BatchSettings, sizes_up_to
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.runtime.durations import Stage, StageMeters

FINE = 50
LONG_S = 60.0
"""Longer than any test: full batches are started, and flushed ones."""


@pytest.fixture(autouse=True)
def probes_run_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one request that hangs be no reason yet to compile a probe anew."""
    monkeypatch.setattr("tests.devices.CompiledDetector.optimal_requests", property(lambda _: 4))


def quick(folder: Path, batch: int) -> CompiledDetector:
    """Compile the quick model for a size of batch, each in a file of its own."""
    own = folder / str(batch)
    own.mkdir(exist_ok=True)
    return compile_quick(own, batch=batch)


def probe(gate: Gate, batch: int) -> CompiledDetector:
    """Compile the probe for a size of batch."""
    return compile_probe(gate, batch=batch)


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (8, [1, 2, 4, 8]),
        (12, [1, 2, 4, 8, 12]),
        (256, [1, 2, 4, 8, 16, 32, 64, 128, 256]),
    ],
)
def test_the_compiled_sizes_are_powers_of_two_up_to_the_batch(size: int, sizes: list[int]) -> None:
    assert sizes_up_to(size) == sizes


def test_full_batches_give_every_frame_its_own_answer(tmp_path: Path) -> None:
    settings = BatchSettings(size=4, gather_s=LONG_S, requests=3)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        assert pool.capacity == 12
        with running(lambda: bench.read(400)):
            for number in range(400):
                bench.submit(level_frame(number, number % 251 + 1))
        assert bench.answers == {number: number % 251 + 1 for number in range(400)}
        bench.assert_complete()
        report = pool.report("quick")
        assert (report.batches, report.batched_frames, report.batch_places) == (100, 400, 400)


def test_a_model_that_lists_all_pictures_in_one_output_works_as_well(gate: Gate) -> None:
    settings = BatchSettings(size=3, gather_s=LONG_S, requests=2)
    with batch_desk(partial(probe, gate), settings) as (bench, _):
        with running(lambda: bench.read(60)):
            for number in range(60):
                bench.submit(level_frame(number, 3 + number))
        assert bench.answers == {number: 3 + number for number in range(60)}
        bench.assert_complete()


@pytest.mark.parametrize(("count", "places"), [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8)])
def test_a_flushed_batch_runs_in_the_smallest_size_that_holds_it(
    tmp_path: Path, count: int, places: int
) -> None:
    settings = BatchSettings(size=8, gather_s=LONG_S, requests=1)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        for number in range(count):
            bench.submit(level_frame(number, 10 * number + 1))
        pool.flush()
        bench.read(count)
        assert bench.answers == {number: 10 * number + 1 for number in range(count)}
        report = pool.report("quick")
        assert (report.batches, report.batched_frames) == (1, count)
        assert report.batch_places == places
        bench.assert_complete()


def test_batches_of_changing_sizes_do_not_mix_up_their_answers(tmp_path: Path) -> None:
    settings = BatchSettings(size=4, gather_s=LONG_S, requests=2)
    chance = random.Random(5)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        with running(lambda: bench.read(500)):
            for number in range(500):
                bench.submit(level_frame(number, chance.randrange(1, 255)))
                if chance.random() < 0.3:
                    pool.flush()
            pool.flush()
        chance = random.Random(5)
        for number in range(500):
            assert bench.answers[number] == chance.randrange(1, 255)
            chance.random()
        bench.assert_complete()


def test_the_first_frame_says_when_the_batch_is_due(tmp_path: Path, clock: FakeClock) -> None:
    settings = BatchSettings(size=4, gather_s=0.02, requests=1)
    with batch_desk(partial(quick, tmp_path), settings, clock=clock) as (bench, pool):
        assert pool.flush_in_s() is None
        bench.submit(level_frame(0, 1))
        assert pool.flush_in_s() == pytest.approx(0.02)
        clock.advance(0.015)
        bench.submit(level_frame(1, 2))
        assert pool.flush_in_s() == pytest.approx(0.005)
        clock.advance(1)
        assert pool.flush_in_s() == 0.0
        pool.flush()
        assert pool.flush_in_s() is None
        bench.read(2)
        bench.submit(level_frame(2, 3))
        assert pool.flush_in_s() == pytest.approx(0.02)


def test_a_flush_of_nothing_does_nothing(tmp_path: Path) -> None:
    settings = BatchSettings(size=2, gather_s=LONG_S, requests=1)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        pool.flush()
        slot = pool.acquire()
        assert slot is not None
        pool.flush()
        pool.give_back(slot)
        assert pool.report("quick").batches == 0
        bench.submit(level_frame(0, FINE))
        pool.flush()
        assert bench.read_one() == FINE
        bench.assert_complete()


def test_a_request_is_free_again_once_all_its_frames_are_released(tmp_path: Path) -> None:
    settings = BatchSettings(size=2, gather_s=LONG_S, requests=1)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        bench.submit(level_frame(0, 1))
        bench.submit(level_frame(1, 2))
        first, second = (bench.delivered.get(timeout_s=20) for _ in range(2))
        bench.take(first)
        first.release()
        assert pool.report("quick").requests["free"] == 0
        bench.take(second)
        wait_until(lambda: pool.report("quick").requests["free"] == 1, "it is free")
        assert bench.answers == {0: 1, 1: 2}


def test_only_the_bad_frame_of_a_batch_gets_the_error(gate: Gate) -> None:
    settings = BatchSettings(size=4, gather_s=LONG_S, requests=2)
    levels = [FINE, FAILS, FINE + 2, FINE + 3, FINE + 4, FINE + 5, FAILS, FAILS]
    with batch_desk(partial(probe, gate), settings) as (bench, pool):
        for number, level in enumerate(levels):
            bench.submit(level_frame(number, level))
        bench.read(8)
        for number, level in enumerate(levels):
            answer = bench.answers[number]
            assert isinstance(answer, str) if level == FAILS else answer == level
        assert "unlucky" in str(bench.answers[1]) or "failed" in str(bench.answers[1])
        bench.assert_complete()
        assert pool.report("probe").batches == 2
        for number in range(8, 12):
            bench.submit(level_frame(number, FINE))
        assert bench.read(4) == [FINE] * 4


def test_a_single_request_is_enough_to_ask_about_each_frame_again(gate: Gate) -> None:
    settings = BatchSettings(size=2, gather_s=LONG_S, requests=1)
    with batch_desk(partial(probe, gate), settings) as (bench, _):
        with running(lambda: bench.read(60)):
            for number in range(60):
                bench.submit(level_frame(number, FAILS if number in (7, 20, 21) else FINE))
        wrong = [number for number, answer in bench.answers.items() if answer != FINE]
        assert sorted(wrong) == [7, 20, 21]
        bench.assert_complete()


def test_a_batch_that_hangs_is_lost_as_a_whole_and_replaced(gate: Gate) -> None:
    settings = BatchSettings(size=3, gather_s=LONG_S, requests=2, timeout_s=0.5)
    with batch_desk(partial(probe, gate), settings) as (bench, pool):
        for number, level in enumerate([FINE, HANGS, FINE]):
            bench.submit(level_frame(number, level))
        lost = "no answer within 0.5 s (timeout_s of model probe)"
        assert bench.read(3) == [lost] * 3
        assert pool.parked == 1
        assert pool.is_ready
        for number in range(3, 9):
            bench.submit(level_frame(number, FINE))
        assert bench.read(6) == [FINE] * 6
        gate.set()
        wait_until(lambda: pool.parked == 0, "the parked one has come to rest")
        bench.assert_complete()
        assert not pool.is_held


def test_frames_that_were_gathered_while_the_model_was_replaced_are_answered(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.devices.CompiledDetector.optimal_requests", property(lambda _: 2))
    compiled: list[int] = []

    def compile_model(batch: int) -> CompiledDetector:
        compiled.append(batch)
        return compile_probe(gate, batch=batch)

    settings = BatchSettings(size=2, gather_s=LONG_S, requests=3, timeout_s=0.3)
    with batch_desk(compile_model, settings) as (bench, pool):
        old = pool.detector
        for number, level in enumerate([HANGS, HANGS, HANGS, HANGS, FINE]):
            bench.submit(level_frame(number, level))
        bench.read(4)
        wait_until(lambda: pool.detector is not old, "the model is compiled anew")
        assert compiled == [2, 1] * 2
        bench.submit(level_frame(5, FINE + 1))  # with the fifth, in a request of the old model
        bench.read(2)
        assert (bench.answers[4], bench.answers[5]) == (FINE, FINE + 1)
        bench.assert_complete()


def test_frames_to_be_asked_about_again_wait_for_what_the_device_gives_back(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.devices.CompiledDetector.optimal_requests", property(lambda _: 2))
    compiled: list[int] = []

    def compile_model(batch: int) -> CompiledDetector:
        compiled.append(batch)
        if len(compiled) > 3:
            raise ModelError("the file is gone")
        return compile_probe(gate, batch=batch)

    settings = BatchSettings(size=4, gather_s=LONG_S, requests=1, timeout_s=0.3)
    with batch_desk(compile_model, settings) as (bench, pool):
        for number, level in enumerate([FAILS, HANGS, HANGS, FINE]):
            bench.submit(level_frame(number, level))
        bench.read(3)
        wait_until(lambda: pool.parked == 2, "both are held")
        gate.set()
        assert bench.read_one() == FINE
        bench.assert_complete()


def test_a_model_that_mixes_pictures_up_makes_no_pool(tmp_path: Path, clock: FakeClock) -> None:
    path = saved(plane_means(), tmp_path)
    compile_model = partial(compile_detector, path, DetectorSettings(name="means"))
    with pytest.raises(ModelError, match="can't run in batches"):
        BatchPool(compile_model, BatchSettings(size=2), lambda _: None, clock)


def test_a_frame_that_cannot_be_filled_costs_itself_and_no_row(tmp_path: Path) -> None:
    settings = BatchSettings(size=2, gather_s=LONG_S, requests=1)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, pool):
        bench.submit(make_frame(0, picture=make_picture(rotation_deg=45)))
        assert bench.read_one() == "45"
        assert pool.flush_in_s() is None
        bench.submit(level_frame(1, 1))
        bench.submit(make_frame(2, picture=make_picture(rotation_deg=45)))
        bench.submit(level_frame(3, 3))
        bench.read(3)
        assert bench.answers == {0: "45", 1: 1, 2: "45", 3: 3}
        bench.assert_complete()


def test_close_with_a_partial_batch_delivers_nothing_and_leaves_nothing(
    gate: Gate,
) -> None:
    settings = BatchSettings(size=4, gather_s=LONG_S, requests=1)
    with batch_desk(partial(probe, gate), settings) as (bench, pool):
        bench.submit(level_frame(0, FINE))
        bench.submit(level_frame(1, FINE))
        slot = pool.acquire()
        pool.close()
        assert pool.acquire() is None
        assert pool.flush_in_s() is None
        pool.flush()
        assert slot is not None
        pool.submit(slot, level_frame(2, FINE), 2)
        assert not pool.is_held
        assert len(bench.delivered) == 0


def test_close_wakes_who_waits_for_room(gate: Gate) -> None:
    settings = BatchSettings(size=2, gather_s=LONG_S, requests=1)
    with batch_desk(partial(probe, gate), settings) as (bench, pool):
        for number in range(2):
            bench.submit(level_frame(number, HANGS))
        got: list[object] = []
        with running(lambda: got.append(pool.acquire())):
            waiters = pool._pool._roster._has_free._waiters  # type: ignore[attr-defined]  # to be sure that it is blocked
            wait_until(lambda: len(waiters) == 1, "it waits")
            pool.close()
        assert got == [None]
        gate.set()


def test_a_batch_of_one_is_allowed(tmp_path: Path) -> None:
    settings = BatchSettings(size=1, gather_s=LONG_S, requests=2)
    with batch_desk(partial(quick, tmp_path), settings) as (bench, _):
        for number in range(4):
            bench.submit(level_frame(number, number + 1))
            assert bench.read_one() == number + 1
        bench.assert_complete()


def test_what_each_stage_takes_is_counted_once_a_frame(tmp_path: Path) -> None:
    stages = StageMeters()
    settings = BatchSettings(size=4, gather_s=LONG_S, requests=1)
    with batch_desk(partial(quick, tmp_path), settings, stages=stages) as (bench, _):
        for number in range(8):
            bench.submit(level_frame(number, FINE))
            if number % 4 == 3:
                bench.read(4)
    found = stages.snapshot()
    assert [found[stage].count for stage in (Stage.FILL, Stage.INFER, Stage.BOXES)] == [8] * 3
    assert 0 < found[Stage.INFER].sum_s < 8 * 20


def worker(bench: Desk, pool: BatchPool, span: range, levels: list[int], seed: int) -> None:
    """Submit and flush as one of several threads that know nothing of each other."""
    chance = random.Random(seed)
    for number in span:
        slot = pool.acquire()
        assert slot is not None
        if chance.random() < 0.1:
            pool.give_back(slot)
            slot = pool.acquire()
            assert slot is not None
        pool.submit(slot, level_frame(number, levels[number], f"s{seed}"), number)
        if chance.random() < 0.2:
            pool.flush()
        if chance.random() < 0.05:
            threading.Event().wait(0.001)
    pool.flush()


@pytest.mark.parametrize("seed", range(4))
def test_several_threads_and_failures_in_any_order(gate: Gate, seed: int) -> None:
    threads, each = 3, 60
    chance = random.Random(seed)
    levels = [chance.choice([FINE, 7, 201, 254]) for _ in range(threads * each)]
    bad = chance.sample(range(threads * each), 5)
    for number in bad:
        levels[number] = FAILS
    settings = BatchSettings(size=chance.choice([2, 3, 4]), gather_s=LONG_S, requests=2)
    with batch_desk(partial(probe, gate), settings) as (bench, pool):
        spans = [range(first * each, (first + 1) * each) for first in range(threads)]
        work = [
            partial(worker, bench, pool, span, levels, number) for number, span in enumerate(spans)
        ]
        with running(lambda: bench.read(threads * each), *work):
            pass
        bench.assert_complete()
        report = pool.report("probe")
        assert report.batched_frames == threads * each
        assert report.batch_places >= report.batched_frames
    wrong = {number for number, answer in bench.answers.items() if answer != levels[number]}
    assert wrong == set(bad)
    assert len(bench.answers) == threads * each


def test_close_in_the_middle_of_everything_ends_every_thread(gate: Gate) -> None:
    settings = BatchSettings(size=3, gather_s=LONG_S, requests=2)
    with batch_desk(partial(probe, gate), settings) as (bench, pool):

        def feed(first: int) -> None:
            for number in range(first, first + 10_000):
                slot = pool.acquire()
                if slot is None:
                    return
                pool.submit(slot, level_frame(number, FINE), number)

        pause = threading.Event()

        def drain() -> None:
            while not pool._pool._is_closed:
                if len(bench.delivered):
                    bench.read_one()
                else:
                    pause.wait(0.001)

        with running(lambda: feed(0), lambda: feed(10_000), drain):
            wait_until(lambda: len(bench.answers) > 30, "it is at work")
            pool.close()
        assert pool.acquire() is None
        wait_until(lambda: not pool.is_held, "nothing runs")
