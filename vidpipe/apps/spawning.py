"""Worker processes as their parent starts them, and one that waits for its task.

Loading OpenVINO and the rest takes a second or two, so one process is kept that has done so
already: it takes the place of the next one that dies. It costs some 120 MB and no time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO

from loguru import logger

from vidpipe.apps.messages import Order, Task
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import ThreadGroup

SPARE_AFTER_S = 1.0
"""The spare isn't loaded while the others start, nor in a run that is over at once."""

_REAP_S = 5.0
_LINE_BYTES = 4096
_PROGRAM = Path(__file__).with_name("worker.py")


@dataclass(slots=True)
class Child:
    """One process of a worker.

    Attributes:
        process: The process.
        pipe: To it; records of ``vidpipe.apps.messages``.
        name: What log lines call it.
    """

    process: subprocess.Popen[bytes]
    pipe: Connection
    name: str
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: ThreadGroup = field(default_factory=ThreadGroup)

    def listen(self) -> None:
        """Log what native libraries, or a crash, have to say."""
        assert self.process.stdout is not None
        output = self.process.stdout
        self._threads.spawn(f"vp-err-{self.process.pid}", lambda: self._log(output), may_hang=True)

    def tell(self, order: Order | Task) -> None:
        """Send something; a process that is gone needs no orders."""
        with self._lock, suppress(OSError):
            self.pipe.send(order)

    def reap(self) -> int:
        """Wait for the end of a process that says no more; return its exit code as Popen does."""
        try:
            code = self.process.wait(_REAP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._threads.join(1.0)
        with self._lock:
            self.pipe.close()
        return code

    def _log(self, output: IO[bytes]) -> None:
        with output:
            while data := output.readline(_LINE_BYTES):
                text = data.decode("utf-8", "replace").rstrip()
                if text:
                    logger.warning("{}: {}", self.name, redact(text))


def spawn(name: str, processors: Sequence[int] = ()) -> Child:
    """Start a process that waits for its task, bound to processors from its first breath.

    The kernel kills it when the calling thread ends: that has to be the one to end last.
    """
    ours, theirs = Pipe()
    # Its own handlers come later than Ctrl+C may.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), str(theirs.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs.fileno(),),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    child = Child(process, ours, name)
    child.listen()
    with suppress(OSError):  # it is gone already: whoever listens will see
        ours.send((sys.path, tuple(processors)))
    return child


class Spare:
    """At most one process that waits; may be used by several threads that all end last."""

    def __init__(self) -> None:
        """Begin without one."""
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._due_s = time.monotonic() + SPARE_AFTER_S
        self._is_closed = False

    def fill(self) -> None:
        """Start one, if none is there and it is time."""
        with self._lock:
            if self._child is None and not self._is_closed and time.monotonic() >= self._due_s:
                self._due_s = time.monotonic() + SPARE_AFTER_S
                with suppress(OSError):  # no memory, no process: then there is none
                    self._child = spawn("a spare worker")

    def take(self, name: str) -> Child | None:
        """Return the process that waits, if there is one; it has a name from now on."""
        with self._lock:
            child, self._child = self._child, None
            self._due_s = time.monotonic() + SPARE_AFTER_S
        if child is None:
            return None
        if child.process.poll() is not None:
            child.reap()
            return None
        child.name = name
        return child

    def close(self) -> None:
        """End the process that waits; start no other."""
        with self._lock:
            self._is_closed = True
            child, self._child = self._child, None
        if child is not None:
            child.process.kill()
            child.reap()
