"""What ``vidpipe bench`` was asked for: the command line's words, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vidpipe.apps.bench.goal import Target, target_from
from vidpipe.apps.bench.points import Point, compared_points, sweeps_of


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What was asked for.

    Attributes:
        config: The configuration's path.
        overrides: ``KEY=VALUE`` texts that win over the file.
        with_outputs: Let the outputs work.
        seconds: Counted in each run.
        rounds: Runs of each point.
        latency_limit_ms: Of a sweep over streams, and of the cameras.
        sample_s: How long cameras are recorded.
        sweeps: Axes to sweep.
        comparisons: Points to be measured side by side, group by group.
        goal: What to search for, or None.
        with_cameras: Search how many cameras fit.
        with_efficiency: Measure against the ceiling.
        with_stages: Measure the stages alone.
    """

    config: Path
    overrides: tuple[str, ...] = ()
    with_outputs: bool = False
    seconds: float = 4.0
    rounds: int = 3
    latency_limit_ms: float = 200.0
    sample_s: float = 10.0
    sweeps: tuple[str, ...] = ()
    comparisons: tuple[Sequence[Point], ...] = ()
    goal: Target | None = None
    with_cameras: bool = False
    with_efficiency: bool = False
    with_stages: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """What to measure, as it stands on the command line.

    Attributes:
        sweeps: Of ``--sweep``.
        comparisons: Of ``--compare``.
        goal: Of ``--goal``, or None.
        with_cameras: ``--cameras`` was given.
        with_efficiency: ``--efficiency`` was given.
    """

    sweeps: Sequence[str] = ()
    comparisons: Sequence[str] = ()
    goal: str | None = None
    with_cameras: bool = False
    with_efficiency: bool = False

    @property
    def is_plain(self) -> bool:
        """True if nothing was asked for in particular."""
        return not (
            self.sweeps
            or self.comparisons
            or self.goal
            or self.with_cameras
            or self.with_efficiency
        )


def understood(words: Words, request: BenchRequest) -> BenchRequest:
    """Return a request with what is to be measured.

    Raises:
        UsageError: A word is not known.
    """
    return replace(
        request,
        sweeps=tuple(sweeps_of(words.sweeps)),
        comparisons=tuple(compared_points(text) for text in words.comparisons),
        goal=target_from(words.goal) if words.goal is not None else None,
        with_cameras=words.with_cameras,
        with_efficiency=words.with_efficiency or words.is_plain,
        with_stages=words.is_plain,
    )
