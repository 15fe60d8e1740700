"""Pictures on their way from a worker to its parent: of each size the newest, and no other."""

from __future__ import annotations

import threading
from collections.abc import Collection

from vidpipe.apps.messages import Shown
from vidpipe.shots import Shot, ShotSize


class PicturePost:
    """What waits to be sent; every method is for any thread.

    It never holds more than one picture a stream and size that somebody asked for.
    """

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, ShotSize], Shot] = {}
        self._is_called = False

    def put(self, shot: Shot, sizes: Collection[ShotSize]) -> bool:
        """Leave a picture in place of an older one; True if whoever sends has to be called."""
        with self._lock:
            for size in sizes:
                self._waiting[shot.stream, size] = shot
            is_called, self._is_called = self._is_called, True
            return not is_called

    def miss(self) -> None:
        """Whoever sends couldn't be called: the next ``put`` is to try again."""
        with self._lock:
            self._is_called = False

    def take(self) -> list[Shown]:
        """Return what waits, oldest first; a picture that answers several sizes goes once."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._is_called = False
        sizes_of: dict[int, tuple[Shot, list[ShotSize]]] = {}
        for (_, size), shot in waiting.items():
            sizes_of.setdefault(id(shot), (shot, []))[1].append(size)
        return [Shown(shot, tuple(sizes)) for shot, sizes in sizes_of.values()]
