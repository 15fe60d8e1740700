"""How far a bench has come: a bar with the time left on a terminal, a line a run elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from vidpipe.interfaces import Clock


class BenchProgress:
    """Counts runs, and reckons the time left from what those before have taken."""

    def __init__(
        self,
        console: Console,
        bar: Progress | None,
        *,
        expected_s: float,
        clock: Clock = time.monotonic,
    ) -> None:
        """Begin with no runs.

        Args:
            console: On standard error.
            bar: Where to draw it; None for plain lines.
            expected_s: What to take a run's time for until one has ended.
            clock: Monotonic seconds.
        """
        self._console = console
        self._bar = bar
        self._task: TaskID | None = bar.add_task("", total=None, left="") if bar else None
        self._expected_s = expected_s
        self._clock = clock
        self._total = 0
        self._later = 0
        self._done = 0
        self._spent_s = 0.0
        self._began_at: float | None = None

    def expect(self, runs: int) -> None:
        """So many runs more are to come; fewer if negative."""
        self._total += runs

    def expect_later(self, runs: int) -> None:
        """About so many runs will be expected in time; what has been is taken off again."""
        self._later += runs

    def begin(self, what: str) -> None:
        """A run begins."""
        self._began_at = self._clock()
        left = f"{_shown(self.left_s())} left"
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                description=what,
                completed=self._done,
                total=max(self._total + self._later, 1),
                left=left,
            )
        else:
            total = self._total + self._later
            self.say(f"[{min(self._done + 1, total)}/{total}] {what} ({left})")

    def end(self) -> None:
        """It has ended."""
        if self._began_at is not None:
            self._spent_s += self._clock() - self._began_at
            self._began_at = None
        self._done += 1

    def say(self, text: str) -> None:
        """Print a line for people."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def left_s(self) -> float:
        """Return about how many seconds are to come, the run under way included."""
        each_s = self._spent_s / self._done if self._done else self._expected_s
        return each_s * max(0, self._total + self._later - self._done)


@contextmanager
def bench_progress(console: Console, *, expected_s: float) -> Iterator[BenchProgress]:
    """Yield the progress that suits where it is shown."""
    if not console.is_terminal:
        yield BenchProgress(console, None, expected_s=expected_s)
        return
    columns = (
        BarColumn(bar_width=20),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield BenchProgress(console, bar, expected_s=expected_s)


def _shown(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"
