"""The outbox's file through its troubles: damaged, locked, taken away, on a full disk.

Guarantees:
    * there is always a store to work with: one in memory where the file's can't be used;
    * a damaged file is moved aside and kept; a file that can't be used now stays as it is, is tried
      again, and then gets what was kept in memory;
    * several processes may open and mend the same file.

One thread uses a vault.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from loguru import logger

from vidpipe.interfaces import Clock
from vidpipe.outputs.eventstore import Entry, EventStore, StoreError

T = TypeVar("T")

_MEMORY_BYTES = 32_000_000
_LOCK_S = 5.0
_LOCK_BEAT_S = 0.05


@dataclass(frozen=True, slots=True)
class OutboxPolicy:
    """Where events wait.

    Attributes:
        path: The database's file.
        max_bytes: How large it may become.
        retry_s: How long a file that can't be used is left alone.
        lock_s: How long another program may hold it before it can't be used.
    """

    path: Path
    max_bytes: int
    retry_s: float = 10.0
    lock_s: float = 1.0


class Vault:
    """The store that can be used now, whichever that is."""

    def __init__(
        self,
        policy: OutboxPolicy,
        on_loss: Callable[[Mapping[str, int]], None],
        clock: Clock = time.monotonic,
    ) -> None:
        """Open nothing yet: ``look_after`` does; ``on_loss`` is told what gave way, by target."""
        self.generation = 0
        """Changes with the store: places in it (``Parcel.seq``) mean nothing in another."""
        self._policy = policy
        self._on_loss = on_loss
        self._clock = clock
        self._store: EventStore | None = None
        self._retry_at = float("-inf")
        self._unsettled: list[tuple[str, str]] = []

    @property
    def is_in_memory(self) -> bool:
        """True while the file can't be used: what it holds now would be lost by a kill."""
        return self._store is not None and self._store.path is None

    def do(self, work: Callable[[EventStore], T]) -> T:
        """Do something with the store; with one in memory, if the file's can't be used."""
        assert self._store is not None
        try:
            return work(self._store)
        except StoreError as exc:
            self._replace(self._store, exc)
        try:
            return work(self._store)
        except StoreError as exc:  # the new one doesn't work either
            self._tell(exc)
            self._use(EventStore(None, _MEMORY_BYTES))
        return work(self._store)

    def look_after(self) -> None:
        """Open the file at first, and again once it may have become usable."""
        if self._store is not None and not self.is_in_memory and not self._store.is_in_place:
            logger.warning("{} has been taken away: it is made anew", self._policy.path)
            self._use(self._opened() or EventStore(None, _MEMORY_BYTES))
        if self._store is not None and not self.is_in_memory:
            return
        if self._store is None or self._clock() >= self._retry_at:
            store = self._opened()
            if store is None and self._store is None:
                store = EventStore(None, _MEMORY_BYTES)
            if store is not None:
                self._use(store)

    def _replace(self, store: EventStore, error: StoreError) -> None:
        """Go on without a store that has failed."""
        if not error.is_damaged:
            self._tell(error)
            self._use(EventStore(None, _MEMORY_BYTES))
            return
        with _alone(self._policy.path):
            if store.is_in_place:  # or another process has moved it already
                self._move_aside(error)
        store.close()
        self._store = None
        self.generation += 1
        self.look_after()

    def _opened(self) -> EventStore | None:
        """Return the file's store, or None if it can't be used now."""
        self._retry_at = self._clock() + self._policy.retry_s
        path = self._policy.path
        try:
            with _alone(path):
                try:
                    return self._file_store()
                except StoreError as exc:
                    if not exc.is_damaged:
                        raise
                    self._move_aside(exc)
                    return self._file_store()
        except StoreError as exc:
            self._tell(exc)
            return None

    def _file_store(self) -> EventStore:
        policy = self._policy
        return EventStore(policy.path, policy.max_bytes, lock_s=policy.lock_s)

    def _tell(self, error: StoreError) -> None:
        if not self.is_in_memory:
            logger.error(
                "the outbox {} can't be used ({}): events are kept in memory until it can",
                self._policy.path,
                error,
            )

    def _move_aside(self, error: StoreError) -> None:
        """Give a damaged file another name, with what belongs to it."""
        path = self._policy.path
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        aside = path.with_name(f"{path.name}.damaged-{stamp}")
        for suffix in ("-wal", "-shm", ""):
            with suppress(OSError):
                path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
        logger.error(
            "the outbox {} can't be read ({}): it was moved to {}; the events in it aren't "
            "delivered, new ones are",
            path,
            error,
            aside.name,
        )

    def _use(self, store: EventStore) -> None:
        """Go over to a store, with what waits in the one so far unless that is still in its place.

        A file that stays where it is keeps what it has until it can be used again.
        """
        old, self._store = self._store, store
        self.generation += 1
        if old is None:
            return
        if old.path is None or not old.is_in_place:
            try:
                waiting = list(old.entries())
            except StoreError as exc:
                logger.error("what waited in the outbox is lost: {}", exc)
                waiting = []
            self._move_in(waiting)
        old.close()

    def _move_in(self, entries: Sequence[Entry]) -> None:
        """Fill the store with what the one before had; one in memory if the file fails again."""
        assert self._store is not None
        try:
            self._store.settle(self._unsettled)
            self._on_loss(self._store.add(entries))
        except StoreError as exc:
            self._tell(exc)
            self._store.close()
            self._store = EventStore(None, _MEMORY_BYTES)
            self._on_loss(self._store.add(entries))
            return
        if not self.is_in_memory:
            self._unsettled.clear()
            logger.info("the outbox {} can be used again", self._policy.path)

    def settle(self, done: Sequence[tuple[str, str]]) -> None:
        """Forget what has been delivered: pairs of a target and an event's id."""
        self.do(lambda store: store.settle(done))
        if self.is_in_memory:
            self._unsettled += done  # the file may know them, too

    def close(self, targets: Sequence[str]) -> tuple[int, int]:
        """Let go of the store; return how much waits for some targets, on disk and in memory."""
        self._retry_at = float("-inf")
        self.look_after()  # a last chance for the file
        waiting = self.do(lambda store: store.waiting(targets))
        assert self._store is not None
        self._store.close()
        return (0, waiting) if self.is_in_memory else (waiting, 0)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from opening the file, or moving it aside, at the same time."""
    descriptor = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        _lock(descriptor)
    except OSError:
        pass  # a file system without locks, or no folder: whoever opens it is told why
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Wait for the folder's lock, but not for ever: another program may have a use for it."""
    until_s = time.monotonic() + _LOCK_S
    while time.monotonic() < until_s:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_BEAT_S)
        else:
            return
