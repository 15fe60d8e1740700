"""Events on the disk until everybody has them: a SQLite file.

Guarantees:
    * what ``add`` has returned from survives the death of the process, and of the machine as far as
      its disk keeps its word;
    * events come out in the order in which they went in;
    * several processes may share a file, each for its own targets;
    * the file never holds more than it may: the oldest give way;
    * a file that is no such store, or a damaged one, is never written to.

One thread uses a store. A target names one output of one stream, as in ``gate/mqtt``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vidpipe.runtime.logs import redact

_FORMAT = 1
_PAGE_BYTES = 4096
_LEAST_BYTES = 32 * _PAGE_BYTES
_CHUNK = 256

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pending (
    seq INTEGER NOT NULL, target TEXT NOT NULL, PRIMARY KEY (seq, target)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One event for one target.

    Attributes:
        seq: Its place in its store.
        target: Whose it is.
        id: The event's.
        body: The event as JSON.
    """

    seq: int
    target: str
    id: str
    body: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One event and all that shall get it."""

    id: str
    body: str
    targets: tuple[str, ...]


class StoreError(Exception):
    """The store can't be used now (locked, a full disk), or not at all where it ``is_damaged``."""

    def __init__(self, message: str, *, is_damaged: bool) -> None:
        """Keep whether the file itself is at fault."""
        super().__init__(message)
        self.is_damaged = is_damaged


