"""Files that somebody changes while a run lasts: seen by looking, and once they rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from vidpipe.runtime.stamps import Stamp, stamp_of

_LOOK_EVERY_S = 0.5
_CALM_S = 1.0
"""An editor saves in several steps, and several files may be changed together."""


class FileWatch:
    """Looks now and then; one thread."""

    def __init__(self, main: Path, others: Callable[[], Iterable[Path]], now_s: float) -> None:
        """Take everything as it is.

        Args:
            main: The configuration; while it isn't there, as between two steps of an editor,
                nothing has changed.
            others: Returns the further files, which may be others the next time.
            now_s: The time.
        """
        self._main = main
        self._others = others
        self._known = self._seen = self._look()
        self._next_s = now_s
        self._seen_at = now_s

    def has_changed(self, now_s: float) -> bool:
        """Return True once after each change, when the files have rested for a while."""
        if now_s < self._next_s:
            return False
        self._next_s = now_s + _LOOK_EVERY_S
        seen = self._look()
        if seen != self._seen:
            self._seen, self._seen_at = seen, now_s
            return False
        if seen == self._known or now_s - self._seen_at < _CALM_S or seen[self._main] is None:
            return False
        self._known = seen
        return True

    def settle(self) -> None:
        """The files have been read: which there are may be different now."""
        seen = self._look()
        self._known = self._seen = {path: self._known.get(path, seen[path]) for path in seen}

    def _look(self) -> dict[Path, Stamp | None]:
        return {path: stamp_of(path) for path in (self._main, *self._others())}
