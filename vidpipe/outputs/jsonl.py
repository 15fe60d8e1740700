"""The JSON Lines sink: one line for each frame that the model was asked about, in order.

A live stream's file is appended to in whole lines, each handed to the system as it is made and
synced about once a second; a line that a former crash cut off is removed first. A recorded
source's file grows as ``name.jsonl.partial`` and gets its name at the end; what a killed run left
behind is neither overwritten nor taken for a whole file.

No frame, no file. The thread that writes also closes.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path

from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.finished import FinishedFiles
from vidpipe.outputs.lines import line_from_result
from vidpipe.outputs.naming import (
    make_folder,
    open_temporary,
    path_from_template,
    publish,
    sync_folder,
    utc_now,
)
from vidpipe.outputs.segments import segment_of
from vidpipe.types import FrameResult, Verdict

_SYNC_EVERY_S = 1.0
_BUFFER_BYTES = 1 << 16
_STEP_BYTES = 1 << 16


class JsonlMode(Enum):
    """How a file comes to be."""

    APPEND = "append"
    """Goes on in an existing file, line by line: for live streams."""
    FINISH = "finish"
    """A new file under a temporary name, named at the end: for recorded sources."""


class JsonlSink:
    """Implements ``Sink`` for one stream and one file."""

    needs_picture = False

    def __init__(
        self,
        template: str,
        mode: JsonlMode,
        *,
        stream: str,
        segment_s: float | None = None,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Open nothing yet.

        Args:
            template: The path, with ``{stream}``, ``{start}`` and ``{n}`` (the file's number).
            mode: Append or finish.
            stream: The stream's id.
            segment_s: A new file begins at multiples of this many seconds of the clock, or None.
            clock: Says when to sync.
            wall_clock: Gives ``{start}`` where the first frame has no time of its own.
        """
        self._template = template
        self._mode = mode
        self._stream = stream
        self._segment_s = segment_s
        self._segment = 0
        self._file_count = 0
        self._finished = FinishedFiles("jsonl", stream)
        self._clock = clock
        self._wall_clock = wall_clock
        self._file: _AppendedFile | _FinishedFile | None = None
        self._place: Path | str = template
        self._synced_at = 0.0
        self._has_failed = False

    def write(self, result: FrameResult) -> None:
        """Write a result's line; a passed frame has none.

        Raises:
            SinkError: The file can't be opened or written.
        """
        if result.verdict is Verdict.PASSED or self._has_failed:
            return
        with self._translated("written"):
            moment = result.frame.time or self._wall_clock()
            segment = segment_of(moment, self._segment_s) if self._segment_s else 0
            if self._file is not None and segment != self._segment:
                self._finished.add(self._file.finish())
                self._file = None
            if self._file is None:
                self._segment = segment
                self._file = self._open(moment)
                self._synced_at = self._clock()
            self._file.write(line_from_result(result))
            if self._clock() - self._synced_at >= _SYNC_EVERY_S:
                self._file.sync()
                self._synced_at = self._clock()

    def close(self) -> list[str]:
        """Finish the file; return the paths of the last finished ones. A second call adds none.

        Raises:
            SinkError: It can't be finished.
        """
        file, self._file = self._file, None
        if file is not None and self._has_failed:
            file.abandon()
        elif file is not None:
            with self._translated("finished"):
                try:
                    self._finished.add(file.finish())
                except OSError:
                    file.abandon()
                    raise
        return self._finished.take()

    def _open(self, start: datetime) -> _AppendedFile | _FinishedFile:
        self._file_count += 1
        path = path_from_template(
            self._template, stream=self._stream, start=start, number=self._file_count
        )
        self._place = path  # which of the streams' files it is, should it not open
        if self._mode is JsonlMode.FINISH:
            return _FinishedFile(path)
        file = _AppendedFile(path)
        if file.mended_bytes:
            logger.bind(stream=self._stream).warning(
                "{}: removed {} bytes of a line that an earlier run had cut off",
                path,
                file.mended_bytes,
            )
        return file

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            self._has_failed = True
            place = self._place if self._file is None else self._file.path
            raise SinkError(
                f"stream {self._stream}: {place} can't be {what}: {exc.strerror or exc}; "
                "check the folder's permissions and the free space"
            ) from exc


class _AppendedFile:
    """A file that grows by whole lines, also where another process appends to it as well.

    Where it is taken away meanwhile (deleted, or renamed by who rotates logs), a new one begins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor, self.mended_bytes = -1, 0
        self._open()

    def _open(self) -> None:
        make_folder(self.path.parent)
        is_new = not self.path.exists()
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            self.mended_bytes = self._mend()
            if is_new:
                sync_folder(self.path.parent)
        except OSError:
            self.abandon()
            raise

    def write(self, line: bytes) -> None:
        try:
            with _locked(self._descriptor, fcntl.LOCK_SH):
                write_all(self._descriptor, line)
        except OSError:
            self._mend()  # a full disk takes a part of the line: nobody shall read that
            raise

    def sync(self) -> None:
        os.fdatasync(self._descriptor)
        if not self._has_its_name():
            self.abandon()
            self._open()

    def _has_its_name(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except OSError:
            return False

    def finish(self) -> Path:
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        return self.path

    def abandon(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _mend(self) -> int:
        """Cut off what stands behind the last line break; return how many bytes that were."""
        with _locked(self._descriptor, fcntl.LOCK_EX):
            size = os.fstat(self._descriptor).st_size
            end = size
            while end > 0:
                start = max(0, end - _STEP_BYTES)
                at = os.pread(self._descriptor, end - start, start).rfind(b"\n")
                if at >= 0:
                    end = start + at + 1
                    break
                end = start
            if end < size:
                os.ftruncate(self._descriptor, end)
            return size - end


class _FinishedFile:
    """A new file that gets its name once it is whole."""

    def __init__(self, path: Path) -> None:
        self._wanted = path
        self._descriptor, self.path = open_temporary(path, is_suffix_last=False)
        self._buffer = bytearray()
        self._size_bytes = 0

    def write(self, line: bytes) -> None:
        self._buffer += line
        if len(self._buffer) >= _BUFFER_BYTES:
            self._flush()

    def sync(self) -> None:
        """Hand over what is buffered; the disk has time until the end."""
        self._flush()

    def finish(self) -> Path:
        self._flush()
        os.fsync(self._descriptor)
        if os.fstat(self._descriptor).st_size != self._size_bytes:
            raise OSError(None, f"its size is not the {self._size_bytes} bytes that were written")
        os.close(self._descriptor)
        self._descriptor = -1
        return publish(self.path, self._wanted)

    def abandon(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _flush(self) -> None:
        try:
            write_all(self._descriptor, self._buffer)
        except OSError:
            whole = self._size_bytes + self._buffer[: self._written()].rfind(b"\n") + 1
            os.ftruncate(self._descriptor, whole)
            raise
        self._size_bytes += len(self._buffer)
        self._buffer = bytearray()

    def _written(self) -> int:
        return os.fstat(self._descriptor).st_size - self._size_bytes


def write_all(descriptor: int, content: bytes | bytearray) -> None:
    """Write everything; one call of the system takes it all but on a full disk."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _locked(descriptor: int, kind: int) -> Iterator[None]:
    """Hold an advisory lock on a file, where its file system has such."""
    try:
        fcntl.flock(descriptor, kind)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
