"""`vidpipe batch` killed, stopped, locked out and short of disk: it goes on where it was."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import Finished, ended, started, vidpipe
from tests.recordings import lines, tiny_model, write_long


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two minutes with a key frame a second."""
    return write_long(tmp_path_factory.mktemp("clip") / "long.mp4", 120, size_wh=(320, 240))


def words(source: Path, out: Path, model: Path, *more: str) -> list[str | Path]:
    return ["batch", source, "-o", out, "--model", model, "--json-progress", *more]


def run(source: Path, out: Path, model: Path, *more: str) -> Finished:
    return vidpipe(*words(source, out, model, *more), cwd=out.parent, timeout_s=900)


def events(text: str) -> Iterator[dict[str, object]]:
    """Yield the events of a run, whose last line may be cut off."""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def lines_so_far(out: Path) -> int:
    """Count the lines that lie in the parts now."""
    count = 0
    for path in (out / ".vidpipe" / "parts").rglob("*.partial"):
        try:
            count += path.read_bytes().count(b"\n")
        except OSError:
            continue  # it was joined meanwhile
    return count


def until_some_lines(process: subprocess.Popen[str], out: Path, count: int) -> bool:
    """Wait until so many lines are in the parts; False if the run has ended before."""
    while process.poll() is None:
        if lines_so_far(out) >= count:
            return True
        time.sleep(0.005)
    return False


def killed_at(source: Path, out: Path, model: Path, count: int) -> bool:
    """Kill a run once so many lines are written; False if it was done before."""
    with started(*words(source, out, model), cwd=out.parent) as process:
        is_alive = until_some_lines(process, out, count)
        if is_alive:
            process.send_signal(signal.SIGKILL)
            process.wait()
        return is_alive


