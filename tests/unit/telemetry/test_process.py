from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.threads import wait_until
from vidpipe.telemetry.process import ProcessMeter, ProcessUsage

BUSY = "import time, sys\nwhile time.process_time() < 0.5: pass\nprint('done', flush=True)\n"


def usage_of(meter: ProcessMeter) -> ProcessUsage:
    usage = meter.usage()
    assert usage is not None
    return usage


def test_it_agrees_with_what_the_system_says() -> None:
    usage = usage_of(ProcessMeter())
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    assert usage.cpu_s == pytest.approx(own, abs=0.5)
    assert 1e6 < usage.resident_bytes < usage.virtual_bytes
    assert 3 <= usage.open_files < usage.max_files
    assert time.time() - 7200 < usage.started_at < time.time() + 1


def test_children_count_and_still_do_when_they_have_ended() -> None:
    meter = ProcessMeter()
    before = usage_of(meter)
    with subprocess.Popen(
        [sys.executable, "-c", BUSY + "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        alive = usage_of(meter)
        child.communicate(b"\n")
    ended = usage_of(meter)
    assert alive.cpu_s - before.cpu_s >= 0.4
    assert alive.resident_bytes > before.resident_bytes
    assert ended.cpu_s >= alive.cpu_s


def test_the_time_never_falls(tmp_path: Path) -> None:
    write_proc(tmp_path, ticks=500)
    meter = ProcessMeter(tmp_path)
    first = usage_of(meter)
    write_proc(tmp_path, ticks=400)
    assert usage_of(meter).cpu_s == first.cpu_s
    write_proc(tmp_path, ticks=600)
    assert usage_of(meter).cpu_s > first.cpu_s


def write_proc(folder: Path, ticks: int) -> None:
    """Write a /proc whose process has an odd name and has used so many ticks."""
    own = folder / "self"
    (own / "fd").mkdir(parents=True, exist_ok=True)
    times = f"{ticks} 1 2 3"
    (own / "stat").write_text(f"7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 {times} 20 0 1 0 1234 5 6 7\n")
    (own / "statm").write_text("900 300 1 2 3 4 5\n")
    (folder / "stat").write_text("cpu 1 2 3\nbtime 1700000000\nprocesses 5\n")


@pytest.mark.parametrize("name", ["self/stat", "self/statm", "stat"])
@pytest.mark.parametrize("text", [None, "", "7 (x) S 1"])
def test_a_proc_that_is_not_what_it_should_be_is_none(
    tmp_path: Path, name: str, text: str | None
) -> None:
    write_proc(tmp_path, 5)
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    assert ProcessMeter(tmp_path).usage() is None


def test_children_that_end_meanwhile_harm_nothing() -> None:
    meter = ProcessMeter()
    last = 0.0
    children = [subprocess.Popen([sys.executable, "-c", "pass"]) for _ in range(4)]

    def has_ended() -> bool:
        nonlocal last
        now = usage_of(meter).cpu_s
        assert now >= last
        last = now
        return all(child.poll() is not None for child in children)

    wait_until(has_ended, "all children have ended")
