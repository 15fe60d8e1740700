"""How near a run comes to its bare parts: both measured in turn, a few times, medians counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from vidpipe.apps.bench.ceiling import Ceiling, measure_ceiling, shares_of
from vidpipe.apps.bench.job import RunJob, RunResult
from vidpipe.apps.bench.rows import Efficiency


@dataclass(frozen=True, slots=True)
class Round:
    """One run, and the bare parts right after it."""

    run: RunResult
    ceiling: Ceiling

    @property
    def ratio(self) -> float:
        """The share of the run's CPU time that the bare parts would have taken, too."""
        return self.ceiling.cpu_ms / self.run.cpu_ms


def measure_round(job: RunJob, run: Callable[[RunJob], RunResult]) -> Round:
    """Run a job, and then its bare parts, in the run's proportions and for as long.

    Args:
        job: The run.
        run: Runs it in a process of its own: ``runs.run_job``, or what also shows progress.

    Raises:
        ConfigError: The job's configuration is not right.
        UsageError: The run or one of its parts can't be measured; the text says why.
    """
    result = run(job)
    return Round(result, measure_ceiling(job, shares_of(result), job.seconds))


def efficiency_from_rounds(rounds: Sequence[Round]) -> Efficiency:
    """Return the medians of at least one round, and the spread of its ratios."""
    ratios = [one.ratio for one in rounds]
    names = dict.fromkeys(name for one in rounds for name in one.ceiling.parts)
    return Efficiency(
        ceiling_cpu_ms=median(one.ceiling.cpu_ms for one in rounds),
        measured_cpu_ms=median(one.run.cpu_ms for one in rounds),
        ratio=median(ratios),
        low=min(ratios),
        high=max(ratios),
        fps=median(one.run.fps for one in rounds),
        ceiling_fps=median(one.ceiling.fps for one in rounds),
        parts={
            name: median(one.ceiling.parts.get(name, 0.0) for one in rounds)
            for name in sorted(names, key=_PARTS.index)
        },
        rounds=len(rounds),
    )


_PARTS = ("decode", "inference", "encode")
"""In the order of a frame's way."""
