"""The newest of each kind on its way from many threads to one that takes them when it can."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)
Thing = TypeVar("Thing")


class Newest(Generic[Kind, Thing]):
    """What waits to be taken: one a kind at most, newest wins; every method is for any thread."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._waiting: dict[Kind, Thing] = {}
        self._is_called = False

    def put(self, thing: Thing, kinds: Iterable[Kind]) -> bool:
        """Leave something in place of what is older; True if whoever takes has to be called."""
        with self._lock:
            for kind in kinds:
                self._waiting[kind] = thing
            is_called, self._is_called = self._is_called, True
            return not is_called

    def miss(self) -> None:
        """Whoever takes couldn't be called: the next ``put`` is to try again."""
        with self._lock:
            self._is_called = False

    def take(self) -> list[tuple[Thing, list[Kind]]]:
        """Return what waits, oldest first; what is the newest of several kinds comes once."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._is_called = False
        kinds_of: dict[int, tuple[Thing, list[Kind]]] = {}
        for kind, thing in waiting.items():
            kinds_of.setdefault(id(thing), (thing, []))[1].append(kind)
        return list(kinds_of.values())
