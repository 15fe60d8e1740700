"""A few threads for what others must not wait for, such as a server's loop.

Guarantees:
    * no more threads than it was made with, started as they are needed, and no more work waiting
      than it has places for: what comes then is refused, never put off;
    * exit waits for none of them: a native call can hold one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.supervisor import ThreadGroup

T = TypeVar("T")


class ExecutorFullError(Exception):
    """All threads are at work, and all places taken; or it is closed."""


class _Task(Generic[T]):
    """A function, and the future of what it returns."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.future: Future[T] = Future()
        self._function = function

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return  # nobody waits for it any more
        try:
            self.future.set_result(self._function())
        except BaseException as exc:  # noqa: BLE001 - carried over to who waits
            self.future.set_exception(exc)


class Executor:
    """The threads and what waits for them; every method may be called from any thread."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        """Start nothing yet.

        Args:
            name: The threads' name, to which a number is added.
            threads: How many work at once, at most.
            waiting: How many pieces of work wait for one, at most; at least one.
        """
        self._name = name
        self._most = threads
        self._work: Channel[_Task[Any]] = Channel(waiting)
        self._threads = ThreadGroup()
        self._lock = threading.Lock()
        self._started = 0
        self._free = 0

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Have a function run; what it returns or raises is the future's.

        Raises:
            ExecutorFullError: There is no place left.
        """
        task = _Task(function)
        with self._lock:
            try:
                is_taken = self._work.put(task, timeout_s=0)
            except ChannelClosedError:
                is_taken = False
            if not is_taken:
                raise ExecutorFullError
            if len(self._work) > self._free and self._started < self._most:
                self._started += 1
                self._threads.spawn(f"{self._name}-{self._started}", self._run, may_hang=True)
        return task.future

    def close(self, timeout_s: float) -> list[str]:
        """Take nothing more, forget what waits; return the threads that still work after so long.

        Who waits for what was forgotten is told by a cancelled future.
        """
        for task in self._work.abort():
            task.future.cancel()
        return self._threads.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._free += 1
            try:
                task = self._work.get()
            except ChannelClosedError:
                return
            finally:
                with self._lock:
                    self._free -= 1
            task.run()
