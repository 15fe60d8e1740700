"""The record of a batch: an SQLite database in the output folder, true at any moment.

Every change is one transaction that is on the disk before the call returns (write-ahead log,
``synchronous=FULL``), so that after a SIGKILL or a power cut it says exactly what was finished.
Names are kept as bytes, since a file's name need not be text.

One process has a ledger open; within it any thread may call.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from vidpipe.apps.batch.identity import Identity
from vidpipe.apps.batch.plan import Unit, unit_from_document
from vidpipe.errors import VidpipeError

_VERSION = 2
_SCHEMA = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, ended_at TEXT, ending TEXT,
    about TEXT NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, stem BLOB NOT NULL UNIQUE, path BLOB NOT NULL,
    size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, digest TEXT NOT NULL,
    is_full INTEGER NOT NULL, settings TEXT NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '', outcome TEXT NOT NULL DEFAULT '{}');
CREATE TABLE units (
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, number INTEGER NOT NULL,
    plan TEXT NOT NULL, state TEXT NOT NULL, lines INTEGER NOT NULL DEFAULT 0,
    size_bytes INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (file, number)) WITHOUT ROWID;
"""


class LedgerError(VidpipeError):
    """The ledger can't be read or written."""


class LedgerFullError(LedgerError):
    """The disk is full."""


