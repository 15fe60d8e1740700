"""Where a run shows how it stands: a table on a terminal, lines in a log, and its end in both."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

from loguru import logger
from rich.console import Console
from rich.live import Live

from vidpipe.apps.outcome import Failure
from vidpipe.apps.status import (
    closing_lines,
    drops_from_rows,
    line_from_row,
    line_from_rows,
    lines_from_stages,
    lines_from_view,
    screen_from_view,
    table_from_rows,
    table_from_stages,
)
from vidpipe.runtime.logs import FILE_ONLY
from vidpipe.telemetry.board import StatusBoard
from vidpipe.telemetry.rows import RunView
from vidpipe.types import CaptureReport

_TABLE_EVERY_S = 1.0
_LINE_EVERY_S = 10.0


class Display(Protocol):
    """What is shown while a run lasts."""

    def show(self, board: StatusBoard, now_s: float) -> None:
        """Show how things stand, if it is time."""


class Ended(Protocol):
    """What a run says of its end."""

    @property
    def failures(self) -> list[Failure]:
        """What has failed for good."""

    @property
    def lost(self) -> list[str]:
        """What the stop threw away."""

    def reports(self) -> Mapping[str, CaptureReport]:
        """Return what every stream's source was doing."""


class _TableDisplay:
    """A table that is redrawn in place."""

    def __init__(self, live: Live, console: Console) -> None:
        self._live = live
        self._console = console
        self._next_s = 0.0

    def show(self, board: StatusBoard, now_s: float) -> None:
        if now_s >= self._next_s:
            self._next_s = now_s + _TABLE_EVERY_S
            with suppress(OSError):  # the terminal has been closed: the run goes on
                screen = screen_from_view(board.view(now_s), "vidpipe", self._console.height)
                self._live.update(screen, refresh=True)


class _LineDisplay:
    """Two lines now and then."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + _LINE_EVERY_S

    def show(self, board: StatusBoard, now_s: float) -> None:
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_EVERY_S
            view = board.view(now_s)
            logger.info("{}", line_from_rows(view.rows))
            logger.info("{}", "; ".join(lines_from_view(view)))


@contextmanager
def displayed(console: Console) -> Iterator[Display]:
    """Show a run on standard error as long as the ``with`` lasts."""
    if not console.is_terminal:
        yield _LineDisplay()
        return
    live = Live(console=console, auto_refresh=False, transient=True)
    with suppress(OSError):
        live.start()
    try:
        yield _TableDisplay(live, console)
    finally:
        with suppress(OSError):
            live.stop()


@contextmanager
def stderr_for(console: Console) -> Iterator[Callable[[str], object]]:
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


def say_end(run: Ended, view: RunView, console: Console) -> None:
    """Say what every stream did, what failed, and what was lost; ``view`` is the whole run's."""
    to_log = logger
    if console.is_terminal:
        to_log = logger.bind(**{FILE_ONLY: True})
        with suppress(OSError):
            _print_end(view, console)
    for line in (
        *map(line_from_row, view.rows),
        *lines_from_stages(view.stages),
        *closing_lines(view),
    ):
        to_log.info("{}", line)
    for failure in run.failures:
        logger.error("{}", failure)
    failed = {failure.stream for failure in run.failures if failure.part == "source"}
    for stream, report in run.reports().items():
        if report.error and stream not in failed:
            logger.warning("{} was down at the stop: {}", stream, report.error)
    for loss in run.lost:
        logger.error("lost by the stop: {}", loss)


def _print_end(view: RunView, console: Console) -> None:
    console.print(table_from_rows(view.rows, "the whole run"))
    if view.stages:
        console.print(table_from_stages(view.stages))
    for line in (*drops_from_rows(view.rows), *closing_lines(view)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
