"""Points measured in turn, on a machine that is a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.bench_rows import make_result
from vidpipe.apps.bench.job import RunJob, RunResult, Subject
from vidpipe.apps.bench.measuring import Laboratory
from vidpipe.apps.bench.points import Point
from vidpipe.apps.bench.rows import Row, Value
from vidpipe.errors import ModelError, VidpipeError

POINTS = [Point(name, "compare call", {"call": name}, "call") for name in ("sync", "async")]


class Counting:
    """Implements ``Progress``."""

    def __init__(self) -> None:
        self.expected = 0
        self.begun: list[str] = []
        self.ended = 0

    def expect(self, runs: int) -> None:
        self.expected += runs

    def begin(self, what: str) -> None:
        self.begun.append(what)

    def end(self) -> None:
        self.ended += 1


class Machine:
    """Answers each run with the next of its setting's speeds."""

    def __init__(self, answer: Callable[[Mapping[str, Value], int], RunResult]) -> None:
        self.asked: list[Value] = []
        self.answer = answer

    def run(self, job: RunJob) -> RunResult:
        setting = next(iter(job.settings.values()))
        self.asked.append(setting)
        return self.answer(job.settings, self.asked.count(setting))


def laboratory(machine: Machine, progress: Counting, rounds: int = 3) -> Laboratory:
    return Laboratory(RunJob(Subject("c.yml")), machine.run, progress, rounds)


def steady(_: Mapping[str, Value], turn: int) -> RunResult:
    """100, 200, 150 frames a second, turn by turn."""
    frames = [200, 400, 300][turn - 1]
    return make_result(frames=frames, p95_ms=40.0 + turn, cpu_s=2.0 * frames / 200)


def test_rounds_are_interleaved_and_medians_count() -> None:
    machine, progress = Machine(steady), Counting()
    rows = laboratory(machine, progress).measure(POINTS)
    assert machine.asked == ["sync", "async"] * 3
    for row in rows:
        assert (row.fps, row.fps_low, row.fps_high, row.rounds) == (150.0, 100.0, 200.0, 3)
        assert row.p95_ms == 42.0
        assert row.cpu_ms_per_frame == pytest.approx(10.0)
        assert row.is_measured
    assert progress.begun[2] == "compare call: sync, round 2 of 3"
    assert progress.expected == progress.ended == 6


def test_a_point_that_fails_is_a_row_with_its_reason_and_the_rest_goes_on() -> None:
    def answer(settings: Mapping[str, Value], turn: int) -> RunResult:
        if settings["call"] == "sync":
            raise ModelError("the self-test failed")
        return steady(settings, turn)

    machine, progress = Machine(answer), Counting()
    rows = laboratory(machine, progress).measure(POINTS)
    assert machine.asked == ["sync", "async", "async", "async"]
    assert rows[0].error == "the self-test failed"
    assert not rows[0].is_measured
    assert rows[1].is_measured
    assert progress.expected == progress.ended


def test_an_interrupt_keeps_what_was_measured() -> None:
    def answer(settings: Mapping[str, Value], turn: int) -> RunResult:
        if (settings["call"], turn) == ("async", 2):
            raise KeyboardInterrupt
        return steady(settings, turn)

    lab = laboratory(Machine(answer), Counting())
    with pytest.raises(KeyboardInterrupt):
        lab.measure(POINTS)
    assert [(row.name, row.rounds) for row in lab.rows()] == [("sync", 2), ("async", 1)]


def test_points_behind_one_that_is_enough_are_left_out() -> None:
    points = [Point(f"streams {n}", "sweep streams", {"streams": n}, "streams") for n in (1, 2, 4)]

    def answer(settings: Mapping[str, Value], _: int) -> RunResult:
        return make_result(p95_ms=100.0 * int(settings["streams"]))

    def is_enough(row: Row) -> bool:
        return row.p95_ms > 150.0

    machine, progress = Machine(answer), Counting()
    rows = laboratory(machine, progress, rounds=2).measure(points, is_enough=is_enough)
    assert [row.name for row in rows] == ["streams 1", "streams 2"]
    assert machine.asked == [1, 2, 1, 2]
    assert progress.expected == progress.ended == 4


def test_the_slowest_stream_is_the_slowest_of_each_round() -> None:
    def answer(_: Mapping[str, Value], turn: int) -> RunResult:
        return make_result(fps_of={"gate": 10.0 * turn, "yard": 50.0})

    rows = laboratory(Machine(answer), Counting(), rounds=3).measure(POINTS[:1])
    assert rows[0].slowest_fps == 20.0


def test_a_run_more_counts_with_those_before() -> None:
    lab = laboratory(Machine(steady), Counting())
    lab.run_again(POINTS[0])
    assert lab.measure(POINTS[:1], rounds=2)[0].rounds == 3
    assert len(lab.rows()) == 1


def test_a_run_more_that_fails_says_why() -> None:
    def answer(_: Mapping[str, Value], __: int) -> RunResult:
        raise VidpipeError("gate source: it broke")

    lab = laboratory(Machine(answer), Counting())
    with pytest.raises(VidpipeError, match="it broke"):
        lab.run_again(POINTS[0])
    assert lab.rows()[0].error == "gate source: it broke"
