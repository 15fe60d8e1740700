"""The ledger says what was finished, whatever has happened since."""

from __future__ import annotations

import os
import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest

from vidpipe.apps.batch.identity import Identity
from vidpipe.apps.batch.ledger import Ledger, LedgerError, State, UnitRow
from vidpipe.apps.batch.plan import Unit
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.spans import Span

IDENTITY = Identity(10, 20, "abc")
UNITS = [Unit(0, Span(None, 5, 5), 0, 5), Unit(1, Span(5, None, None), 5, 6)]


def test_a_file_and_its_units_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    number = ledger.begin_file("yard/a.mp4", Path("/x/a.mp4"), IDENTITY, {"confidence": 0.4})
    ledger.plan(number, UNITS)
    ledger.finish_unit(number, UnitRow(UNITS[0], State.DONE, 5, 1234, 2))
    ledger.close()

    again = Ledger(path)
    row = again.find("yard/a.mp4")
    assert row is not None
    assert (row.identity, row.settings, row.state) == (IDENTITY, {"confidence": 0.4}, State.PENDING)
    units = again.units(row.id)
    assert [unit.unit for unit in units] == UNITS
    assert [(unit.state, unit.lines, unit.size_bytes, unit.failed) for unit in units] == [
        (State.DONE, 5, 1234, 2),
        (State.PENDING, 0, 0, 0),
    ]
    again.end_file(row.id, State.DONE, "odd", {"frames": 11})
    done = again.find("yard/a.mp4")
    assert done is not None
    assert (done.state, done.reason, done.outcome) == (State.DONE, "odd", {"frames": 11})
    again.close()


def test_a_file_that_is_begun_anew_forgets_its_units(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    first = ledger.begin_file("a.mp4", Path("/x/a.mp4"), IDENTITY, {})
    ledger.plan(first, UNITS)
    second = ledger.begin_file("a.mp4", Path("/x/a.mp4"), IDENTITY, {})
    assert ledger.units(second) == []
    assert ledger.units(first) == []
    ledger.close()


def test_names_that_are_no_text_are_kept(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    name = os.fsdecode(b"caf\xe9.mp4")
    ledger.begin_file(name, Path("/x") / name, IDENTITY, {})
    assert ledger.find(name) is not None
    ledger.close()


def test_what_is_done_together_is_undone_together(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")

    def fail() -> None:
        with ledger.together():
            ledger.begin_file("a.mp4", Path("/x/a.mp4"), IDENTITY, {})
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert ledger.find("a.mp4") is None
    ledger.close()


def test_every_commit_is_on_the_disk_before_it_returns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.begin_file("a.mp4", Path("/x/a.mp4"), IDENTITY, {})
    other = sqlite3.connect(tmp_path / "ledger.sqlite")
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert other.execute("SELECT count(*) FROM files").fetchone() == (1,)
    other.close()
    ledger.close()


def test_threads_share_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    faults: list[BaseException] = []
    threads = ThreadGroup(lambda _, exc: faults.append(exc))
    gate = threading.Barrier(4)

    def write(number: int) -> None:
        gate.wait()
        for index in range(20):
            ledger.begin_file(f"{number}-{index}.mp4", Path("/x"), IDENTITY, {})

    for number in range(4):
        threads.spawn(f"write-{number}", partial(write, number))
    threads.join(30)
    assert not faults
    assert all(ledger.find(f"{number}-19.mp4") is not None for number in range(4))
    ledger.close()


def test_what_is_no_ledger_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"something else altogether" * 100)
    with pytest.raises(LedgerError, match="ledger"):
        Ledger(path)
    newer = tmp_path / "newer.sqlite"
    base = sqlite3.connect(newer)
    base.execute("PRAGMA user_version=99")
    base.close()
    with pytest.raises(LedgerError, match="another version"):
        Ledger(newer)


def test_the_last_rate_is_remembered(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.last_rate_fps() is None
    for frames, took_s in ((1000, 10.0), (0, 3.0)):
        run = ledger.begin_run("2026-01-01", {})
        ledger.end_run(run, "2026-01-01", {"frames": frames, "took_s": took_s})
    assert ledger.last_rate_fps() == 100.0
    ledger.close()
