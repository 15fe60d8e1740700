from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from vidpipe.runtime.executor import Executor, ExecutorFullError


def test_results_and_errors_come_back() -> None:
    executor = Executor("vp-test", threads=2, waiting=2)
    assert executor.submit(lambda: 7).result(5.0) == 7

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        executor.submit(fail).result(5.0)
    assert executor.close(1.0) == []


def test_no_more_threads_and_no_more_work_than_it_has_places() -> None:
    executor = Executor("vp-test", threads=2, waiting=3)
    may_end, names = threading.Event(), []
    has_begun = threading.Semaphore(0)

    def work() -> None:
        names.append(threading.current_thread().name)
        has_begun.release()
        may_end.wait(10.0)

    futures = [executor.submit(work) for _ in range(2)]
    for _ in range(2):
        assert has_begun.acquire(timeout=5.0)
    futures += [executor.submit(work) for _ in range(3)]
    with pytest.raises(ExecutorFullError):
        executor.submit(work)
    may_end.set()
    for future in futures:
        future.result(5.0)
    assert set(names) == {"vp-test-1", "vp-test-2"}
    assert executor.close(1.0) == []


def test_a_thread_that_is_free_is_used_again() -> None:
    executor = Executor("vp-test", threads=4, waiting=4)
    names = {executor.submit(lambda: threading.current_thread().name).result(5.0)}
    for _ in range(20):
        names.add(executor.submit(lambda: threading.current_thread().name).result(5.0))
    assert len(names) <= 2  # one may not be free yet when the next piece comes
    assert executor.close(1.0) == []


def test_a_close_waits_for_nobody_and_tells_who_waits() -> None:
    executor = Executor("vp-test", threads=1, waiting=2)
    has_begun, may_end = threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        may_end.wait(10.0)

    first = executor.submit(work)
    has_begun.wait(5.0)
    second = executor.submit(work)
    assert executor.close(0.05) == ["vp-test-1"]
    with pytest.raises(CancelledError):
        second.result(5.0)
    with pytest.raises(ExecutorFullError):
        executor.submit(work)
    may_end.set()
    first.result(5.0)
    assert executor.close(5.0) == []


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    executor = Executor("vp-test", threads=1, waiting=2)
    has_begun, may_end, calls = threading.Event(), threading.Event(), []

    def work() -> None:
        has_begun.set()
        may_end.wait(10.0)

    executor.submit(work)
    has_begun.wait(5.0)
    late = executor.submit(lambda: calls.append(1))
    assert late.cancel()
    may_end.set()
    executor.submit(lambda: None).result(5.0)
    assert not calls
    assert executor.close(1.0) == []


def test_one_that_was_never_used_has_no_threads() -> None:
    assert Executor("vp-test", threads=1, waiting=1).close(0.0) == []