class State(StrEnum):
    """How far a file or a unit is."""

    PENDING = "pending"
    """There is work left."""
    DONE = "done"
    """All of it is in its results."""
    FAILED = "failed"
    """A file: set aside."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file, as the ledger knows it.

    Attributes:
        id: The ledger's number for it.
        identity: The content that was analysed.
        settings: With what.
        state: How far it is.
        reason: Why it failed, or what is to be said of it all the same.
        outcome: Numbers: ``frames``, ``expected``, ``duration_s``, ``took_s`` and so on.
    """

    id: int
    identity: Identity
    settings: Mapping[str, Any]
    state: State
    reason: str
    outcome: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit, as the ledger knows it.

    Attributes:
        unit: What it is.
        state: How far it is.
        lines: How many lines it has, once it is done.
        size_bytes: Their length, likewise.
        failed: How many of them tell of a frame that the model didn't answer, likewise.
    """

    unit: Unit
    state: State
    lines: int = 0
    size_bytes: int = 0
    failed: int = 0


class Ledger:
    """The ledger of one output folder."""

    def __init__(self, path: Path) -> None:
        """Open it, or make a new one.

        Raises:
            LedgerError: It can't be opened, or is of another version.
        """
        self._path = path
        self._lock = threading.RLock()
        self._depth = 0
        with self._translated():
            self._base = sqlite3.connect(
                path, timeout=10.0, isolation_level=None, check_same_thread=False
            )
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.execute("PRAGMA foreign_keys=ON")
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._base.executescript(
                    f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={_VERSION};COMMIT;"
                )
        if version not in (0, _VERSION):
            self._base.close()
            raise LedgerError(
                f"{path} was written by another version of vidpipe: choose another output folder"
            )

    def close(self) -> None:
        """Close it; may be repeated."""
        self._base.close()

    # ---- Runs ----------------------------------------------------------------------------------

    def begin_run(self, started_at: str, about: Mapping[str, Any]) -> int:
        """Note that a run has begun; return its number."""
        with self._transaction() as base:
            row = base.execute(
                "INSERT INTO runs (started_at, about) VALUES (?, ?) RETURNING id",
                (started_at, json.dumps(about)),
            ).fetchone()
            return int(row[0])

    def end_run(self, run: int, ended_at: str, ending: Mapping[str, Any]) -> None:
        """Note how a run has ended: ``frames`` and ``took_s`` among it."""
        with self._transaction() as base:
            base.execute(
                "UPDATE runs SET ended_at = ?, ending = ? WHERE id = ?",
                (ended_at, json.dumps(ending), run),
            )

    def last_rate_fps(self) -> float | None:
        """Return how many frames a second the last run made that made some; None without one."""
        with self._transaction() as base:
            rows = base.execute(
                "SELECT ending FROM runs WHERE ending IS NOT NULL ORDER BY id DESC LIMIT 20"
            ).fetchall()
        for (text,) in rows:
            ending = json.loads(text)
            if ending["frames"] and ending["took_s"]:
                return float(ending["frames"] / ending["took_s"])
        return None

    # ---- Files ---------------------------------------------------------------------------------

    def find(self, stem: str) -> FileRow | None:
        """Return what is known of a file."""
        with self._transaction() as base:
            row = base.execute(
                "SELECT id, size_bytes, mtime_ns, digest, is_full, settings, state, reason, outcome"
                " FROM files WHERE stem = ?",
                (os.fsencode(stem),),
            ).fetchone()
        if row is None:
            return None
        number, size, mtime, digest, is_full, settings, state, reason, outcome = row
        identity = Identity(size, mtime, digest, bool(is_full))
        return FileRow(
            number, identity, json.loads(settings), State(state), reason, json.loads(outcome)
        )

    def inputs(self) -> dict[str, tuple[Path, Identity]]:
        """Return where the files were, and what they held, by their names."""
        with self._transaction() as base:
            rows = base.execute(
                "SELECT stem, path, size_bytes, mtime_ns, digest, is_full FROM files"
            ).fetchall()
        return {
            os.fsdecode(stem): (Path(os.fsdecode(path)), Identity(size, mtime, digest, bool(full)))
            for stem, path, size, mtime, digest, full in rows
        }

    def done_with(self, settings: Mapping[str, Any]) -> set[str]:
        """Return the names of the files that are done with these settings."""
        with self._transaction() as base:
            rows = base.execute(
                "SELECT stem FROM files WHERE state = ? AND settings = ?",
                (State.DONE, json.dumps(settings)),
            ).fetchall()
        return {os.fsdecode(stem) for (stem,) in rows}

    def begin_file(
        self, stem: str, path: Path, identity: Identity, settings: Mapping[str, Any]
    ) -> int:
        """Begin a file anew, forgetting what was known of it; return its number."""
        with self._transaction() as base:
            base.execute("DELETE FROM files WHERE stem = ?", (os.fsencode(stem),))
            row = base.execute(
                "INSERT INTO files (stem, path, size_bytes, mtime_ns, digest, is_full, settings,"
                " state) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    os.fsencode(stem),
                    os.fsencode(path),
                    identity.size_bytes,
                    identity.mtime_ns,
                    identity.digest,
                    identity.is_full,
                    json.dumps(settings),
                    State.PENDING,
                ),
            ).fetchone()
            return int(row[0])

    def end_file(
        self, file: int, state: State, reason: str, outcome: Mapping[str, Any] | None = None
    ) -> None:
        """Note what became of a file; a failed one's units are forgotten."""
        with self._transaction() as base:
            base.execute(
                "UPDATE files SET state = ?, reason = ?, outcome = ? WHERE id = ?",
                (state, reason, json.dumps(outcome or {}), file),
            )

    # ---- Units ---------------------------------------------------------------------------------

    def plan(self, file: int, units: Sequence[Unit]) -> None:
        """Set a file's units, all of them still to be done, in place of those it had."""
        with self._transaction() as base:
            base.execute("DELETE FROM units WHERE file = ?", (file,))
            base.executemany(
                "INSERT INTO units (file, number, plan, state) VALUES (?, ?, ?, ?)",
                [(file, u.number, json.dumps(u.document()), State.PENDING) for u in units],
            )

    def units(self, file: int) -> list[UnitRow]:
        """Return a file's units, in order."""
        with self._transaction() as base:
            rows = base.execute(
                "SELECT plan, state, lines, size_bytes, failed FROM units WHERE file = ?"
                " ORDER BY number",
                (file,),
            ).fetchall()
        return [
            UnitRow(unit_from_document(json.loads(plan)), State(state), lines, size, failed)
            for plan, state, lines, size, failed in rows
        ]

    def finish_unit(self, file: int, row: UnitRow) -> None:
        """Note that a unit is done: its lines and bytes, which are on the disk already."""
        with self._transaction() as base:
            base.execute(
                "UPDATE units SET state = ?, lines = ?, size_bytes = ?, failed = ? WHERE file = ?"
                " AND number = ?",
                (State.DONE, row.lines, row.size_bytes, row.failed, file, row.unit.number),
            )

    # ---- Inside --------------------------------------------------------------------------------

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one transaction of all that this thread does within the ``with``."""
        with self._transaction():
            yield

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._translated():
            self._depth += 1
            try:
                if self._depth == 1:
                    self._base.execute("BEGIN IMMEDIATE")
                yield self._base
                if self._depth == 1:
                    self._base.execute("COMMIT")
            except BaseException:
                if self._depth == 1 and self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            is_full = getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            kind = LedgerFullError if is_full else LedgerError
            raise kind(f"the ledger {self._path}: {exc}") from exc
