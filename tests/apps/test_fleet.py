"""``vidpipe run`` with several workers: one run to whoever looks at it, also when one dies."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import Finished, ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.processes import children_of, is_alive, seen_by_everybody
from tests.threads import wait_until
from vidpipe.apps.fleet import Fleet
from vidpipe.apps.share import shares
from vidpipe.apps.topology import numa_nodes
from vidpipe.config.load import load_config
from vidpipe.runtime.meters import StreamStats

PATIENCE_S = 150.0
"""Two interpreters load OpenVINO at a time, on a machine that may have other things to do."""

pytestmark = pytest.mark.timeout(4 * PATIENCE_S)

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
WHOLE = {"size": 1000, "overflow": "block", "max_age_ms": 3_600_000}
"""A lane that loses nothing, however late a frame is."""


@pytest.fixture(autouse=True)
def log_of_a_failure(tmp_path: Path) -> Iterator[None]:
    """Show the log of a run whose test has failed."""
    yield
    log = tmp_path / "vidpipe.log"
    sys.stdout.write(log.read_text() if log.exists() else "")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


def document(model: Path, *sources: str | Path, **keys: Any) -> dict[str, Any]:
    """Return a configuration for two workers that writes JSON Lines for each source."""
    return {
        "models": {"tiny": {"path": str(model)}},
        "defaults": {"outputs": [{"type": "jsonl", "path": "out/{stream}.jsonl"}]},
        "streams": [{"id": f"s{n}", "source": str(source)} for n, source in enumerate(sources)],
        "workers": 2,
        "telemetry": {"log_file": "vidpipe.log"},
        **keys,
    }


def camera_like(folder: Path, model: Path, count: int, **keys: Any) -> dict[str, Any]:
    """Return a configuration of clips that are played in real time for ever, and lose nothing."""
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=25))
    config = document(model, *[clip] * count, **keys)
    config["defaults"] |= {"realtime": True, "loop": True, "lane": WHOLE}
    return config


def frames(path: Path) -> list[int]:
    """Return the numbers of the frames in a file; a line that is being written is left out."""
    if not path.exists():
        return []
    whole = path.read_text("utf-8").rpartition("\n")[0]
    return [json.loads(line)["frame"] for line in whole.splitlines()]


def workers_in(folder: Path) -> list[int]:
    """Return the process ids of the workers, the latest of each, as the log tells them."""
    log = folder / "vidpipe.log"
    told = re.findall(r"worker (\d): process (\d+),", log.read_text() if log.exists() else "")
    return [int(process) for _, process in sorted(dict(told).items())]


@contextmanager
def running(
    folder: Path, config: Mapping[str, Any], *, lines: int = 5
) -> Iterator[subprocess.Popen[str]]:
    """Start a run whose streams have all written some lines."""
    path = write_config(folder, config)
    names = [stream["id"] for stream in config["streams"]]
    with started("run", path, cwd=folder) as process:
        await_lines(process, [folder / "out" / f"{name}.jsonl" for name in names], lines)
        yield process


def await_lines(process: subprocess.Popen[str], paths: list[Path], lines: int) -> None:
    """Wait until files have so many lines."""
    wait_until(
        lambda: process.poll() is not None or all(len(frames(path)) >= lines for path in paths),
        "some lines of each stream",
        PATIENCE_S,
    )
    assert process.poll() is None, process.communicate()


def stopped(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> Finished:
    process.send_signal(number)
    return ended(process, PATIENCE_S)


def test_files_are_all_done_with_one_log_and_one_code(tmp_path: Path, model: Path) -> None:
    clips = [write_clip(tmp_path / f"{n}.mp4", ClipSpec(frames=40 + n)) for n in range(4)]
    config = document(model, *clips)

    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path, timeout_s=PATIENCE_S)

    assert done.code == 0, done.err
    assert done.out == ""
    for n in range(4):
        assert frames(tmp_path / "out" / f"s{n}.jsonl") == list(range(40 + n))
        assert len(re.findall(rf"s{n}: jsonl written", done.err)) == 1
        assert f"s{n}: ended, {40 + n} frames captured, {40 + n} processed" in done.err
    assert (tmp_path / "vidpipe.log").read_text("utf-8") == done.err
    assert len(re.findall(r"worker \d: process \d+, processors \d+, 2 streams", done.err)) == 2


def test_one_failure_makes_the_code_of_all(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4")
    config = document(model, clip, tmp_path / "none.mp4", clip)
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path, timeout_s=PATIENCE_S)
    assert done.code == 1
    assert len(re.findall(r"ERROR +s1 source: there is no file", done.err)) == 1
    assert frames(tmp_path / "out" / "s0.jsonl") == list(range(10))


def test_a_model_that_can_not_be_used_is_one_error_before_anything_runs(tmp_path: Path) -> None:
    config = document(tmp_path / "none.xml", "synthetic:blank", "synthetic:blank")
    done = vidpipe("run", write_config(tmp_path, config), cwd=tmp_path, timeout_s=PATIENCE_S)
    assert done.code == 2
    assert done.err.count("none.xml") == 1
    assert re.search(r"^vidpipe: .*none\.xml", done.err, re.MULTILINE)
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists()


def test_an_interrupt_while_the_workers_start_leaves_none(tmp_path: Path, model: Path) -> None:
    config = write_config(tmp_path, document(model, "synthetic:blank", "synthetic:blank"))
    with started("run", config, cwd=tmp_path) as process:
        wait_until(lambda: len(workers_in(tmp_path)) == 2, "two workers", PATIENCE_S)
        workers = workers_in(tmp_path)
        done = stopped(process, signal.SIGINT)
    assert done.code in (0, 130), "0: they were quicker"
    assert "Traceback" not in done.err
    wait_until(lambda: not any(map(is_alive, workers)), "all workers gone", 10)


def test_a_worker_that_dies_before_it_can_start_is_one_error(tmp_path: Path, model: Path) -> None:
    config = write_config(tmp_path, document(model, "synthetic:blank", "synthetic:blank"))
    with started("run", config, cwd=tmp_path) as process:
        wait_until(lambda: len(children_of(process.pid)) == 2, "two workers", PATIENCE_S)
        os.kill(children_of(process.pid)[1], signal.SIGKILL)
        done = ended(process, PATIENCE_S)
    assert done.code == 1
    assert re.search(
        r"^vidpipe: worker \d was killed by SIGKILL before it could start$", done.err, re.MULTILINE
    )
    assert not (tmp_path / "out").exists()


def test_a_killed_worker_comes_back_and_the_others_notice_nothing(
    tmp_path: Path, model: Path
) -> None:
    out = tmp_path / "out"
    with running(tmp_path, camera_like(tmp_path, model, 4)) as process:
        first = workers_in(tmp_path)
        assert {*first} <= {*children_of(process.pid)}
        os.kill(first[0], signal.SIGKILL)
        wait_until(
            lambda: sum(0 in frames(out / f"s{n}.jsonl")[1:] for n in range(4)) == 2,
            "two streams from their beginning again",
            PATIENCE_S,
        )
        await_lines(process, [out / f"s{n}.jsonl" for n in range(4)], 40)
        second = workers_in(tmp_path)
        done = stopped(process)

    assert done.code == 0, done.err
    assert second[0] != first[0]
    assert second[1] == first[1]
    again = [n for n in range(4) if 0 in frames(out / f"s{n}.jsonl")[1:]]
    for n in range(4):
        numbers = frames(out / f"s{n}.jsonl")
        at = numbers.index(0, 1) if n in again else len(numbers)
        assert numbers[:at] == list(range(at))
        assert numbers[at:] == list(range(len(numbers) - at))
    assert len(re.findall("worker 1 was killed by SIGKILL; started again now", done.err)) == 1
    assert len(re.findall(r"worker \d is back after", done.err)) == 1
    for n in range(4):
        assert ("1 reconnect" in line_of(done, f"s{n}")) == (n in again)


def line_of(done: Finished, stream: str) -> str:
    """Return a stream's line of the closing summary."""
    (line,) = [x for x in done.err.splitlines() if f"{stream}: " in x and "frames captured" in x]
    return line