class EventStore:
    """The store; ``path`` None: in memory."""

    def __init__(self, path: Path | None, max_bytes: int, *, lock_s: float = 1.0) -> None:
        """Open or create it; another process may hold it for so long.

        Raises:
            StoreError: It can't be.
        """
        # What lies beside it is taken into account: its index of 32 KB, and the journal, which is
        # emptied at its limit, but only after a change; a change dirties some pages an event.
        journal_pages = max(16, min(1000, max_bytes // 8 // _PAGE_BYTES))
        self._at_once = max(4, min(_CHUNK, max_bytes // 32 // _PAGE_BYTES))
        beside_pages = 8 + journal_pages + 8 * self._at_once
        self._limit_bytes = max(_LEAST_BYTES, max_bytes - beside_pages * _PAGE_BYTES)
        self.path = path
        self._inode: tuple[int, int] | None = None
        with _translated():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                ":memory:" if path is None else path, timeout=lock_s, isolation_level=None
            )
            try:
                self._prepare(journal_pages)
            except BaseException:
                self._db.close()
                raise
        self._inode = self._inode_now()

    def _prepare(self, journal_pages: int) -> None:
        db = self._db
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version != _FORMAT and (version or tables):
            raise StoreError("it is another program's, or another version's", is_damaged=True)
        if self.path is not None:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            db.execute(f"PRAGMA wal_autocheckpoint={journal_pages}")
            db.execute(f"PRAGMA journal_size_limit={journal_pages * _PAGE_BYTES}")
            (finding,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if finding != "ok":
                raise StoreError(f"it is damaged: {finding}", is_damaged=True)
        with self._changing():
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version={_FORMAT}")

    @property
    def is_in_place(self) -> bool:
        """False if the file has been deleted or replaced by somebody else."""
        return self._inode == self._inode_now()

    def add(self, entries: Sequence[Entry]) -> Counter[str]:
        """Keep events; return how many had to give way for them, by target.

        Raises:
            StoreError: Not all of them are kept; those that are may be added again.
        """
        lost: Counter[str] = Counter()
        for first in range(0, len(entries), self._at_once):
            lost += self._add_at_once(entries[first : first + self._at_once])
        return lost

    def _add_at_once(self, entries: Sequence[Entry]) -> Counter[str]:
        with self._changing():
            for entry in entries:
                added = self._db.execute(
                    "INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (entry.id, entry.body)
                )
                if added.rowcount:
                    rows = [(added.lastrowid, target) for target in entry.targets]
                    self._db.executemany("INSERT INTO pending VALUES (?, ?)", rows)
            return self._trim()

    def next(self, targets: Sequence[str], after: int, count: int) -> list[Parcel]:
        """Return the next parcels of some targets behind a place, in order.

        Raises:
            StoreError: The file can't be read.
        """
        marks = ",".join("?" * len(targets))
        # In the order of the primary key, so that nothing is sorted.
        query = (
            "SELECT p.seq, p.target, e.id, e.body FROM pending p JOIN events e ON e.seq = p.seq "
            f"WHERE p.seq > ? AND p.target IN ({marks}) ORDER BY p.seq LIMIT ?"
        )
        with _translated():
            rows = self._db.execute(query, (after, *targets, count)).fetchall()
            return [Parcel(*row) for row in rows]

    def settle(self, done: Iterable[tuple[str, str]]) -> None:
        """Forget what has been delivered: pairs of a target and an event's id.

        Raises:
            StoreError: Nothing is forgotten.
        """
        with self._changing():
            for target, event in done:
                row = self._db.execute("SELECT seq FROM events WHERE id = ?", (event,)).fetchone()
                if row is not None:
                    self._db.execute(
                        "DELETE FROM pending WHERE seq = ? AND target = ?", (*row, target)
                    )
                    self._db.execute(
                        "DELETE FROM events WHERE seq = ?1 AND NOT EXISTS "
                        "(SELECT 1 FROM pending WHERE seq = ?1)",
                        row,
                    )

    def waiting(self, targets: Sequence[str]) -> int:
        """Count the parcels of some targets.

        Raises:
            StoreError: The file can't be read.
        """
        marks = ",".join("?" * len(targets))
        query = f"SELECT count(*) FROM pending WHERE target IN ({marks})"
        with _translated():
            return int(self._db.execute(query, tuple(targets)).fetchone()[0])

    def entries(self) -> Iterator[Entry]:
        """Yield everything, in order.

        Raises:
            StoreError: The file can't be read.
        """
        after = 0
        while True:
            with _translated():
                rows = self._db.execute(
                    "SELECT seq, id, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
                    (after, _CHUNK),
                ).fetchall()
                found = [(row, self._targets_of(row[0])) for row in rows]
            for (_, event, body), targets in found:
                yield Entry(event, body, targets)
            if not rows:
                return
            after = rows[-1][0]

    def close(self) -> None:
        """Let go of the file; never raises."""
        try:
            self._db.close()
        except sqlite3.Error:
            return  # what was committed is on the disk; the rest can't be helped

    def _targets_of(self, seq: int) -> tuple[str, ...]:
        rows = self._db.execute("SELECT target FROM pending WHERE seq = ?", (seq,))
        return tuple(target for (target,) in rows)

    def _trim(self) -> Counter[str]:
        """Let the oldest give way while there is too much."""
        lost: Counter[str] = Counter()
        while self._used_bytes() > self._limit_bytes:
            rows = self._db.execute(
                "SELECT seq FROM events ORDER BY seq LIMIT ?", (self._at_once,)
            ).fetchall()
            if not rows:
                break
            last = rows[-1]
            lost.update(
                target
                for (target,) in self._db.execute("SELECT target FROM pending WHERE seq <= ?", last)
            )
            self._db.execute("DELETE FROM pending WHERE seq <= ?", last)
            self._db.execute("DELETE FROM events WHERE seq <= ?", last)
        return lost

    def _used_bytes(self) -> int:
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE_BYTES

    def _inode_now(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat() if self.path is not None else None
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if status is not None else None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Make all changes or none."""
        with _translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as exc:
        raise StoreError(redact(str(exc)), is_damaged=False) from exc
    except sqlite3.Error as exc:
        # "file is not a database", "database disk image is malformed"
        raise StoreError(redact(str(exc)), is_damaged=True) from exc
    except OSError as exc:
        raise StoreError(exc.strerror or type(exc).__name__, is_damaged=False) from exc
