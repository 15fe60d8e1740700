"""Where a batch shows how it stands: bars on a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vidpipe.apps.batch.standing import Standing, duration_text, line_from_standing
from vidpipe.runtime.logs import LogWriter
from vidpipe.sources.files import shown

Write = Callable[[str], object]
"""Takes whole lines."""

_BARS_EVERY_S = 0.25
_LINES_EVERY_S = 10.0
_JSON_EVERY_S = 1.0
_MOST_BARS = 12
_BAR_WIDTH = 30
_TABLE_WIDTH = 120
"""Where no terminal says how wide it is."""


class Progress(Protocol):
    """What is shown while a batch runs; for one thread."""

    def show(self, standing: Standing) -> None:
        """Show how it stands, if it is time."""

    def say(self, text: str) -> None:
        """Tell people something."""

    def tell(self, event: str, about: Mapping[str, Any]) -> None:
        """Tell programs something."""


class BarProgress:
    """Bars, redrawn in place."""

    def __init__(self, live: Live, console: Console) -> None:
        """Draw nothing yet."""
        self._live = live
        self._console = console
        self._next_s = 0.0

    def show(self, standing: Standing) -> None:
        """Draw the bars anew."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _BARS_EVERY_S
        with suppress(OSError):  # the terminal has been closed: the run goes on
            self._live.update(bars_from_standing(standing), refresh=True)

    def say(self, text: str) -> None:
        """Write a line above the bars."""
        with suppress(OSError):
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def tell(self, event: str, about: Mapping[str, Any]) -> None:
        """Say nothing: nobody but people looks on."""


class LineProgress:
    """A line now and then."""

    def __init__(self, write: Write) -> None:
        """Write the first one after a while."""
        self._write = write
        self._next_s = time.monotonic() + _LINES_EVERY_S

    def show(self, standing: Standing) -> None:
        """Write a line, if it is time."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _LINES_EVERY_S
            self.say(line_from_standing(standing))

    def say(self, text: str) -> None:
        """Write a line."""
        with suppress(OSError):
            self._write(f"vidpipe: {text}\n")

    def tell(self, event: str, about: Mapping[str, Any]) -> None:
        """Say nothing: nobody but people looks on."""


class JsonProgress:
    """An object a line on standard output for programs, beside lines for people."""

    def __init__(self, write: Write, lines: Progress) -> None:
        """Begin; ``write`` takes the objects."""
        self._write = write
        self._lines = lines
        self._next_s = 0.0

    def show(self, standing: Standing) -> None:
        """Write an object, if it is time."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _JSON_EVERY_S
            self.tell("progress", document_from_standing(standing))
        self._lines.show(standing)

    def say(self, text: str) -> None:
        """Tell people."""
        self._lines.say(text)

    def tell(self, event: str, about: Mapping[str, Any]) -> None:
        """Write an object."""
        with suppress(OSError):  # nobody reads it any more: the work goes on
            self._write(json.dumps({"event": event, **about}, default=str) + "\n")


@contextmanager
def shown_progress(
    console: Console, write: Write, json_write: Write | None = None
) -> Iterator[Progress]:
    """Show a batch as long as the ``with`` lasts.

    Args:
        console: On standard error.
        write: Takes lines for people where there is no terminal.
        json_write: Takes objects for programs, or None where none looks on.
    """
    if json_write is not None:
        yield JsonProgress(json_write, LineProgress(write))
        return
    if not console.is_terminal:
        yield LineProgress(write)
        return
    live = Live(console=console, auto_refresh=False, transient=True)
    with suppress(OSError):
        live.start()
    try:
        yield BarProgress(live, console)
    finally:
        with suppress(OSError):
            live.stop()


@contextmanager
def unhurried(console: Console, write: Write) -> Iterator[Write]:
    """Yield what takes lines for people, and waits for nobody to read them."""
    if console.is_terminal:
        yield write
        return
    writer = LogWriter("lines", write)
    try:
        yield writer.offer
    finally:
        writer.close()


def show_table(table: Table, console: Console, write: Write) -> None:
    """Show a table to people: on their terminal, or as lines."""
    if console.is_terminal:
        with suppress(OSError):  # it has been closed
            console.print(table)
        return
    text = io.StringIO()
    Console(file=text, width=_TABLE_WIDTH).print(table)
    write(text.getvalue())


def bars_from_standing(standing: Standing) -> Group:
    """Return a bar for all, and one a running file."""
    table = Table.grid(padding=(0, 1))
    for file in standing.running[:_MOST_BARS]:
        bar = ProgressBar(total=1.0, completed=file.share, width=_BAR_WIDTH)
        name = Text(shown(Path(file.stem)), overflow="ellipsis", no_wrap=True)
        table.add_row(name, bar, _percent(file.share))
    more = len(standing.running) - _MOST_BARS
    if more > 0:
        table.add_row(Text(f"and {more} more"), Text(""), Text(""))
    total = ProgressBar(total=1.0, completed=standing.share, width=_BAR_WIDTH)
    table.add_row(Text("all", style="bold"), total, _percent(standing.share))
    left = "" if standing.left_s is None else f", {duration_text(standing.left_s)} left"
    failed = f" ({standing.failed} failed)" if standing.failed else ""
    words = (
        f"{standing.done + standing.failed} of {standing.files} files{failed}, "
        f"{standing.frames} frames, {standing.rate_fps:.0f} a second"
    )
    return Group(table, Text(words + (f"; {standing.note}" if standing.note else left)))


def document_from_standing(standing: Standing) -> dict[str, Any]:
    """Return it as JSON has it."""
    return {
        "files": standing.files,
        "done": standing.done,
        "failed": standing.failed,
        "frames": standing.frames,
        "frames_per_second": round(standing.rate_fps, 2),
        "share": round(standing.share, 5),
        "seconds_left": None if standing.left_s is None else round(standing.left_s, 1),
        "running": [
            {"file": file.stem, "share": round(file.share, 4)} for file in standing.running
        ],
        "note": standing.note,
    }


def _percent(share: float) -> Text:
    return Text(f"{100 * share:3.0f} %")
