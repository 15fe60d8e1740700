"""Programs that do the parts of one job, held to the same progress: none is far ahead of another.

Left alone, the light parts of a pipeline would make many more frames than the heavy ones, and their
traffic in caches and memory would slow these more than it does in a run. Coupled, each part makes
what the run makes of it, and together they still take the whole machine.

The programs share a file of numbers, one a program, in which each writes its own: no lock, since
eight aligned bytes are written at once.
"""

from __future__ import annotations

import math
import mmap
import time
from array import array
from pathlib import Path
from types import TracebackType
from typing import Self

_STARTING = -1.0

LEAD = 8.0
"""How far a program may be ahead of the slowest, in frames of the whole job: enough that one that
sleeps is never waited for."""

_PAUSE_S = 0.002
_LONGEST_START_S = 300.0


def make_board(path: Path, programs: int) -> None:
    """Make the file in which so many programs write their progress."""
    path.write_bytes(array("d", [_STARTING] * programs).tobytes())


class Coupling:
    """One program's view of the board; used by one thread, as a ``with``."""

    def __init__(self, path: Path, index: int, programs: int) -> None:
        """Open the file that ``make_board`` made.

        Args:
            path: The file.
            index: Which of the programs this is, from 0.
            programs: How many there are.
        """
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), programs * array("d").itemsize)
        self._bytes = memoryview(self._memory)
        self._board = self._bytes.cast("d")
        self._index = index
        self._waiting_cpu_s = 0.0

    def begin(self) -> bool:
        """Say that this program is ready, and wait until all are; False if one never is."""
        self._board[self._index] = 0.0
        deadline = time.monotonic() + _LONGEST_START_S
        while min(self._board) < 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def advance(self, progress: float, until: float) -> None:
        """Note this program's progress, and wait while it is too far ahead of the slowest.

        Args:
            progress: Frames of the whole job that it has done its part for.
            until: The moment, in monotonic seconds, from which there is nothing to wait for.
        """
        self._board[self._index] = progress
        if progress <= min(self._board) + LEAD:
            return
        began_s = time.thread_time()
        while progress > min(self._board) + LEAD and time.monotonic() < until:
            time.sleep(_PAUSE_S)
        self._waiting_cpu_s += time.thread_time() - began_s

    @property
    def waiting_cpu_s(self) -> float:
        """The CPU seconds that the waiting itself has taken: no part of anyone's work."""
        return self._waiting_cpu_s

    def end(self) -> None:
        """Let nobody wait for this program any more."""
        self._board[self._index] = math.inf

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let nobody wait, and close the file."""
        self.end()
        self._board.release()
        self._bytes.release()
        self._memory.close()
