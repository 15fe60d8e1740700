from __future__ import annotations

import threading
from pathlib import Path

import pytest

from vidpipe.runtime.supervisor import ThreadGroup, call_with_deadline


def test_a_crash_is_told_with_the_threads_name() -> None:
    told: list[tuple[str, BaseException]] = []
    threads = ThreadGroup(lambda name, exc: told.append((name, exc)))
    error = ValueError("no")

    def die() -> None:
        raise error

    threads.spawn("vp-die", die)
    assert threads.join(5) == []
    assert told == [("vp-die", error)]


def test_a_crash_that_nobody_wants_to_know_is_logged(log_lines: list[str]) -> None:
    threads = ThreadGroup()

    def die() -> None:
        raise SystemExit("enough")

    threads.spawn("vp-die", die)
    assert threads.join(5) == []
    assert any("vp-die" in line and "enough" in line for line in log_lines)


def test_join_keeps_its_deadline_and_names_who_is_alive() -> None:
    threads = ThreadGroup()
    gate = threading.Event()

    def wait() -> None:
        gate.wait()

    threads.spawn("vp-slow", wait)
    threads.spawn("vp-quick", lambda: None)
    try:
        assert threads.join(0.05) == ["vp-slow"]
        assert threads.alive() == ["vp-slow"]
    finally:
        gate.set()
    assert threads.join(5) == []


def test_join_may_be_called_by_a_thread_of_the_group() -> None:
    threads = ThreadGroup()
    seen: list[list[str]] = []
    threads.spawn("vp-self", lambda: seen.append(threads.join(0.05)))
    assert threads.join(5) == []
    assert seen == [["vp-self"]]


def test_the_dead_are_forgotten() -> None:
    threads = ThreadGroup()
    for _ in range(50):
        threads.spawn("vp-brief", lambda: None)
        threads.join(5)
    assert len(threads._threads) == 1


def test_only_threads_that_may_hang_are_daemons() -> None:
    found: dict[str, bool] = {}

    def note() -> None:
        found[threading.current_thread().name] = threading.current_thread().daemon

    threads = ThreadGroup()
    threads.spawn("vp-firm", note)
    threads.spawn("vp-native", note, may_hang=True)
    threads.join(5)
    assert found == {"vp-firm": False, "vp-native": True}


def test_a_thread_that_cannot_be_started_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = ThreadGroup()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            threads.spawn("vp-never", lambda: None)
    assert threads.join(1) == []


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
def test_the_system_knows_the_threads_name() -> None:
    names: list[str] = []

    def look() -> None:
        task = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
        names.append(task.read_text(encoding="utf-8").strip())

    threads = ThreadGroup()
    threads.spawn("vp-capture-front-gate", look)
    threads.join(5)
    assert names == ["vp-capture-fron"]


def test_a_call_within_its_deadline_returns_its_result() -> None:
    assert call_with_deadline(lambda: 42, 5, "vp-call") == 42


def test_a_calls_exception_is_raised_here() -> None:
    def fail() -> int:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        call_with_deadline(fail, 5, "vp-call")


def test_a_late_call_is_abandoned_and_its_result_discarded() -> None:
    gate, discarded = threading.Event(), threading.Event()
    late: list[str] = []

    def discard(result: str) -> None:
        late.append(result)
        discarded.set()

    def slow() -> str:
        gate.wait()
        return "a connection"

    try:
        with pytest.raises(TimeoutError, match=r"vp-open took longer than 0\.05 s"):
            call_with_deadline(slow, 0.05, "vp-open", discard)
        assert not late
    finally:
        gate.set()
    assert discarded.wait(5)
    assert late == ["a connection"]


@pytest.mark.parametrize("seed", range(30))
def test_a_call_at_its_deadline_is_returned_or_discarded_never_both(seed: int) -> None:
    gate, ended = threading.Event(), threading.Event()
    discarded: list[int] = []

    def discard(result: int) -> None:
        discarded.append(result)
        ended.set()

    def edge() -> int:
        gate.wait(0.01 + seed * 1e-5)
        return seed

    try:
        returned = [call_with_deadline(edge, 0.01, "vp-edge", discard)]
    except TimeoutError:
        returned = []
        assert ended.wait(5)
    assert returned + discarded == [seed]
