"""What became of a run: who has ended, what failed, which files there are, and the exit code."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loguru import logger


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that failed for good.

    Attributes:
        stream: The stream's id; empty for a thread that belongs to none.
        part: ``source``, an output's name, or a thread's.
        error: Why, redacted.
    """

    stream: str
    part: str
    error: str


class Outcome:
    """The run's record; every method may be called from any thread."""

    def __init__(self, sinks_of: dict[str, int]) -> None:
        """Expect these streams, each with so many sinks."""
        self._lock = threading.Lock()
        self._sinks_left = dict(sinks_of)
        self._running = set(sinks_of)
        self._failures: list[Failure] = []
        self._files: list[Path] = []
        self.handed_over = threading.Event()
        """Set once every stream's last result has been handed to its sinks."""
        self.all_written = threading.Event()
        """Set once every sink is done."""
        self.crashed = threading.Event()
        """Set when a thread that all depend on has died."""
        self._check_done()

    def end_stream(self, stream: str) -> None:
        """A stream's last result has been handed to its sinks."""
        with self._lock:
            self._running.discard(stream)
        self._check_done()

    def finish_sink(self, stream: str, sink: str, paths: Sequence[str]) -> None:
        """A sink is done, and has left these files."""
        for path in paths:
            logger.bind(stream=stream).info("{} written: {}", sink, path)
        with self._lock:
            self._sinks_left[stream] -= 1
            self._files += map(Path, paths)
        self._check_done()

    def fail(self, stream: str, part: str, error: str) -> None:
        """Something has failed for good."""
        with self._lock:
            self._failures.append(Failure(stream, part, error))

    def crash(self, thread: str, error: BaseException) -> None:
        """A thread has died of an error that nobody foresaw: the run is stopped."""
        logger.opt(exception=error).critical("thread {} died; stopping", thread)
        self.fail("", thread, f"{type(error).__name__}: {error}")
        self.crashed.set()

    @property
    def failures(self) -> list[Failure]:
        """What has failed so far."""
        with self._lock:
            return list(self._failures)

    @property
    def files(self) -> list[Path]:
        """The files that are finished so far."""
        with self._lock:
            return sorted(self._files)

    @property
    def is_done(self) -> bool:
        """True once there is nothing left to wait for."""
        return self.handed_over.is_set() and self.all_written.is_set()

    def _check_done(self) -> None:
        with self._lock:
            if not self._running:
                self.handed_over.set()
            if not any(self._sinks_left.values()):
                self.all_written.set()
