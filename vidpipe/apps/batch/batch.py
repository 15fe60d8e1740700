"""``vidpipe batch``: from the command line's words to the exit code."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from loguru import logger
from rich.console import Console

from vidpipe.apps.batch.ahead import Ahead
from vidpipe.apps.batch.budget import chosen_jobs, free_memory_bytes
from vidpipe.apps.batch.claims import require_free_names
from vidpipe.apps.batch.converting import Convert, Converter
from vidpipe.apps.batch.discover import Discovery, discover
from vidpipe.apps.batch.endings import (
    closing_lines,
    closing_table,
    name_text,
    nothing_to_do,
    opening_lines,
)
from vidpipe.apps.batch.flights import Flights
from vidpipe.apps.batch.folder import OutputFolder, locked
from vidpipe.apps.batch.formats.registry import (
    VIDEO,
    Format,
    chosen_formats,
    convert_file,
    convert_run,
)
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, RunSummary
from vidpipe.apps.batch.ledger import Ledger, LedgerError
from vidpipe.apps.batch.outage import Outage
from vidpipe.apps.batch.outcomes import Outcomes
from vidpipe.apps.batch.prepare import Preparing
from vidpipe.apps.batch.progress import (
    Progress,
    Write,
    show_table,
    shown_progress,
    unhurried,
)
from vidpipe.apps.batch.render import Renderer
from vidpipe.apps.batch.request import BatchRequest
from vidpipe.apps.batch.run import BatchRun, RunParts, Stop, StopCause
from vidpipe.apps.batch.setup import Setup, set_up
from vidpipe.apps.batch.standing import Standing
from vidpipe.apps.batch.survey import survey
from vidpipe.apps.batch.suspects import Suspects
from vidpipe.apps.build import build_engine
from vidpipe.apps.display import stderr_for
from vidpipe.apps.engine import Engine
from vidpipe.apps.signals import StopSignals
from vidpipe.errors import UsageError
from vidpipe.inference.overrides import usable_cores
from vidpipe.outputs.storage import free_bytes
from vidpipe.runtime.logs import Logging
from vidpipe.runtime.supervisor import take_short_turns
from vidpipe.version import __version__

_NICE = 10
_CAPTURES = "vidpipe.sources.capture"


def run_batch(
    request: BatchRequest,
    signals: StopSignals,
    console: Console,
    json_write: Write | None = None,
) -> int:
    """Analyse recorded files, and return the exit code.

    Args:
        request: What is asked for.
        signals: Installed already.
        console: On standard error.
        json_write: Takes JSON for programs, or None.

    Raises:
        UsageError: There is nothing to do, or the output folder can't be used.
        ConfigError: The configuration has faults.
        ModelError: The model can't be used.
        FetchError: The model can't be fetched.
        LedgerError: The ledger can't be used.
        KeyboardInterrupt: A signal came before the start.
    """
    take_short_turns()
    if request.is_nice:
        os.nice(_NICE)
    formats, saves_video = _formats(request)
    found = discover(request.inputs, request.output)
    if not found.files:
        raise UsageError(nothing_to_do(request.inputs, found))
    folder = OutputFolder(request.output.expanduser().absolute())
    with (
        locked(folder),
        stderr_for(console) as write_now,
        unhurried(console, write_now) as write,
        Logging(level="WARNING", stderr=write),
        _quiet_captures(),
    ):
        setup = set_up(request.config, request.model, request.overrides, request.sampling)
        ledger = Ledger(folder.ledger)
        try:
            if not request.is_fresh:
                require_free_names(found.files, ledger.inputs())
            with shown_progress(console, write, json_write) as progress:
                batch = _Batch(request, setup, folder, ledger, found, progress)
                ending = batch.run(signals, formats, saves_video=saves_video)
            show_table(closing_table(ending.summary.files), console, write)
            for line in ending.lines:
                write(f"vidpipe: {line}\n")
            return ending.code
        finally:
            ledger.close()


@contextmanager
def _quiet_captures() -> Iterator[None]:
    """Let captures say nothing of their sources: each input's end is told once, by its name."""
    logger.disable(_CAPTURES)
    try:
        yield
    finally:
        logger.enable(_CAPTURES)


