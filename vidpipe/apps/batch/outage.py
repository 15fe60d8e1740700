"""When inputs can't be read: one that is broken, or a whole share that has gone. Pure policy.

An input that has vanished with its folder, or that the system itself can't read, is put aside as a
suspect. The next one that can be read clears the share: the suspects were at fault themselves.
Three in a row, or a root that is missing, are an outage: nothing is begun until a suspect can be
read again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.interfaces import Clock

_IN_A_ROW = 3
_FORBIDDEN = (errno.EACCES, errno.EPERM)


@dataclass(frozen=True, slots=True)
class OutagePolicy:
    """How long to wait for a share.

    Attributes:
        first_s: Seconds before it is looked at again.
        most_s: At most so many between two looks.
        give_up_s: After so long the run is stopped, to be resumed.
    """

    first_s: float = 2.0
    most_s: float = 30.0
    give_up_s: float = 900.0


class Reach(Enum):
    """Whether the inputs can be read."""

    WELL = "well"
    OUT = "out"
    """Wait: nothing is to be begun."""
    GONE = "gone"
    """It has lasted too long."""


def can_be_read(path: Path) -> bool:
    """Tell whether the system can read a file.

    It is no outage either where this user may not read it, or it was deleted from among others.
    """
    try:
        with path.open("rb") as file:
            file.read(1)
            file.seek(max(0, path.stat().st_size - 1))
            file.read(1)
    except FileNotFoundError:
        return _is_missing_alone(path)
    except OSError as exc:
        return exc.errno in _FORBIDDEN
    return True


def _is_missing_alone(path: Path) -> bool:
    """Tell whether a file is missing where other things are: it was deleted, or leads nowhere."""
    folder = Path(os.path.realpath(path)).parent
    # Of a link nobody knows how much of what it leads to was ever there.
    while path.is_symlink() and not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return not is_gone(folder)


def is_gone(root: Path) -> bool:
    """Tell whether what inputs were found in is away: a share leaves its empty folder behind."""
    try:
        return next(root.iterdir(), None) is None
    except NotADirectoryError:
        return False
    except OSError as exc:
        return exc.errno not in _FORBIDDEN


@dataclass(slots=True)
class Outage:
    """The state of the inputs' places; for one thread.

    Attributes:
        policy: How long to wait.
        clock: Monotonic seconds.
        is_readable: Asks the system.
    """

    policy: OutagePolicy
    clock: Clock
    is_readable: Callable[[Path], bool] = can_be_read
    _suspects: dict[str, InputFile] = field(default_factory=dict)
    _since: float | None = None
    _next_look_at: float = 0.0
    _rest_s: float = 0.0

    def note_failure(self, file: InputFile) -> bool:
        """An input failed; True if it has become a suspect, False if the fault is its own."""
        if self.is_readable(file.path):
            return False
        self._suspects[file.stem] = file
        if len(self._suspects) >= _IN_A_ROW or is_gone(file.root):
            self._begin()
        return True

    def note_success(self) -> list[InputFile]:
        """Something could be read; return the suspects, which have failed for good."""
        if self._since is not None:
            return []
        suspects, self._suspects = list(self._suspects.values()), {}
        return suspects

    def settle(self) -> list[InputFile]:
        """There is nothing else to do: return suspects that failed, or wait for their share."""
        if any(is_gone(file.root) for file in self._suspects.values()):
            self._begin()
        return self.note_success()

    def look(self) -> tuple[Reach, list[InputFile]]:
        """Return how things stand, and the suspects that can be tried again now."""
        if self._since is None:
            return Reach.WELL, []
        now_s = self.clock()
        if now_s < self._next_look_at:
            return Reach.OUT, []
        if any(self.is_readable(file.path) for file in self._suspects.values()):
            back, self._suspects, self._since = list(self._suspects.values()), {}, None
            return Reach.WELL, back
        if now_s - self._since >= self.policy.give_up_s:
            return Reach.GONE, []
        self._rest_s = min(self.policy.most_s, self._rest_s * 2)
        self._next_look_at = now_s + self._rest_s
        return Reach.OUT, []

    @property
    def is_out(self) -> bool:
        """True while nothing is to be begun."""
        return self._since is not None

    @property
    def suspects(self) -> list[InputFile]:
        """The inputs that could not be read."""
        return list(self._suspects.values())

    def _begin(self) -> None:
        if self._since is None:
            self._since = self.clock()
            self._rest_s = self.policy.first_s
            self._next_look_at = self._since + self._rest_s
