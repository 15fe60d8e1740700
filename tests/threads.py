"""Threads for tests: started together, joined at the end, their failure is the test's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vidpipe.runtime.supervisor import ThreadGroup

_PATIENCE_S = 20.0


def wait_until(is_met: Callable[[], bool], what: str, timeout_s: float = _PATIENCE_S) -> None:
    """Return once something is so; fail if it doesn't come about in time."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not is_met():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        pause.wait(0.001)


def _without_result(target: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        target()

    return run


@contextmanager
def running(*targets: Callable[[], object]) -> Iterator[ThreadGroup]:
    """Run functions on threads; at the end all have returned, and none has raised."""
    crashes: list[BaseException] = []
    threads = ThreadGroup(lambda _, exc: crashes.append(exc))
    for number, target in enumerate(targets):
        threads.spawn(f"test-{number}", _without_result(target))
    try:
        yield threads
    finally:
        left = threads.join(_PATIENCE_S)
    if crashes:
        raise crashes[0]
    assert not left, f"still running: {left}"
