"""How long work shows its progress: a bar on a terminal, a line a step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from vidpipe.inference.cache import Progress as Tell

_LINE_EVERY_S = 10.0
"""How often a file or a pipe is told how far a long step is."""


@contextmanager
def step_progress(console: Console, clock: Callable[[], float] = time.monotonic) -> Iterator[Tell]:
    """Yield a function that is told the step in words, how much of it is done, and all or 0."""
    if not console.is_terminal:
        told: set[str] = set()
        said_at = clock()

        def tell(step: str, done: int, total: int) -> None:
            nonlocal said_at
            if step in told and clock() - said_at < _LINE_EVERY_S:
                return
            far = f": {done} of {total}" if step in told and total else ""
            told.add(step)
            said_at = clock()
            console.print(f"{step}{far}", markup=False, highlight=False, soft_wrap=True)

        yield tell
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def draw(step: str, done: int, total: int) -> None:
            bar.update(task, description=step, completed=done, total=total or None)

        yield draw
