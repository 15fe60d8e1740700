"""What became of a run: who has ended, what failed, which files there are, and the exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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


class StreamRecord:
    """One life of a stream; every method may be called from any thread."""

    def __init__(self, stream: str, sinks: int, outcome: Outcome) -> None:
        """Expect so many sinks; for ``Outcome.expect``."""
        self.stream = stream
        self.handed_over = threading.Event()
        """Set once the last result has been handed to the sinks."""
        self.done = threading.Event()
        """Set once nothing more will come of it: handed over, and every sink is done."""
        self._outcome = outcome
        self._lock = threading.Lock()
        self._sinks_left = sinks
        self._failures: list[Failure] = []
        self._files: list[Path] = []
        self._on_done: Callable[[], None] | None = None

    def expect_sink(self) -> None:
        """Wait for one sink more; before the start."""
        with self._lock:
            self._sinks_left += 1
        self._outcome.expect_writing()

    def tell_end(self, listener: Callable[[], None]) -> None:
        """Have a listener called once it is done, on one of the engine's threads; before then."""
        self._on_done = listener

    def end_stream(self) -> None:
        """The last result has been handed to the sinks."""
        self.handed_over.set()
        self._check_done()

    def finish_sink(self, paths: Sequence[str]) -> None:
        """A sink is done, and has left these files."""
        files = [Path(path) for path in paths]
        with self._lock:
            self._sinks_left -= 1
            self._files += files
        self._outcome.note_files(files)
        self._check_done()

    def fail(self, part: str, error: str) -> None:
        """Something of it has failed for good."""
        with self._lock:
            self._failures.append(Failure(self.stream, part, error))

    @property
    def is_written(self) -> bool:
        """True once every sink is done."""
        return not self._sinks_left

    @property
    def failures(self) -> list[Failure]:
        """What has failed so far."""
        with self._lock:
            return list(self._failures)

    @property
    def files(self) -> list[Path]:
        """The files that are finished so far, in that order."""
        with self._lock:
            return list(self._files)

    def _check_done(self) -> None:
        with self._lock:
            is_first = self.handed_over.is_set() and not self._sinks_left and not self.done.is_set()
            if is_first:
                self.done.set()
        if is_first and self._on_done is not None:
            self._on_done()
        self._outcome.check_done()


class Outcome:
    """The run's record; every method may be called from any thread."""

    def __init__(self, sinks_of: Mapping[str, int] | None = None) -> None:
        """Expect these streams, each with so many sinks, and those to come."""
        self._lock = threading.Lock()
        self._records: dict[str, StreamRecord] = {}
        self._failures: list[Failure] = []
        self._files: list[Path] = []
        self._on_crash: list[Callable[[], None]] = []
        self._on_over: list[Callable[[], None]] = []
        self._holds = 0
        self.handed_over = threading.Event()
        """Set once every stream's last result has been handed to its sinks."""
        self.all_written = threading.Event()
        """Set once every sink is done."""
        self.crashed = threading.Event()
        """Set when the run can't go on: a thread that all depend on has died."""
        self.over = threading.Event()
        """Set once there is nothing left to wait for: all is done, or the run has crashed.

        Where nobody is expected, as when every stream is disabled, somebody may come yet.
        """
        for stream, sinks in (sinks_of or {}).items():
            self.expect(stream, sinks)
        self.check_done()

    def expect(self, stream: str, sinks: int) -> StreamRecord:
        """Wait for a stream more, or for its next life."""
        record = StreamRecord(stream, sinks, self)
        with self._lock:
            self._records[stream] = record
            self.handed_over.clear()
            self.all_written.clear()
        return record

    def expect_writing(self) -> None:
        """A stream that was expected has a sink more."""
        with self._lock:
            self.all_written.clear()

    def forget(self, record: StreamRecord) -> None:
        """Wait for it no more; what failed of it counts no more."""
        with self._lock:
            if self._records.get(record.stream) is record:
                del self._records[record.stream]
            self._failures = [one for one in self._failures if one.stream != record.stream]
        self.check_done()

    def hold(self) -> None:
        """Streams are being changed: that there is none for a while is no end."""
        with self._lock:
            self._holds += 1

    def let_go(self) -> None:
        """They have been."""
        with self._lock:
            self._holds -= 1
        self.check_done()

    def tell_crash(self, listener: Callable[[], None]) -> None:
        """Have a listener called when the run crashes; before the start."""
        self._on_crash.append(listener)

    def tell_over(self, listener: Callable[[], None]) -> None:
        """Have a listener called once there is nothing left to wait for; before the start."""
        self._on_over.append(listener)

    def note_files(self, files: Sequence[Path]) -> None:
        """A sink has finished these."""
        with self._lock:
            self._files += files

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
        self._end()
        for listener in self._on_crash:
            listener()

    @property
    def failures(self) -> list[Failure]:
        """What has failed so far."""
        with self._lock:
            records = list(self._records.values())
            failures = list(self._failures)
        return [*(one for record in records for one in record.failures), *failures]

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
            return frozenset(s for s, record in self._records.items() if record.done.is_set())

    @property
    def is_done(self) -> bool:
        """True once there is nothing left to wait for."""
        return self.handed_over.is_set() and self.all_written.is_set()

    def check_done(self) -> None:
        """See whether there is anything left to wait for."""
        with self._lock:
            records = self._records.values()
            if all(record.handed_over.is_set() for record in records):
                self.handed_over.set()
            if all(record.is_written for record in records):
                self.all_written.set()
            is_over = self.is_done and bool(self._records) and not self._holds
        if is_over:
            self._end()

    def _end(self) -> None:
        with self._lock:
            is_first = not self.over.is_set()
            self.over.set()
        for listener in self._on_over if is_first else ():
            listener()
