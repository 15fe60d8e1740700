"""What became of a run: who has ended, what failed, which files there are, and the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loguru import logger

from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.meters import StreamStats
from vidpipe.types import CaptureReport


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

    def __str__(self) -> str:
        """The line that a person reads."""
        return f"{self.stream or 'vidpipe'} {self.part}: {self.error}"


def never_up(stream: str, report: CaptureReport) -> Iterator[Failure]:
    """Yield the failure of a live stream that was never up, once the run is over."""
    if not report.has_been_up:
        why = report.error or "still opening"
        yield Failure(stream, "source", f"never came up: {why}")


def unanswered(stream: str, stats: StreamStats) -> Iterator[Failure]:
    """Yield the failure of a stream some of whose frames the model didn't answer."""
    count = stats.errors.get("inference")
    if count:
        yield Failure(stream, "model", f"frames that failed: {count}")


class Outcome:
    """The run's record; every method may be called from any thread."""

    def __init__(self, sinks_of: dict[str, int]) -> None:
        """Expect these streams, each with so many sinks."""
        self._lock = threading.Lock()
        self._sinks_left = dict(sinks_of)
        self._running = set(sinks_of)
        self._failures: list[Failure] = []
        self._files: list[Path] = []
        self._on_crash: list[Callable[[], None]] = []
        self.handed_over = threading.Event()
        """Set once every stream's last result has been handed to its sinks."""
        self.all_written = threading.Event()
        """Set once every sink is done."""
        self.crashed = threading.Event()
        """Set when the run can't go on: a thread that all depend on has died."""
        self.over = threading.Event()
        """Set once there is nothing left to wait for: all is done, or the run has crashed."""
        self._check_done()

    def expect_sink(self, stream: str) -> None:
        """Wait for one sink more; before the start."""
        with self._lock:
            self._sinks_left[stream] += 1
        for event in (self.all_written, self.over):
            event.clear()

    def tell_crash(self, listener: Callable[[], None]) -> None:
        """Have a listener called when the run crashes; before the start."""
        self._on_crash.append(listener)

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
        logger.critical("thread {} died; stopping: {}", thread, trace_of(error))
        self.give_up(thread, error)

    def give_up(self, part: str, error: BaseException) -> None:
        """The run can't go on."""
        self.fail("", part, redact(f"{type(error).__name__}: {error}"))
        self.crashed.set()
        self.over.set()
        for listener in self._on_crash:
            listener()

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

    def files_from(self, first: int) -> list[Path]:
        """Return the finished files but for so many, in the order in which they were finished."""
        with self._lock:
            return self._files[first:]

    @property
    def ended(self) -> frozenset[str]:
        """The streams of which nothing more will come: handed over and written."""
        with self._lock:
            return frozenset(
                stream
                for stream, left in self._sinks_left.items()
                if not left and stream not in self._running
            )

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
        if self.is_done:
            self.over.set()
