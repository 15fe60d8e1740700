from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vidpipe.errors import FetchError
from vidpipe.inference.cache import LoggedProgress, partial_folder, publish, scratch_folder


def test_the_log_is_told_the_beginning_and_each_quarter_of_a_step(log_lines: list[str]) -> None:
    progress = LoggedProgress()
    progress("waiting", 0, 0)
    progress("waiting", 0, 0)
    for done in range(0, 4_000_001, 100_000):
        progress("downloading it", done, 4_000_000)
    progress("it is ready", 4_000_000, 4_000_000)
    assert [line.removeprefix("INFO {} ") for line in log_lines] == [
        "waiting",
        "downloading it: 0.0 of 4.0 MB",
        "downloading it: 1.0 of 4.0 MB",
        "downloading it: 2.0 of 4.0 MB",
        "downloading it: 3.0 of 4.0 MB",
        "downloading it: 4.0 of 4.0 MB",
        "it is ready: 4.0 of 4.0 MB",
    ]


def test_a_scratch_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "cache") as folder:
        (folder / "file").write_text("x")
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_is_old_is_removed_and_what_is_new_is_kept(tmp_path: Path) -> None:
    (tmp_path / "partial").mkdir()
    for name in ("partial/old", "partial/new"):
        (tmp_path / name).write_text("x")
    for name in (".part-old", ".part-new"):
        (tmp_path / name).mkdir()
    for name in ("partial/old", ".part-old"):
        os.utime(tmp_path / name, (1, 1))
    with scratch_folder(tmp_path):
        pass
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == [".part-new", "partial", "partial/new"]


def test_one_at_a_time_has_the_folder_of_a_name(tmp_path: Path) -> None:
    inside, most, lock = 0, 0, threading.Lock()
    waited = threading.Event()

    def enter(number: int) -> Path:
        nonlocal inside, most
        with partial_folder(tmp_path, "m", tmp_path / "scratch", waited.set) as folder:
            with lock:
                inside += 1
                most = max(most, inside)
            if number == 0:
                waited.wait(10)
            with lock:
                inside -= 1
        return folder

    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(enter, range(8)))
    assert folders == {tmp_path / "partial"}
    assert most == 1
    assert list((tmp_path / "partial").iterdir()) == []


def test_other_names_need_not_wait(tmp_path: Path) -> None:
    def never() -> None:
        raise AssertionError

    with (
        partial_folder(tmp_path, "a", tmp_path, never),
        partial_folder(tmp_path, "b", tmp_path, never),
    ):
        pass


def test_a_wait_can_be_interrupted(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with partial_folder(tmp_path, "m", tmp_path, interrupt):  # noqa: SIM117 - the second waits
        with pytest.raises(KeyboardInterrupt), partial_folder(tmp_path, "m", tmp_path, interrupt):
            pass


def test_a_lock_on_a_file_that_is_gone_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "partial" / "m.lock"
    real = fcntl.flock
    calls: list[int] = []

    def remove_first(descriptor: int, operation: int) -> None:
        if not calls:
            lock.unlink()
        calls.append(operation)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with partial_folder(tmp_path, "m", tmp_path, lambda: None):
        assert lock.exists()
    assert len(calls) == 2


def test_without_locks_the_scratch_folder_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        del descriptor, operation
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with partial_folder(tmp_path, "m", tmp_path / "scratch", lambda: None) as folder:
        assert folder == tmp_path / "scratch"


@pytest.mark.parametrize("broken", ["cache", "cache/partial"])
def test_what_cannot_be_written_is_an_error(tmp_path: Path, broken: str) -> None:
    (tmp_path / broken).parent.mkdir(exist_ok=True)
    (tmp_path / broken).write_text("a file")
    cache = tmp_path / "cache"
    with (
        pytest.raises(FetchError, match="cache_dir"),
        scratch_folder(cache) as scratch,
        partial_folder(cache, "m", scratch, lambda: None),
    ):
        pass


@pytest.mark.parametrize("is_whole", [lambda: True, lambda: False])
def test_a_folder_that_is_whole_is_not_replaced(
    tmp_path: Path, is_whole: Callable[[], bool]
) -> None:
    for name in ("made", "place"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with scratch_folder(tmp_path) as scratch:
        publish(tmp_path / "made", tmp_path / "place", scratch, is_whole)
    expected = "place" if is_whole() else "made"
    assert (tmp_path / "place" / "file").read_text() == expected
    assert not (tmp_path / "made").exists()
