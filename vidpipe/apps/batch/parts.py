"""Where the lines of one unit grow, and how they are taken up again after whatever happened.

A part holds whole lines, written out some times a second and synced every few seconds. So a killed
process loses a moment's work, and what a power cut leaves behind is checked line by line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.jsonl import write_all
from vidpipe.outputs.lines import line_from_result
from vidpipe.outputs.naming import make_folder, sync_folder
from vidpipe.outputs.storage import is_full
from vidpipe.types import FrameResult, Verdict

WRITE_EVERY_S = 0.1
"""What a SIGKILL costs at most, in results of one unit."""

_SYNC_EVERY_S = 5.0
_BUFFER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Recovered:
    """What there is of a part.

    Attributes:
        lines: Whole and sound lines.
        size_bytes: Their length.
        failed: How many of them tell of a frame that the model didn't answer.
    """

    lines: int = 0
    size_bytes: int = 0
    failed: int = 0


def recover(path: Path) -> Recovered:
    """Return what can be kept of a part: its lines up to the first that isn't sound.

    Raises:
        OSError: It is there, but can't be read.
    """
    lines = size = failed = 0
    try:
        with path.open("rb") as file:
            for length, has_failed in _sound_lines(file):
                lines, size, failed = lines + 1, size + length, failed + has_failed
    except FileNotFoundError:
        return Recovered()
    return Recovered(lines, size, failed)


def _sound_lines(file: BinaryIO) -> Iterator[tuple[int, bool]]:
    """Yield each line's length, and whether it tells of a failure."""
    last = -1
    for line in file:
        try:
            document = json.loads(line)
            frame = int(document["frame"])
            has_failed = document["error"] is not None
        except (ValueError, KeyError, TypeError):
            return
        if not line.endswith(b"\n") or frame <= last:
            return
        last = frame
        yield len(line), has_failed


class PartSink:
    """Implements ``Sink`` for one unit: its lines, under its file's name.

    Attributes:
        lines: How many there are, with those that were recovered; any thread may look.
        failed: How many of them tell of a frame that the model didn't answer.
        size_bytes: Their length, as far as they are written.
        is_full: The disk was.
        error: Why nothing more was written; None if all was.
    """

    needs_picture = False

    def __init__(
        self, path: Path, stream: str, recovered: Recovered, clock: Clock = time.monotonic
    ) -> None:
        """Open nothing yet.

        Args:
            path: The part's file; what is in it beyond what was recovered is cut off.
            stream: What the lines call their stream.
            recovered: What there is of it already.
            clock: Monotonic seconds.
        """
        self._path = path
        self._stream = stream
        self._clock = clock
        self._file: BinaryIO | None = None
        self._buffer = bytearray()
        self._written_at = self._synced_at = clock()
        self.lines = recovered.lines
        self.failed = recovered.failed
        self.size_bytes = recovered.size_bytes
        self.is_full = False
        self.error: str | None = None

    def write(self, result: FrameResult) -> None:
        """Take a result's line.

        Raises:
            SinkError: It can't be written; whole lines are left.
        """
        named = replace(result, frame=replace(result.frame, stream=self._stream))
        self._buffer += line_from_result(named)
        self.lines += 1
        self.failed += result.verdict is Verdict.FAILED
        now_s = self._clock()
        if len(self._buffer) >= _BUFFER_BYTES or now_s - self._written_at >= WRITE_EVERY_S:
            self._written_at = now_s
            self._flush(is_synced=now_s - self._synced_at >= _SYNC_EVERY_S)

    def close(self) -> list[str]:
        """Put all on the disk; nobody is told of a file, since it is a part of one.

        Raises:
            SinkError: It can't be written.
        """
        try:
            if self.error is None:
                self._flush(is_synced=True)
                sync_folder(self._path.parent)
        finally:
            if self._file is not None:
                self._file.close()
                self._file = None
        return []

    def _flush(self, *, is_synced: bool) -> None:
        try:
            file = self._file or self._opened()
            write_all(file.fileno(), self._buffer)
            self.size_bytes += len(self._buffer)
            self._buffer = bytearray()
            if is_synced:
                os.fsync(file.fileno())
                self._synced_at = self._clock()
        except OSError as exc:
            self.is_full = is_full(exc)
            self.error = f"{self._path} can't be written: {exc.strerror or exc}"
            raise SinkError(self.error) from exc

    def _opened(self) -> BinaryIO:
        make_folder(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        if os.fstat(descriptor).st_size != self.size_bytes:
            os.ftruncate(descriptor, self.size_bytes)
        os.lseek(descriptor, 0, os.SEEK_END)
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        return self._file