@dataclass(frozen=True, slots=True)
class _Ending:
    code: int
    summary: RunSummary
    lines: Sequence[str]


@dataclass(slots=True)
class _Batch:
    """One run, put together and taken apart."""

    request: BatchRequest
    setup: Setup
    folder: OutputFolder
    ledger: Ledger
    found: Discovery
    progress: Progress

    def run(self, signals: StopSignals, formats: Sequence[Format], *, saves_video: bool) -> _Ending:
        started_at, began_s = datetime.now(UTC), time.monotonic()
        core_count = usable_cores()
        ahead_of = survey(self.found.files)
        free = free_bytes(self.folder.root)
        done = set() if self.request.is_fresh else self.ledger.done_with(self.setup.settings)
        forecast = ahead_of.forecast(self.request.save, done, self.request.sampling)
        rate_fps = self.ledger.last_rate_fps()
        for line in opening_lines(self.found, ahead_of, forecast, free, rate_fps):
            self.progress.say(line)
        jobs = self.request.jobs or chosen_jobs(
            core_count, ahead_of.largest_wh, free_memory_bytes()
        )
        about = self._about(jobs)
        self.progress.tell("begin", {"files": len(self.found.files), **about})
        run_number = self.ledger.begin_run(started_at.isoformat(), about)
        hurried: list[bool] = []
        steps = self._steps(formats, Renderer(lambda: bool(hurried)) if saves_video else None)
        converter = Converter(steps, max(1, core_count // 2) if saves_video else 1)
        outcomes = Outcomes(
            self.folder,
            self.ledger,
            self.setup.labels,
            self.request.sampling.is_of_all,
            converter.put,
            self._tell,
        )
        engine = build_engine(self.setup.config)
        parts = RunParts(
            flights=Flights(
                engine,
                self.setup.model,
                self.folder,
                self.request.sampling,
                min(jobs, core_count),
            ),
            ahead=Ahead(self._preparing(core_count).prepare, self.ledger),
            outcomes=outcomes,
            suspects=Suspects(Outage(self.request.outage, time.monotonic)),
            progress=self.progress,
            survey=ahead_of,
            jobs=jobs,
        )
        run = BatchRun(parts, self.found.files)

        def hurry() -> None:
            hurried.append(True)
            engine.hurry()

        stop: Stop | None = None
        signals.arm(hurry)
        engine.start()
        converter.start()
        try:
            stop = run.run(lambda: self._asked(signals))
            if stop is not None:
                self.progress.say(_stopping(stop))
        finally:
            ended_s, ended_cpu_s = time.monotonic(), time.process_time()
            first_s, first_cpu_s = parts.flights.began or (ended_s, ended_cpu_s)
            parts.ahead.close()
            _stop_engine(engine, self.setup.config.shutdown_timeout_s)
            run.land()
            if stop is not None:
                converter.drop()
            standing = run.standing()
            converter.finish(lambda: self._wait(converter, standing, signals, hurried))
        if stop is None and signals.wait(0.0):
            stop = Stop(StopCause.SIGNAL, signals.name)  # while results were being converted
        took_s = time.monotonic() - began_s
        work_s, work_cpu_s = ended_s - first_s, ended_cpu_s - first_cpu_s
        frames = parts.flights.frames
        summary = RunSummary(
            output=self.folder.root,
            files=[outcomes.files[file.stem] for file in self.found.files],
            started_at=started_at,
            took_s=took_s,
            skipped=self.found.skipped,
            frames_inferred=frames,
            is_complete=stop is None,
            settings=about,
            model=self._about_model(engine),
        )
        converter.conclude(partial(convert_run, summary, formats))
        code = _exit_code(summary, stop, converter.failures, engine)
        if not code and any(one.is_fault for one in self.found.skipped):
            code = 1  # nobody knows what there is that wasn't analysed
        rate = frames / took_s if took_s else 0.0
        ending = {"code": code, "frames": frames, "took_s": took_s, "why": stop.why if stop else ""}
        with suppress(LedgerError):  # a full disk: that it stopped so is told already
            self.ledger.end_run(run_number, datetime.now(UTC).isoformat(), ending)
        self.progress.tell(
            "end",
            {
                "code": code,
                "done": outcomes.done,
                "failed": outcomes.failed,
                "frames": frames,
                "frames_per_second": round(rate, 2),
                "work_s": round(work_s, 3),
                "work_cpu_s": round(work_cpu_s, 3),
            },
        )
        is_fresh = self.request.is_fresh
        lines = closing_lines(summary, stop, converter.failures, is_fresh=is_fresh)
        return _Ending(code, summary, list(lines))

    def _preparing(self, core_count: int) -> Preparing:
        request = self.request
        return Preparing(
            self.folder,
            self.ledger,
            self.setup.settings,
            request.sampling,
            core_count,
            is_fresh=request.is_fresh,
            retries_failed=request.retries_failed,
            is_full_hash=request.is_full_hash,
        )

    def _steps(self, formats: Sequence[Format], renderer: Renderer | None) -> list[Convert]:
        steps: list[Convert] = []
        if any(one.of_file is not None for one in formats):
            steps.append(lambda result: convert_file(result, formats))
        if renderer is not None:
            steps.append(renderer.render)
        return steps

    def _asked(self, signals: StopSignals) -> Stop | None:
        if signals.wait(0.0):
            return Stop(StopCause.SIGNAL, signals.name)
        until = self.request.until
        if until is not None and datetime.now(until.tzinfo) >= until:
            return Stop(StopCause.TIME, f"it is {until:%H:%M}")
        return None

    def _wait(
        self, converter: Converter, standing: Standing, signals: StopSignals, hurried: list[bool]
    ) -> bool:
        """Say what is left to convert; False once somebody doesn't want to wait any more."""
        if not hurried and signals.wait(0.0):
            converter.drop()
            hurried.append(True)
        note = f"converting results, {converter.left} files left"
        self.progress.show(replace(standing, note=note))
        return not hurried

    def _tell(self, outcome: FileOutcome) -> None:
        about = {
            "file": outcome.name,
            "state": str(outcome.state),
            "reason": outcome.reason,
            "frames": outcome.frames,
            "reused": outcome.is_reused,
        }
        self.progress.tell("file", about)
        if outcome.state is FileState.FAILED and not outcome.is_reused:
            self.progress.say(f"failed: {name_text(outcome.name)}: {outcome.reason}")

    def _about(self, jobs: int) -> dict[str, Any]:
        request, sampling = self.request, self.request.sampling
        return {
            "version": __version__,
            "save": list(request.save),
            "jobs": jobs,
            "every": sampling.every,
            "fps": sampling.fps,
            "start_s": sampling.start_s,
            "end_s": sampling.end_s,
            "is_fresh": request.is_fresh,
        }

    def _about_model(self, engine: Engine) -> Mapping[str, Any]:
        section = self.setup.config.models[self.setup.model]
        return {
            "name": self.setup.model,
            "path": str(self.setup.path),
            "zoo": section.zoo,
            "hash": self.setup.settings["model file"],
            "device": section.device,
            "precision": section.precision,
            "hint": section.hint,
            "mode": section.mode,
            "confidence": section.confidence,
        }


def _formats(request: BatchRequest) -> tuple[Sequence[Format], bool]:
    """Return the conversions, and whether videos are written; the summary always is."""
    saves_video = VIDEO in (name.strip().lower() for name in request.save)
    return chosen_formats([*request.save, "summary"]), saves_video


def _stop_engine(engine: Engine, timeout_s: float) -> None:
    try:
        engine.stop(timeout_s)
    except BaseException:
        # Interrupted: no thread may be left behind all the same.
        engine.hurry()
        engine.stop(0.0)
        raise


def _stopping(stop: Stop) -> str:
    again = "; once more to stop at once" if stop.cause is StopCause.SIGNAL else ""
    return f"{stop.why}: finishing what is on its way{again}"


def _exit_code(
    summary: RunSummary, stop: Stop | None, unconverted: Mapping[str, str], engine: Engine
) -> int:
    if stop is not None and stop.cause is StopCause.SIGNAL:
        return 3 if engine.lost else 130
    if stop is not None and stop.cause is not StopCause.TIME:
        return 1
    has_failed = any(file.state is FileState.FAILED or file.failed_frames for file in summary.files)
    return 1 if has_failed or unconverted else 0