def survive(clip: Path, model: Path, folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill a run again and again; return the lines of the result and those inferred for it."""
    whole = run(clip, folder / "whole", model)
    assert whole.code == 0, whole.err
    unbroken = (folder / "whole" / f"{clip.name}.jsonl").read_bytes()
    total = unbroken.count(b"\n")
    out, chance = folder / "out", random.Random(seed)
    inferred = 0
    for moment in sorted(chance.randrange(1, total) for _ in range(kills)):
        before = lines_so_far(out)
        if not killed_at(clip, out, model, max(moment, before + 1)):
            break
        inferred += lines_so_far(out) - before
    last = run(clip, out, model)
    assert last.code == 0, last.err
    assert (out / f"{clip.name}.jsonl").read_bytes() == unbroken
    assert not list(out.rglob("*.partial"))
    (end,) = [event for event in events(last.out) if event["event"] == "end"]
    return total, inferred + int(str(end["frames"]))


def test_a_killed_run_ends_as_an_unbroken_one(clip: Path, model: Path, tmp_path: Path) -> None:
    total, inferred = survive(clip, model, tmp_path, kills=3, seed=1)
    # What a killed process had inferred beyond its lines isn't seen here: a fifth of a second of
    # each unit at most.
    assert total <= inferred <= 1.15 * total


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_kills_in_half_an_hour_of_video(tmp_path: Path, model: Path) -> None:
    clip = write_long(tmp_path / "long.mp4", 1800, size_wh=(320, 240))
    total, inferred = survive(clip, model, tmp_path, kills=20, seed=2)
    assert total == 45_000
    assert inferred <= 1.15 * total


def test_a_file_that_cant_be_divided_goes_on_within_it(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.ts", ClipSpec(frames=3000, size_wh=(320, 240)))
    total, inferred = survive(clip, model, tmp_path, kills=2, seed=3)
    assert total == 3000
    assert inferred <= 1.15 * total


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_finishes_what_is_on_its_way(
    clip: Path, model: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    with started(*words(clip, out, model), cwd=tmp_path) as process:
        assert until_some_lines(process, out, 100)
        process.send_signal(number)
        done = ended(process, 30)
    assert done.code == 130
    assert "run the same command again" in done.err
    assert not list(out.glob("*.jsonl"))
    before = lines_so_far(out)
    assert run(clip, out, model).code == 0
    written = lines(out / "long.mp4.jsonl")
    assert [line["frame"] for line in written] == list(range(3000))
    assert before > 0


def test_a_second_signal_ends_it_at_once(clip: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with started(*words(clip, out, model), cwd=tmp_path) as process:
        assert until_some_lines(process, out, 100)
        process.send_signal(signal.SIGINT)
        time.sleep(0.06)  # two wishes, not one
        process.send_signal(signal.SIGINT)
        began_at = time.monotonic()
        done = ended(process, 30)
    assert done.code in (3, 130)
    assert time.monotonic() - began_at < 5
    assert run(clip, out, model).code == 0
    assert len(lines(out / "long.mp4.jsonl")) == 3000


def test_a_second_run_on_a_folder_is_refused(clip: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with started(*words(clip, out, model), cwd=tmp_path) as process:
        assert until_some_lines(process, out, 1)
        process.send_signal(signal.SIGSTOP)  # else it might be done before the other begins
        second = run(clip, out, model)
        process.send_signal(signal.SIGCONT)
    assert second.code == 2
    assert f"process {process.pid} on " in second.err


def test_a_moment_is_kept_to(clip: Path, model: Path, tmp_path: Path) -> None:
    soon = time.localtime(time.time() + 60)
    if soon.tm_sec < 50:  # else the minute begins too soon to be waited for
        text = time.strftime("%H:%M", soon)
        done = run(clip, tmp_path / "out", model, "--until", text)
        assert done.code == 0


def test_results_that_are_gone_are_made_again(tmp_path: Path, model: Path) -> None:
    clip, out = write_clip(tmp_path / "a.mp4"), tmp_path / "out"
    assert run(clip, out, model).code == 0
    before = (out / "a.mp4.jsonl").read_bytes()
    (out / "a.mp4.jsonl").unlink()
    assert "its results are gone" in run(clip, out, model).err
    assert (out / "a.mp4.jsonl").read_bytes() == before


def test_a_kill_between_the_join_and_the_ledger_loses_nothing(tmp_path: Path, model: Path) -> None:
    clip, out = write_long(tmp_path / "a.mp4", 30), tmp_path / "out"
    assert run(clip, out, model).code == 0
    before = (out / "a.mp4.jsonl").read_bytes()
    base = sqlite3.connect(out / ".vidpipe" / "ledger.sqlite")
    base.execute("UPDATE files SET state = 'pending'")
    base.commit()
    base.close()
    done = run(clip, out, model)
    assert done.code == 0, done.err
    assert "; 0 frames in" in done.err
    assert (out / "a.mp4.jsonl").read_bytes() == before


def test_a_part_that_is_lost_is_made_again(clip: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert killed_at(clip, out, model, 1500)
    part = next((out / ".vidpipe" / "parts").rglob("0.jsonl.partial"))
    part.write_bytes(b"")
    assert run(clip, out, model).code == 0
    assert [line["frame"] for line in lines(out / "long.mp4.jsonl")] == list(range(3000))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_stops_it_to_go_on_later(clip: Path, model: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("tmpfs can't be mounted here")
    try:
        done = run(clip, disk / "out", model)
        assert done.code == 1
        assert "make room, and run the same command again" in done.err
        subprocess.run(["mount", "-o", "remount,size=30m", disk], check=True)
        assert run(clip, disk / "out", model).code == 0
        assert len(lines(disk / "out" / "long.mp4.jsonl")) == 3000
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_share_that_comes_back_is_gone_on_with(model: Path, tmp_path: Path) -> None:
    share, away = tmp_path / "share", tmp_path / "away"
    share.mkdir()
    for number in range(6):
        write_long(share / f"{number}.mp4", 30, size_wh=(320, 240))
    out = tmp_path / "out"
    with started(*words(share, out, model), cwd=tmp_path) as process:
        assert until_some_lines(process, out, 50)
        share.rename(away)
        share.mkdir()  # as a share that is unmounted leaves its empty folder
        deadline = time.monotonic() + 30
        waiting = False
        while not waiting and time.monotonic() < deadline and process.stdout is not None:
            waiting = "waiting for them" in process.stdout.readline()
        assert waiting
        share.rmdir()
        away.rename(share)
        done = ended(process, 60)
    assert done.code == 0, done.err
    assert len(list(out.glob("*.jsonl"))) == 6
    assert not (out / "failed").exists()
