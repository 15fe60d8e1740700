"""``vidpipe run``: a configuration from its start to its exit code."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loguru import logger
from rich.console import Console

from vidpipe.apps.controls import Load
from vidpipe.apps.deployment import Deployment
from vidpipe.apps.display import displayed, say_end, stderr_for
from vidpipe.apps.exhibition import exhibition_of
from vidpipe.apps.fleet import Fleet
from vidpipe.apps.muster import Muster
from vidpipe.apps.onlooker import Onlooker
from vidpipe.apps.outcome import Failure
from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.share import shares
from vidpipe.apps.signals import StopSignals
from vidpipe.apps.systemd import ServiceNotice
from vidpipe.apps.topology import numa_nodes
from vidpipe.apps.upkeep import ConfigSource, Maintained, Upkeep
from vidpipe.config.schema import Config, ServerConfig
from vidpipe.runtime.logs import Logging
from vidpipe.runtime.supervisor import take_short_turns
from vidpipe.server.control import Control
from vidpipe.server.detector import Detector
from vidpipe.server.shown import Show
from vidpipe.shots import Gallery
from vidpipe.telemetry.board import StatusBoard
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.rows import StreamRow

_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        exit_code: The process's.
        rows: Every stream over the whole run.
        seconds: How long it ran, from the start of the threads to the end of the last sink.
        files: What the sinks finished.
    """

    exit_code: int
    rows: tuple[StreamRow, ...]
    seconds: float
    files: tuple[Path, ...]


class _Run(Overview, Control, Maintained, Protocol):
    """A run in this process or in several, as a ``Pipeline`` is."""

    @property
    def is_done(self) -> bool: ...
    @property
    def failures(self) -> list[Failure]: ...
    @property
    def files(self) -> list[Path]: ...
    @property
    def lost(self) -> list[str]: ...
    @property
    def exit_code(self) -> int: ...
    @property
    def detector(self) -> Detector: ...
    @property
    def gallery(self) -> Gallery | None: ...
    def start(self, *, with_results: bool) -> None: ...
    def hurry(self) -> None: ...
    def close(self) -> None: ...


def _built(config: Config, load: Load | None) -> _Run:
    """Return the run of a configuration, in as many processes as it wants."""
    parts = shares(config, numa_nodes())
    return Pipeline(config, load=load) if len(parts) == 1 else Fleet(config, parts, load)


@contextmanager
def _served(server: ServerConfig | None, announce: Callable[[str], None] | None) -> Iterator[Show]:
    """Serve while the ``with`` lasts, if that is configured; yield what shows a run."""
    if server is None:
        yield lambda *_, **__: None
        return
    # 0.2 s of CPU, for which a run without a server needn't wait.
    from vidpipe.server.service import serving  # noqa: PLC0415

    with serving(server, announce) as show:
        yield show


def run(
    config: Config,
    signals: StopSignals,
    console: Console,
    *,
    duration_s: float | None = None,
    is_strict: bool = False,
    requires_all: bool = False,
    source: ConfigSource | None = None,
    announce: Callable[[str], None] | None = None,
    onlooker: Onlooker | None = None,
) -> RunResult:
    """Run every stream until a signal, the duration's end, or the end of all files.

    Args:
        config: What to run.
        signals: Installed already, so that an interrupt during the start is known as one.
        console: On standard error.
        duration_s: When to stop by itself.
        is_strict: True: a difference from the manifest of the last start is an error.
        requires_all: True: a stream that shows no picture within its time to open is an error.
        source: Where the configuration comes from, to be read again; None: it never is.
        announce: Is called with the server's address once it listens.
        onlooker: Looks at the run all the while, and may end it.

    Raises:
        ModelError: A model can't be used. Nothing has been started then.
        FetchError: A model of the zoo can't be fetched.
        UsageError: The server's address, the log file or the manifest can't be used; or it is to
            be strict, and the deployment isn't what it was; or a stream isn't up that has to be.
        KeyboardInterrupt: A signal came before the start.
    """
    take_short_turns()
    telemetry = config.telemetry
    with (
        stderr_for(console) as write,
        Logging(level=telemetry.log_level, stderr=write, file=telemetry.log_file),
        _served(config.server, announce) as serve,
    ):
        deployment = Deployment(config, is_strict=is_strict)
        pipeline = _built(config, source.load if source is not None else None)
        try:
            signals.arm(pipeline.hurry)
            deployment.begin(pipeline.models())
        except BaseException:
            pipeline.close()
            raise
        started_at = time.monotonic()
        until_s = math.inf if duration_s is None else started_at + duration_s
        board = StatusBoard(pipeline, started_at)
        muster = Muster(config, started_at) if requires_all else None
        try:
            pictures = exhibition_of(config, pipeline.gallery)
            serve(pipeline, control=pipeline, detector=pipeline.detector, pictures=pictures)
            if onlooker is not None:
                onlooker.begin(pipeline, pictures)
            pipeline.start(with_results=False)
            upkeep = Upkeep(pipeline, deployment, source, ServiceNotice(), signals.take_reload)
            with displayed(console) as display:

                def tend(now_s: float) -> None:
                    upkeep.tend(now_s)
                    if muster is not None:
                        muster.check(pipeline.reports(), now_s)
                    display.show(board, now_s)

                _watch(pipeline, signals, until_s, tend, onlooker)
            upkeep.end()
        finally:
            if onlooker is not None:
                onlooker.end()
            pipeline.close()
        now_s = time.monotonic()
        view = board.whole_run(now_s)
        say_end(pipeline, view, console)
        code, files = pipeline.exit_code, tuple(pipeline.files)
    return RunResult(code, view.rows, now_s - started_at, files)


def _watch(
    pipeline: _Run,
    signals: StopSignals,
    until_s: float,
    tend: Callable[[float], None],
    onlooker: Onlooker | None,
) -> None:
    """Wait for a reason to stop; ``tend`` is called all the while.

    Raises:
        UsageError: By ``tend``: the run may not go on.
    """
    while not pipeline.is_done:
        now_s = time.monotonic()
        if now_s >= until_s:
            return
        wait_s = min(_TICK_S, until_s - now_s)
        if signals.wait(0.0 if onlooker else wait_s):
            logger.info("{}: stopping; once more to stop at once", signals.name)
            return
        if onlooker is not None and not onlooker.look(wait_s):
            logger.info("the window was closed: stopping")
            return
        tend(time.monotonic())
