"""How a download shows its progress: a bar on a terminal, a line a step elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn


@contextmanager
def download_progress(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that is told the step in words, the bytes done, and all bytes or 0."""
    if not console.is_terminal:
        told: set[str] = set()

        def tell(step: str, _done: int, _total: int) -> None:
            if step not in told:
                told.add(step)
                console.print(step, markup=False, highlight=False, soft_wrap=True)

        yield tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def draw(step: str, done: int, total: int) -> None:
            bar.update(task, description=step, completed=done, total=total or None)

        yield draw
