"""How long work shows its progress: a bar on a terminal, a line a step elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from vidpipe.inference.cache import Progress as Tell


@contextmanager
def step_progress(console: Console) -> Iterator[Tell]:
    """Yield a function that is told the step in words, how much of it is done, and all or 0."""
    if not console.is_terminal:
        told: set[str] = set()

        def tell(step: str, _done: int, _total: int) -> None:
            if step not in told:
                told.add(step)
                console.print(step, markup=False, highlight=False, soft_wrap=True)

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
