"""The output folder: what lies where in it, and the lock that keeps a second run out."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vidpipe.apps.batch.discover import LEDGER_NAME, STATE_FOLDER
from vidpipe.apps.batch.formats.finishing import is_current
from vidpipe.errors import UsageError

_FAILED = "failed"
_PARTS = "parts"
_LOCK = "lock"
_CONVERTED = (".csv", ".mot.txt", ".contact.jpg", ".mp4")
"""What is made of one input's results."""


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """The paths in an output folder.

    Attributes:
        root: The folder.
    """

    root: Path

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.root / STATE_FOLDER / LEDGER_NAME

    def result(self, stem: str) -> Path:
        """Where the finished results of an input are."""
        return self.root / f"{stem}.jsonl"

    def partial(self, stem: str) -> Path:
        """Where the results of an input are that isn't whole."""
        return self.root / f"{stem}.jsonl.partial"

    def failure(self, stem: str) -> Path:
        """Where it is said why an input failed."""
        return self.root / _FAILED / f"{stem}.json"

    def parts(self, file: int) -> Path:
        """The folder of the parts of a file, by the ledger's number."""
        return self.root / STATE_FOLDER / _PARTS / str(file)

    def part(self, file: int, unit: int) -> Path:
        """Where the lines of one unit grow."""
        return self.parts(file) / f"{unit}.jsonl.partial"

    def remove_parts(self, file: int) -> None:
        """Remove the parts of a file."""
        shutil.rmtree(self.parts(file), ignore_errors=True)

    def forget_results(self, stem: str) -> None:
        """Remove what an earlier analysis of an input has left: it is made anew; raises OSError."""
        result = self.result(stem)
        for suffix in _CONVERTED:
            made = self.root / f"{stem}{suffix}"
            if is_current(made, result):  # it bears their time, and so is nobody else's file
                made.unlink(missing_ok=True)
        for path in (result, self.partial(stem), self.failure(stem)):
            path.unlink(missing_ok=True)


def is_there(path: Path) -> bool:
    """Tell whether a file is there; of a name that can't be, it isn't."""
    try:
        return path.is_file()
    except OSError:
        return False


@contextmanager
def locked(folder: OutputFolder) -> Iterator[None]:
    """Hold the folder as long as the ``with`` lasts; make it where it is missing.

    The lock is the system's: it goes with the process, however that ends.

    Raises:
        UsageError: Another run has it, or it can't be made or written.
    """
    path = folder.root / STATE_FOLDER / _LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as exc:
        raise UsageError(
            f"{folder.root} can't be written ({exc.strerror}): choose another folder"
        ) from exc
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run works in {folder.root}{_holder(descriptor)}: wait for it, or choose "
                "another folder"
            ) from None
        except OSError:
            pass  # a file system without locks
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            about = {"host": socket.gethostname(), "pid": os.getpid()}
            os.pwrite(descriptor, json.dumps(about).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    try:
        about = json.loads(os.pread(descriptor, 1000, 0))
        return f" (process {about['pid']} on {about['host']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
