"""``vidpipe run``: a configuration from its start to its exit code."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loguru import logger
from rich.console import Console
from rich.live import Live

from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.signals import StopSignals
from vidpipe.apps.status import (
    StatusBoard,
    StreamRow,
    drops_from_rows,
    line_from_row,
    line_from_rows,
    table_from_rows,
)
from vidpipe.config.schema import Config
from vidpipe.runtime.logs import Logging

_TICK_S = 0.1
_TABLE_EVERY_S = 1.0
_LINE_EVERY_S = 10.0
_SWITCH_INTERVAL_S = 0.001
"""How long one Python thread may keep the others waiting; the default is five times that, and a
callback that waits so long keeps a device idle."""


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


_Write = Callable[[str], object]


class _Display(Protocol):
    def show(self, board: StatusBoard, now_s: float) -> None:
        """Show how things stand, if it is time."""


def run(
    config: Config, signals: StopSignals, console: Console, *, duration_s: float | None = None
) -> RunResult:
    """Run every stream until a signal, the duration's end, or the end of all files.

    Args:
        config: What to run.
        signals: Installed already, so that an interrupt during the start is known as one.
        console: On standard error.
        duration_s: When to stop by itself.

    Raises:
        ModelError: A model can't be used. Nothing has been started then.
        FetchError: A model of the zoo can't be fetched.
        KeyboardInterrupt: A signal came before the start.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    telemetry = config.telemetry
    with (
        _stderr_for(console) as write,
        Logging(level=telemetry.log_level, stderr=write, file=telemetry.log_file),
    ):
        pipeline = Pipeline(config)
        signals.arm(pipeline.hurry)
        started_at = time.monotonic()
        until_s = math.inf if duration_s is None else started_at + duration_s
        board = StatusBoard(pipeline, started_at)
        try:
            pipeline.start(with_results=False)
            with _display(console) as display:
                _watch(pipeline, signals, board, display, until_s)
        finally:
            pipeline.close()
        now_s = time.monotonic()
        rows = board.whole_run(now_s)
        _say_end(pipeline, rows, console)
        code, files = pipeline.exit_code, tuple(pipeline.files)
    return RunResult(code, tuple(rows), now_s - started_at, files)


def _watch(
    pipeline: Pipeline,
    signals: StopSignals,
    board: StatusBoard,
    display: _Display,
    until_s: float,
) -> None:
    """Wait for a reason to stop, showing how things stand."""
    while not pipeline.is_done:
        now_s = time.monotonic()
        if now_s >= until_s:
            return
        if signals.wait(min(_TICK_S, until_s - now_s)):
            logger.info("{}: stopping; once more to stop at once", signals.name)
            return
        display.show(board, time.monotonic())


class _TableDisplay:
    """A table that is redrawn in place."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._next_s = 0.0

    def show(self, board: StatusBoard, now_s: float) -> None:
        if now_s >= self._next_s:
            self._next_s = now_s + _TABLE_EVERY_S
            with suppress(OSError):  # the terminal has been closed: the run goes on
                self._live.update(table_from_rows(board.rows(now_s), "vidpipe"), refresh=True)


class _LineDisplay:
    """A line now and then."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + _LINE_EVERY_S

    def show(self, board: StatusBoard, now_s: float) -> None:
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_EVERY_S
            logger.info("{}", line_from_rows(board.rows(now_s)))


@contextmanager
def _display(console: Console) -> Iterator[_Display]:
    if not console.is_terminal:
        yield _LineDisplay()
        return
    live = Live(console=console, auto_refresh=False, transient=True)
    with suppress(OSError):
        live.start()
    try:
        yield _TableDisplay(live)
    finally:
        with suppress(OSError):
            live.stop()


@contextmanager
def _stderr_for(console: Console) -> Iterator[_Write]:
    """Yield what writes log lines: above the table on a terminal, else straight to the descriptor.

    Not through ``sys.stderr``: a thread held by a full pipe would keep that one's lock at exit.
    """
    if console.is_terminal:
        yield lambda line: console.print(
            line, end="", markup=False, highlight=False, soft_wrap=True
        )
    else:
        yield lambda line: _write_all(sys.stderr.fileno(), line.encode("utf-8", "replace"))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _say_end(pipeline: Pipeline, rows: list[StreamRow], console: Console) -> None:
    """Say what every stream did, what failed, and what was lost."""
    if console.is_terminal:
        with suppress(OSError):
            console.print(table_from_rows(rows, "the whole run"))
            for line in drops_from_rows(rows):
                console.print(line, markup=False, highlight=False)
    else:
        for row in rows:
            logger.info("{}", line_from_row(row))
    failures = pipeline.failures
    for failure in failures:
        logger.error("{}", failure)
    failed = {failure.stream for failure in failures if failure.part == "source"}
    for stream, report in pipeline.reports().items():
        if report.error and stream not in failed:
            logger.warning("{} was down at the stop: {}", stream, report.error)
    for loss in pipeline.lost:
        logger.error("lost by the stop: {}", loss)
