"""Signals that come before there is a run to stop, and standard streams that aren't there."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, environment, vidpipe, write_config
from tests.graphs import saved, ssd_rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_program_loads_is_a_quiet_one(
    tmp_path: Path, number: signal.Signals
) -> None:
    # The first foreign package that is loaded takes its time.
    slow = tmp_path / "typer.py"
    slow.write_text(f"import os, signal\nos.kill(os.getpid(), {number:d})\nwhile True: pass\n")
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    done = vidpipe("run", "c.yml", cwd=tmp_path, environ={"PYTHONPATH": path})
    assert (done.code, done.out, done.err) == (130, "", "")


def test_signals_are_taken_as_they_should_be() -> None:
    # In a process of their own: this one has been through much, and a signal ends it if one fails.
    cases = Path(__file__).with_name("signal_cases.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(cases)],
        cwd=ROOT,
        env=environment({}),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_whose_terminal_is_closed_ends_as_one_that_is_stopped(tmp_path: Path) -> None:
    config = write_config(tmp_path, endless(tmp_path))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "vidpipe", "run", config],
        cwd=tmp_path,
        env=environment({"TERM": "xterm"}),
        stderr=theirs,
    )
    os.close(theirs)
    try:
        while b"frames" not in os.read(ours, 65536):
            pass  # until the table is there
        os.close(ours)
        process.send_signal(signal.SIGHUP)  # as the system does
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "a.jsonl").exists()
    assert not list(tmp_path.glob("*.partial"))


def endless(folder: Path, more: str = "") -> dict[str, Any]:
    """Return a configuration of one small stream; ``more`` limits it."""
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), folder)
    outputs = [{"type": "jsonl", "path": "a.jsonl"}]
    source = f"synthetic:blank?size=64x64{more}"
    return {
        "models": {"tiny": {"path": str(model)}},
        "streams": [{"id": "a", "source": source, "outputs": outputs}],
    }


def closed(*descriptors: int) -> str:
    """Return the shell's words for closing these."""
    return " ".join(f"{number}>&-" for number in descriptors)


@pytest.mark.parametrize("missing", [(1,), (2,), (0, 1, 2)])
def test_a_run_needs_no_standard_stream(tmp_path: Path, missing: tuple[int, ...]) -> None:
    config = write_config(tmp_path, endless(tmp_path, "&frames=5"))
    for command in ("check", "run"):
        line = f'exec "$0" -m vidpipe {command} "$1" {closed(*missing)}'
        done = subprocess.run(
            ["/bin/sh", "-c", line, sys.executable, config],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["frame"] for line in lines] == list(range(5))


def test_output_that_can_not_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vidpipe", "schema"],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "vidpipe: standard output can't be written: No space left on device\n"


def test_a_reader_that_has_gone_is_no_error_to_speak_of(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "vidpipe", "schema"],
            cwd=tmp_path,
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_demo_says_which_folder_it_can_not_write_to(tmp_path: Path) -> None:
    done = vidpipe("demo", "-o", "out{1", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "vidpipe: -o out{1: choose a folder without braces: they mark placeholders\n"
    )
