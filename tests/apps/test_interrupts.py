"""Signals that come before there is a run to stop, and standard streams that aren't there."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, environment, vidpipe, write_config
from tests.fakes import FakeClock
from tests.graphs import saved, ssd_rows
from vidpipe.apps.signals import StopSignals
from vidpipe.errors import InterruptedStartError

STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def nothing() -> None:
    """Hurry nobody."""


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


@pytest.mark.parametrize("number", STOPPING)
def test_an_interrupt_before_the_start_is_said_to_be_one(number: signal.Signals) -> None:
    with pytest.raises(InterruptedStartError), StopSignals():
        signal.raise_signal(number)


def test_an_interrupt_before_the_start_is_no_failure_of_a_library() -> None:
    def translate() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except Exception:  # noqa: BLE001 - as where a library's errors are translated
            pytest.fail("taken for an error")

    with pytest.raises(InterruptedStartError), StopSignals():
        translate()


def test_an_interrupt_that_a_library_swallows_prevents_the_start() -> None:
    def start(signals: StopSignals) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signals.arm(nothing)

    with pytest.raises(InterruptedStartError), StopSignals() as signals:
        start(signals)


@pytest.mark.parametrize("number", STOPPING)
def test_the_first_signal_stops_a_run_and_the_second_hurries_it(
    number: signal.Signals, clock: FakeClock
) -> None:
    hurried: list[bool] = []
    with StopSignals(clock) as signals:
        signals.arm(lambda: hurried.append(True))
        assert not signals.wait(0)
        signal.raise_signal(number)
        assert signals.wait(0)
        assert signals.wait(0), "it has come once and for all"
        assert (signals.name, hurried) == (number.name, [])
        clock.advance(0.1)
        signal.raise_signal(number)
        assert hurried == [True]


def test_two_signals_at_once_are_one_wish(clock: FakeClock) -> None:
    hurried: list[bool] = []
    with StopSignals(clock) as signals:
        signals.arm(lambda: hurried.append(True))
        signal.raise_signal(signal.SIGTERM)  # as `timeout` does: to the process,
        clock.advance(0.01)
        signal.raise_signal(signal.SIGTERM)  # and to its group
        assert signals.wait(0)
        assert (signals.name, hurried) == ("SIGTERM", [])
        clock.advance(0.1)
        signal.raise_signal(signal.SIGINT)
        assert hurried == [True]


def test_a_closing_terminal_is_ignored_where_it_was_before() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


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
