"""Threads: started by name, joined by deadline; the only place that makes any.

A thread that may be held by a native call (an open, a read, a write to a pipe that nobody reads) is
a daemon and can be abandoned; every other one is joined.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from loguru import logger

T = TypeVar("T")

_OS_NAME_LENGTH = 15

_TURN_S = 0.001
"""How long one Python thread may keep the others waiting; the default is five times that, and a
callback that waits so long keeps a device idle."""


def take_short_turns() -> None:
    """Let the threads of this process hand the interpreter on quickly; once, before they start."""
    sys.setswitchinterval(_TURN_S)


class ThreadGroup:
    """The threads of one run.

    ``on_crash`` is called on the thread that died, with its name and the exception that nobody
    caught. Without it, the exception is logged.
    """

    def __init__(self, on_crash: Callable[[str, BaseException], None] | None = None) -> None:
        """Begin with no threads."""
        self._on_crash = on_crash or _log_crash
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def spawn(self, name: str, target: Callable[[], None], *, may_hang: bool = False) -> None:
        """Start a thread; ``may_hang``: a native call can hold it, exit doesn't wait for it."""

        def run() -> None:
            _name_for_the_system(name)
            try:
                target()
            except BaseException as exc:  # noqa: BLE001 - the boundary of a stage
                self._on_crash(name, exc)

        thread = threading.Thread(target=run, name=name, daemon=may_hang)
        with self._lock:
            # Streams come and go for months: the dead are forgotten here.
            self._threads = [known for known in self._threads if known.is_alive()]
            thread.start()  # first: one that can't be started must not be joined
            self._threads.append(thread)

    def join(self, timeout_s: float) -> list[str]:
        """Wait for all threads, so long altogether; return the names of those still alive."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        return self.alive()

    def alive(self) -> list[str]:
        """Return the names of the threads that are still running."""
        with self._lock:
            return [thread.name for thread in self._threads if thread.is_alive()]


def call_with_deadline(
    function: Callable[[], T],
    timeout_s: float,
    name: str,
    discard: Callable[[T], None] | None = None,
) -> T:
    """Run what a native call may hold on a thread of its own, waiting no longer than the deadline.

    Args:
        function: What to run; its exception is raised here.
        timeout_s: How long to wait.
        name: The thread's name.
        discard: Called with a result that came too late, on the late thread, so that what it holds
            is released.

    Raises:
        TimeoutError: The deadline passed; the thread is abandoned.
    """
    lock = threading.Lock()
    done = threading.Event()
    is_abandoned = False
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result = function()
        except BaseException as exc:  # noqa: BLE001 - carried over to the caller
            errors.append(exc)
        else:
            with lock:
                if not is_abandoned:
                    results.append(result)
                elif discard is not None:
                    discard(result)
        finally:
            done.set()

    ThreadGroup().spawn(name, run, may_hang=True)
    done.wait(timeout_s)
    with lock:
        is_abandoned = not done.is_set() and not results
    if is_abandoned:
        raise TimeoutError(f"{name} took longer than {timeout_s:g} s")
    done.wait()
    if errors:
        raise errors[0]
    return results[0]


def _log_crash(name: str, exc: BaseException) -> None:
    trace = "".join(traceback.format_exception(exc)).rstrip()
    logger.error("thread {} died: {}", name, trace)


def _name_for_the_system(name: str) -> None:
    """Let ``top -H`` and ``py-spy`` show the thread's name, which Python 3.11 keeps to itself."""
    try:
        task = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
        task.write_text(name[:_OS_NAME_LENGTH], encoding="utf-8")
    except OSError:
        return  # not Linux, or no /proc: the name is a convenience
