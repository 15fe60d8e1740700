"""``vidpipe bench``: what was asked for, measured one thing after the other, and concluded.

An interrupt ends the measuring and keeps what there is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from rich.console import Console

from vidpipe.apps.bench.advice import Demand, advise
from vidpipe.apps.bench.cameras import Wanted, guess_from, search_cameras
from vidpipe.apps.bench.efficiency import Round, efficiency_from_rounds, measure_round
from vidpipe.apps.bench.goal import GROUP, Target, goal_name, search_goal
from vidpipe.apps.bench.job import STREAMS, Pace, RunJob, RunResult, Subject, used_models
from vidpipe.apps.bench.knee import find_knee
from vidpipe.apps.bench.machine import benched_machine
from vidpipe.apps.bench.measuring import Laboratory
from vidpipe.apps.bench.points import Point, configured_point, sweep_points
from vidpipe.apps.bench.progress import BenchProgress, bench_progress
from vidpipe.apps.bench.request import BenchRequest
from vidpipe.apps.bench.rows import (
    BenchReport,
    Cameras,
    Efficiency,
    Goal,
    Knee,
    Row,
    StageCost,
    Value,
)
from vidpipe.apps.bench.runs import run_job
from vidpipe.apps.bench.samples import Samples, needs_sample, record_samples
from vidpipe.apps.bench.stages import measure_stages
from vidpipe.config.load import load_config
from vidpipe.config.model import ModelConfig
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError

_START_S = 2.0
"""What a run takes beside its counted seconds, until one has shown it."""

_ASSUMED_RATE_FPS = 25.0

_CAMERAS = "cameras"

_OTHERS = 0.1
"""Of the machine's CPU time: what other programs may take before the figures are worth a doubt."""

_RUNS_OF_STAGES, _RUNS_OF_SEARCH, _RUNS_OF_GOAL = 6, 8, 14
"""About as long as so many runs, for the time left."""
_STAGE_S = 1.5
"""How long each stage is measured alone."""


@dataclass(slots=True)
class _Findings:
    """What has been found so far beside the rows."""

    stages: Sequence[StageCost] = ()
    knees: list[Knee] = field(default_factory=list)
    efficiency: Efficiency | None = None
    cameras: Cameras | None = None
    goal: Goal | None = None
    notes: list[str] = field(default_factory=list)


def run_bench(request: BenchRequest, console: Console) -> BenchReport:
    """Measure what was asked for.

    Args:
        request: What was asked for.
        console: On standard error.

    Raises:
        ConfigError: The configuration has faults.
        VidpipeError: Nothing can be measured: the configuration itself doesn't run.
        KeyboardInterrupt: An interrupt came before anything had been measured.
    """
    config = load_config(request.config, request.overrides)
    with (
        tempfile.TemporaryDirectory(prefix="vidpipe-samples-") as folder,
        bench_progress(console, expected_s=request.seconds + _START_S) as progress,
    ):
        samples = record_samples(config, Path(folder), request.sample_s, progress.say)
        session = _Session(request, config, samples, progress)
        is_complete = True
        try:
            session.run()
        except KeyboardInterrupt:
            if not session.has_rows:
                raise
            is_complete = False
        return session.report(is_complete=is_complete)