def test_a_recording_that_was_cut_off_is_read_again_and_one_that_ended_is_not(
    tmp_path: Path, model: Path
) -> None:
    short = write_clip(tmp_path / "short.mp4")
    long = "synthetic:blank?size=64x64&frames=6000"
    path = write_config(tmp_path, document(model, long, short, workers=2))
    out = tmp_path / "out"
    with started("run", path, cwd=tmp_path) as process:
        part = out / "s0.jsonl.partial"
        wait_until(
            lambda: part.exists() and part.stat().st_size > 0 and (out / "s1.jsonl").exists(),
            "the one done, the other begun",
            PATIENCE_S,
        )
        for worker in children_of(process.pid):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        done = ended(process, PATIENCE_S)

    assert done.code == 0, done.err
    assert frames(out / "s0.jsonl") == list(range(6000))
    assert frames(out / "s1.jsonl") == list(range(10))
    # what the dead one left is kept, and taken for nothing whole
    assert sorted(file.name for file in out.iterdir()) == [
        "s0.jsonl",
        "s0.jsonl.partial",
        "s1.jsonl",
    ]


def test_a_recording_that_kills_its_worker_is_given_up(tmp_path: Path, model: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=250))
    config = document(model, clip, clip)
    config["streams"][0]["realtime"] = True  # it lasts for ten seconds
    path = write_config(tmp_path, config)
    with started("run", path, cwd=tmp_path) as process:
        wait_until((tmp_path / "out" / "s1.jsonl").exists, "the other one done", PATIENCE_S)
        while process.poll() is None:
            for worker in children_of(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        done = ended(process, PATIENCE_S)
    assert done.code == 1
    assert len(re.findall(r"s0 source: .*SIGKILL; given up after 3 attempts", done.err)) == 1
    assert frames(tmp_path / "out" / "s1.jsonl") == list(range(250))


def test_a_worker_that_is_stopped_by_hand_is_started_again(tmp_path: Path, model: Path) -> None:
    out = tmp_path / "out"
    with running(tmp_path, camera_like(tmp_path, model, 2)) as process:
        os.kill(workers_in(tmp_path)[0], signal.SIGTERM)
        wait_until(
            lambda: any(0 in frames(out / f"s{n}.jsonl")[1:] for n in range(2)),
            "one stream from its beginning again",
            PATIENCE_S,
        )
        done = stopped(process)
    assert done.code == 0, done.err
    assert "worker 1 was stopped from outside; started again now" in done.err
    assert "dropped (" not in done.err, "what was on its way was written"


def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path, model: Path) -> None:
    with running(tmp_path, camera_like(tmp_path, model, 2)) as process:
        wait_until(lambda: len(children_of(process.pid)) == 3, "a spare one, too", PATIENCE_S)
        workers = children_of(process.pid)
        process.kill()
        wait_until(lambda: not any(map(is_alive, workers)), "all workers gone", 10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_stops_the_run_once_and_in_order(
    tmp_path: Path, model: Path, number: signal.Signals
) -> None:
    # As a terminal does with Ctrl+C, and a service manager with what it stops.
    sources = ["synthetic:people?size=320x240"] * 2
    config = write_config(tmp_path, document(model, *sources))
    out = tmp_path / "out"
    with started("run", config, cwd=tmp_path, is_own_group=True) as process:
        parts = [out / f"s{n}.jsonl.partial" for n in range(2)]
        wait_until(
            lambda: all(part.exists() and part.stat().st_size for part in parts),
            "some lines of each stream",
            PATIENCE_S,
        )
        os.killpg(process.pid, number)
        done = ended(process, PATIENCE_S)
    assert done.code == 0, done.err
    assert len(re.findall(f"{number.name}: stopping", done.err)) == 1
    assert "Traceback" not in done.err
    assert "started again" not in done.err
    for n in range(2):
        numbers = frames(out / f"s{n}.jsonl")
        assert numbers == list(range(len(numbers)))
        assert f"s{n}: ended, " in done.err
    assert not list(out.glob("*partial*"))


def test_a_worker_that_does_not_end_is_killed_and_its_losses_are_named(
    tmp_path: Path, model: Path
) -> None:
    config = camera_like(tmp_path, model, 2, shutdown_timeout_s=0.5)
    with running(tmp_path, config) as process:
        held = workers_in(tmp_path)[0]
        os.kill(held, signal.SIGSTOP)
        done = stopped(process)
    assert done.code == 3, done.err
    assert len(re.findall(r"lost by the stop: worker \d was killed by SIGKILL", done.err)) == 1
    assert not is_alive(held)


def test_a_second_signal_hurries_all_workers(tmp_path: Path, model: Path) -> None:
    config = camera_like(tmp_path, model, 2, shutdown_timeout_s=600)
    with running(tmp_path, config) as process:
        os.kill(workers_in(tmp_path)[0], signal.SIGSTOP)

        def insist() -> bool:
            process.send_signal(signal.SIGTERM)
            return process.poll() is not None

        wait_until(insist, "the end", PATIENCE_S)
        done = ended(process)
    assert done.code == 3, done.err


def test_no_secret_can_be_seen_of_a_worker(tmp_path: Path, model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"rtsp://user:s3cr3t-word@127.0.0.1:{silent.getsockname()[1]}/cam"
        config = document(model, url, url)
        config["telemetry"]["log_level"] = "DEBUG"
        with started("run", write_config(tmp_path, config), cwd=tmp_path) as process:
            wait_until(lambda: len(workers_in(tmp_path)) == 2, "two workers", PATIENCE_S)
            wait_until(lambda: all(map(seen_by_everybody, workers_in(tmp_path))), "them", 10)
            seen = "".join(map(seen_by_everybody, workers_in(tmp_path)))
            silent.settimeout(PATIENCE_S)
            silent.accept()[0].close()
            done = stopped(process)
    assert done.code == 1, "no camera was up"
    assert "vidpipe" in seen
    assert "s3cr3t-word" not in seen + done.err


def test_a_module_in_the_working_directory_is_not_taken_for_a_library(
    tmp_path: Path, model: Path
) -> None:
    clip = write_clip(tmp_path / "a.mp4")
    for name in ("queue", "yaml", "platform"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    # as the script `vidpipe` would, which has no working directory on its path
    config = write_config(tmp_path, document(model, clip, clip))
    with started("run", config, cwd=tmp_path, environ={"PYTHONSAFEPATH": "1"}) as process:
        done = ended(process, PATIENCE_S)
    assert done.code == 0, done.err


def test_no_counter_ever_goes_down(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config(write_config(tmp_path, camera_like(tmp_path, model, 2)))
    fleet = Fleet(config, shares(config, numa_nodes()))
    seen: list[dict[str, StreamStats]] = []

    def watched(is_met: Callable[[], bool]) -> Callable[[], bool]:
        def look() -> bool:
            seen.append(fleet.stats())
            return is_met()

        return look

    try:
        fleet.start()
        wait_until(watched(lambda: min(least(fleet)) > 10), "some frames", PATIENCE_S)
        os.kill(children_of(os.getpid())[0], signal.SIGKILL)
        wait_until(
            watched(lambda: any(s.reconnects for s in fleet.stats().values())), "a death", 10
        )
        wait_until(lambda: sum(r.state == "live" for r in fleet.reports().values()) == 2, "up", 60)
        wait_until(watched(lambda: min(least(fleet)) > 40), "more frames", PATIENCE_S)
    finally:
        fleet.close()
    assert fleet.exit_code == 0
    for before, after in pairwise(seen):
        for stream, new in after.items():
            old = before[stream]
            assert new.captured >= old.captured
            assert new.processed >= old.processed
            assert new.age.count >= old.age.count
            gone = new.processed + new.passed + sum(new.dropped.values())
            assert new.captured == gone + new.in_flight


def least(fleet: Fleet) -> list[int]:
    return [stats.processed for stats in fleet.stats().values()]


def test_the_parent_alone_has_the_port_and_the_manifest(tmp_path: Path, model: Path) -> None:
    config = camera_like(tmp_path, model, 2, server={"port": 0})
    config["telemetry"]["manifest"] = "manifest.json"
    for is_first in (True, False):
        (tmp_path / "vidpipe.log").unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        with running(tmp_path, config) as process:
            log = (tmp_path / "vidpipe.log").read_text()
            address = re.findall(r"http://127\.0\.0\.1:\d+", log)[-1]
            wait_until(partial(are_counted, address, ["s0", "s1"]), "frames of both", PATIENCE_S)
            assert json.loads(got(f"{address}/readyz"))
            done = stopped(process)
        assert done.code == 0, done.err
        assert "since the last start" not in done.err
        assert ("no earlier manifest" in done.err) == is_first
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["workers"] == 2
    assert list(manifest["streams"]) == ["s0", "s1"]
    assert manifest["models"]["tiny"]["requests"] >= 1


def are_counted(address: str, streams: list[str]) -> bool:
    found = re.findall(
        r'^vidpipe_frames_captured_total\{stream="(\w+)"\} (\S+)',
        got(f"{address}/metrics"),
        re.MULTILINE,
    )
    return [stream for stream, count in found if float(count) >= 5] == streams


def got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())
