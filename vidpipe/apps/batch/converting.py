"""Finished results are converted while the next files are analysed, on threads of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from loguru import logger

from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.errors import VidpipeError
from vidpipe.runtime.channel import Channel
from vidpipe.runtime.logs import trace_of
from vidpipe.runtime.supervisor import ThreadGroup

_MOST_WAITING = 10_000_000
_TICK_S = 0.2

Convert = Callable[[ResultFile], object]
"""Converts one file's results; raises VidpipeError; stops soon where the run is in a hurry."""


class Converter:
    """Converts results in the order in which they come; any thread may call."""

    def __init__(self, steps: Sequence[Convert], threads: int) -> None:
        """Begin with nothing; each result goes through all steps on one thread."""
        self._steps = steps
        self._thread_count = threads
        self._results: Channel[ResultFile] = Channel(_MOST_WAITING)
        self._threads = ThreadGroup()
        self._at_work: set[str] = set()
        self.failures: dict[str, str] = {}
        """By the file's name: what could not be made of its results."""

    def start(self) -> None:
        """Convert from now on."""
        for number in range(self._thread_count if self._steps else 0):
            self._threads.spawn(f"vp-convert-{number}", self._run)

    def put(self, result: ResultFile) -> None:
        """Have a file's results converted in their turn."""
        if self._steps:
            self._results.put(result)

    @property
    def left(self) -> int:
        """How many wait, or are being converted."""
        return len(self._results) + len(self._at_work)

    def finish(self, tick: Callable[[], bool]) -> None:
        """Convert what is left, and return; ``tick`` is called meanwhile and says whether to go on.

        What it gives up is converted by the next run.
        """
        self._results.close()
        while self._threads.alive():
            if not tick():
                self._results.abort()
                self._threads.join(_TICK_S)
            else:
                self._threads.join(_TICK_S)

    def drop(self) -> None:
        """Convert no more; what is being converted comes to its end."""
        self._results.abort()

    def conclude(self, step: Callable[[], object]) -> None:
        """Convert the run as a whole, on the thread that asks for it."""
        self._attempt("the run as a whole", step)

    def _run(self) -> None:
        for result in self._results:
            self._convert(result)

    def _convert(self, result: ResultFile) -> None:
        self._at_work.add(result.stem)
        for step in self._steps:
            self._attempt(result.stem, partial(step, result))
        self._at_work.discard(result.stem)

    def _attempt(self, name: str, step: Callable[[], object]) -> None:
        try:
            step()
        except VidpipeError as exc:
            self._fail(name, str(exc))
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one conversion fails
            logger.error("{}: {}", name, trace_of(exc))
            self._fail(name, f"{type(exc).__name__}: {exc}")

    def _fail(self, name: str, error: str) -> None:
        before = self.failures.get(name)
        self.failures[name] = f"{before}; {error}" if before else error