class _Session:
    def __init__(
        self, request: BenchRequest, config: Config, samples: Samples, progress: BenchProgress
    ) -> None:
        self._request = request
        self._config = config
        self._progress = progress
        self._machine = benched_machine()
        self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._found = _Findings(notes=list(_notes(request, config, samples)))
        self._subject = Subject(
            config=str(request.config),
            overrides=request.overrides,
            samples=samples.files,
            with_outputs=request.with_outputs,
            left_out=tuple(samples.failures),
        )
        self._streams = [s for s in config.streams if s.id not in samples.failures]
        is_live = any(stream.is_live or needs_sample(stream) for stream in self._streams)
        self._pace: Pace = "source" if is_live else "full"
        self._job = RunJob(self._subject, seconds=request.seconds)
        self._lab = Laboratory(self._job, run_job, progress, request.rounds)
        self._first: RunResult | None = None

    @property
    def has_rows(self) -> bool:
        return bool(self._lab.rows())

    def run(self) -> None:
        """Measure everything, the configuration itself first.

        Raises:
            VidpipeError: The configuration itself doesn't run, and nothing else is asked for.
        """
        request, point = self._request, configured_point()
        try:
            self._first = self._lab.run_again(point)
        except VidpipeError:
            if not request.comparisons and not request.sweeps:
                raise
        parts = self._parts()
        self._progress.expect_later(sum(runs for runs, _, _ in parts))
        for runs, name, measure in parts:
            self._progress.expect_later(-runs)
            try:
                measure()
            except VidpipeError as exc:
                self._found.notes.append(f"{name} could not be measured: {exc}")

    def _parts(self) -> list[tuple[int, str, Callable[[], object]]]:
        """Return what is to be measured: about how many runs it takes, its name, and itself."""
        request, rounds = self._request, self._request.rounds
        parts: list[tuple[int, str, Callable[[], object]]] = []
        if self._first is not None:
            again = partial(self._lab.measure, [configured_point()], rounds=rounds - 1)
            if request.with_stages:
                parts.append((_RUNS_OF_STAGES, "the stages", self._measure_stages))
            if request.with_efficiency:
                parts.append((2 * rounds, "the efficiency", self._measure_efficiency))
            elif rounds > 1:
                parts.append((rounds - 1, "the configuration", again))
        parts += [
            (rounds * len(points), "the comparison", partial(self._lab.measure, points))
            for points in request.comparisons
        ]
        for axis in request.sweeps:
            runs = rounds * len(self._sweep_points(axis))
            parts.append((runs, f"the sweep over {axis}", partial(self._sweep, axis)))
        if request.with_cameras:
            parts.append((_RUNS_OF_SEARCH, "the number of cameras", self._search_cameras))
        if request.goal is not None:
            search = partial(self._search_goal, request.goal)
            parts.append((_RUNS_OF_GOAL + rounds, "the goal", search))
        return parts

    def report(self, *, is_complete: bool) -> BenchReport:
        """Return what has been measured, and what follows from it."""
        found = self._found
        # The search for the number of cameras jumps to and fro.
        rows = sorted(self._lab.rows(), key=lambda row: row.streams * (row.group == _CAMERAS))
        return BenchReport(
            config=self._request.config.name,
            started_at=self._started_at,
            machine=replace(self._machine, devices=self._first.devices if self._first else {}),
            subject=self._subject_line(),
            rows=tuple(rows),
            stages=tuple(found.stages),
            knees=tuple(found.knees),
            advice=advise(self._models(), rows, found.knees, self._demand(), found.goal),
            efficiency=found.efficiency,
            cameras=found.cameras,
            goal=found.goal,
            notes=(*found.notes, *self._doubts()),
            is_complete=is_complete,
        )

    def _measure_stages(self) -> None:
        self._progress.say("each stage alone")
        self._found.stages = measure_stages(self._job, min(_STAGE_S, self._request.seconds))

    def _measure_efficiency(self) -> None:
        rounds: list[Round] = []
        for number in range(1, self._request.rounds + 1):
            self._progress.say(f"efficiency: a run and its bare parts, round {number}")
            rounds.append(
                measure_round(self._job, lambda _: self._lab.run_again(configured_point()))
            )
            self._found.efficiency = efficiency_from_rounds(rounds)

    def _sweep(self, axis: str) -> None:
        limit_ms = self._request.latency_limit_ms
        is_enough = (lambda row: row.p95_ms > limit_ms) if axis == STREAMS else None
        rows = self._lab.measure(self._sweep_points(axis), is_enough=is_enough)
        if (knee := find_knee(axis, rows, limit_ms)) is not None:
            self._found.knees.append(knee)

    def _sweep_points(self, axis: str) -> list[Point]:
        return sweep_points(
            axis,
            requests=self._auto_requests(),
            streams=len(self._streams),
            device=self._config.models[used_models(self._config)[0]].device,
            pace=self._pace,
        )

    def _auto_requests(self) -> int:
        models = len(used_models(self._config))
        return max(1, self._first.requests // models) if self._first else 1

    def _search_cameras(self) -> None:
        if self._first is None:
            raise UsageError("the configuration itself doesn't run")
        source_fps = self._first.source_fps or _ASSUMED_RATE_FPS
        rates = [min(s.detect_fps or source_fps, source_fps) for s in self._streams]
        rate_fps = sum(rates) / len(rates)
        wanted = Wanted(
            rate_fps=round(rate_fps, 3),
            source_fps=source_fps,
            limit_ms=self._request.latency_limit_ms,
            cores=self._machine.cores,
        )
        kinds = dict.fromkeys(self._first.source_of.values())
        self._found.cameras = search_cameras(
            wanted,
            guess_from(self._first.fps, rate_fps),
            lambda count: self._lab.run_again(_cameras_point(count)),
            f"{' and '.join(kinds)} at {source_fps:g} frames/s",
        )

    def _search_goal(self, target: Target) -> None:
        pace: Pace = "full" if target.key == "fps" else self._pace

        def point(settings: Mapping[str, Value]) -> Point:
            return Point(goal_name(settings), GROUP, dict(settings), pace=pace)

        def confirm(point: Point) -> Row:
            more = max(1, self._request.rounds - 1)
            return self._lab.measure([point], rounds=more)[0]

        self._found.goal = search_goal(
            target,
            self._auto_requests(),
            lambda points: self._lab.measure(points, rounds=1),
            point,
            confirm,
        )

    def _models(self) -> dict[str, ModelConfig]:
        return {name: self._config.models[name] for name in used_models(self._config)}

    def _demand(self) -> Demand:
        if self._pace == "full" or self._first is None:
            return Demand(None, len(self._streams))
        source_fps = self._first.source_fps or _ASSUMED_RATE_FPS
        rates = [min(s.detect_fps or source_fps, source_fps) for s in self._streams]
        return Demand(sum(rates), len(self._streams))

    def _doubts(self) -> list[str]:
        """Return what speaks against the figures."""
        spent = [
            result.others_cpu_s / (result.seconds * self._machine.cores)
            for result in self._lab.results()
        ]
        if not spent or (share := median(spent)) < _OTHERS:
            return []
        return [
            f"other programs took {100 * share:.0f} % of the machine's CPU time meanwhile: on a "
            "quiet machine the figures would be better, and surer"
        ]

    def _subject_line(self) -> str:
        models = ", ".join(
            f"{name} ({model.zoo or Path(str(model.path)).name})"
            for name, model in self._config.models.items()
            if name in used_models(self._config)
        )
        sources = dict.fromkeys(self._first.source_of.values()) if self._first else {}
        plural = "s" if len(self._streams) != 1 else ""
        outputs = "with" if self._request.with_outputs else "without"
        return (
            f"{len(self._streams)} stream{plural}, {' and '.join(sources) or 'unknown pictures'}; "
            f"model {models}; {outputs} outputs"
        )


def _cameras_point(count: int) -> Point:
    plural = "s" if count != 1 else ""
    return Point(f"{count} camera{plural}", _CAMERAS, {STREAMS: count}, STREAMS, "source")


def _notes(request: BenchRequest, config: Config, samples: Samples) -> Iterator[str]:
    for name, why in samples.failures.items():
        yield f"{name} is left out: {why}"
    if samples.encoded:
        yield (
            f"{', '.join(samples.encoded)}: its pictures were encoded as H.264 for the sample, so "
            "that decoding costs differ from the source's own"
        )
    if not request.with_outputs and any(stream.outputs for stream in config.streams):
        yield "the outputs did nothing: --with-outputs measures with them"
    yield (
        "rows at full speed read the sources as fast as they go: their ages include the waiting "
        "for a machine that is always busy"
    )
