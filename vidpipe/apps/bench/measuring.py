"""Points measured in turn: every round runs each of them once, so that all see the same machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Protocol

from vidpipe.apps.bench.job import STREAMS, RunJob, RunResult, with_settings
from vidpipe.apps.bench.points import Point
from vidpipe.apps.bench.rows import Row
from vidpipe.errors import VidpipeError


class Progress(Protocol):
    """Is told how the measuring goes."""

    def expect(self, runs: int) -> None:
        """So many runs more are to come; fewer if negative."""

    def begin(self, what: str) -> None:
        """A run begins."""

    def end(self) -> None:
        """It has ended."""


@dataclass(slots=True)
class Measured:
    """A point and what its runs were like so far."""

    point: Point
    results: list[RunResult] = field(default_factory=list)
    failure: VidpipeError | None = None
    is_left_out: bool = False
    """True for a point that was not worth measuring."""

    @property
    def error(self) -> str | None:
        """Why it has no figures."""
        return str(self.failure) if self.failure else None

    def row(self) -> Row:
        """Return the medians, and the spread."""
        return row_from_results(self.point, self.results, self.error)


class Laboratory:
    """Measures points and keeps all that was measured, also when it is interrupted."""

    def __init__(
        self,
        job: RunJob,
        run: Callable[[RunJob], RunResult],
        progress: Progress,
        rounds: int,
    ) -> None:
        """Have measured nothing yet.

        Args:
            job: The order that all points have in common.
            run: Runs an order, in a process of its own.
            progress: Is told.
            rounds: How often each point is measured.
        """
        self.job = job
        self._run = run
        self._progress = progress
        self._rounds = rounds
        self._measured: list[Measured] = []

    def rows(self) -> list[Row]:
        """Return all points that have been measured, or have failed, in the order of measuring."""
        return [one.row() for one in self._measured if one.results or one.error]

    def results(self) -> list[RunResult]:
        """Return all runs that were measured."""
        return [result for one in self._measured for result in one.results]

    def measure(
        self,
        points: Sequence[Point],
        *,
        rounds: int | None = None,
        is_enough: Callable[[Row], bool] | None = None,
    ) -> list[Row]:
        """Measure points, interleaved; a point that fails is a row with its reason.

        Args:
            points: What to measure, in this order.
            rounds: How often; None: as often as all.
            is_enough: Asked after each point of the first round: True leaves out those behind it.
        """
        rounds = rounds or self._rounds
        known = {(one.point.name, one.point.group): one for one in self._measured}
        batch = [known.get((point.name, point.group)) or Measured(point) for point in points]
        self._measured += [one for one in batch if one not in self._measured]
        self._progress.expect(rounds * len(batch))
        for number in range(rounds):
            for index, one in enumerate(batch):
                if one.error or one.is_left_out:
                    continue
                self._measure_once(one, number, rounds)
                row = one.row()
                if number == 0 and is_enough is not None and row.is_measured and is_enough(row):
                    self._leave_out(batch[index + 1 :], rounds)
        return [one.row() for one in batch if not one.is_left_out]

    def run_again(self, point: Point) -> RunResult:
        """Run a point once more and keep the result with the others.

        Raises:
            VidpipeError: It can't be measured.
        """
        one = next((m for m in self._measured if m.point == point), None)
        if one is None:
            one = Measured(point)
            self._measured.append(one)
        self._progress.expect(1)
        self._measure_once(one, 0, 1)
        if one.failure:
            raise one.failure
        return one.results[-1]

    def _measure_once(self, one: Measured, number: int, rounds: int) -> None:
        turn = f", round {number + 1} of {rounds}" if rounds > 1 else ""
        self._progress.begin(f"{one.point.group}: {one.point.name}{turn}")
        job = replace(with_settings(self.job, one.point.settings), pace=one.point.pace)
        try:
            one.results.append(self._run(job))
        except VidpipeError as exc:
            one.failure = exc
            self._progress.expect(number + 1 - rounds)
        self._progress.end()

    def _leave_out(self, rest: Iterable[Measured], rounds: int) -> None:
        for one in rest:
            one.is_left_out = True
            self._progress.expect(-rounds)


def row_from_results(point: Point, results: Sequence[RunResult], error: str | None) -> Row:
    """Return a point's row: medians over its runs, and the spread of their speeds."""
    streams = len(results[0].fps_of) if results else int(point.settings.get(STREAMS, 0))
    row = Row(
        name=point.name,
        group=point.group,
        settings=point.settings,
        axis=point.axis,
        streams=streams,
        error=error,
    )
    if error or not results:
        return row
    speeds = [result.fps for result in results]
    return replace(
        row,
        fps=median(speeds),
        p50_ms=median(result.p50_ms for result in results),
        p95_ms=median(result.p95_ms for result in results),
        p99_ms=median(result.p99_ms for result in results),
        cpu_ms_per_frame=median(result.cpu_ms for result in results),
        rss_mb=median(result.rss_mb for result in results),
        threads=round(median(result.threads for result in results)),
        fps_low=min(speeds),
        fps_high=max(speeds),
        slowest_fps=median(min(result.fps_of.values(), default=0.0) for result in results),
        rounds=len(results),
    )
