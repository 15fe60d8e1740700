"""What an output may take of the disk: how old and how much its files get, and what must stay free.

Only files that the output itself may have written are ever deleted: regular files whose whole name
is what its path's template makes, never one that is being written, nor the newest for its size.
Where a folder can't be read, nothing is deleted. One thread at a time asks; clocks and the free
space are handed in.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loguru import logger

from vidpipe.events import Announce, EventKind
from vidpipe.interfaces import Clock
from vidpipe.outputs.archive import Archive, StoredFile
from vidpipe.outputs.naming import utc_now

TEND_EVERY_S = 30.0
"""How often files are looked through; also while nothing is written."""
_LOOK_EVERY_S = 1.0
"""How often the free space is asked for: a call of the system, of a microsecond or two."""
_RESUME_SHARE, _RESUME_BYTES = 1.1, 100_000_000
"""Writing goes on with a tenth more room than at which it stopped, and with no less than 100 MB
more where the limit is large: it would stop again at once."""
_REMIND_AFTER_S = 3600.0
_DAY_S = 86_400.0
_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """What one output may take.

    Attributes:
        keep_days: Files whose last picture is older than this are deleted; None: never.
        keep_gb: The oldest files are deleted above this total, in 10^9 bytes; None: never.
        min_free_gb: Nothing is written below this free space; None: always.
    """

    keep_days: float | None = None
    keep_gb: float | None = None
    min_free_gb: float | None = None

    @property
    def resume_bytes(self) -> float:
        """The free space with which writing goes on."""
        limit = (self.min_free_gb or 0.0) * _GB
        return limit + min(limit * (_RESUME_SHARE - 1), _RESUME_BYTES)


def free_bytes(folder: Path) -> int:
    """Return what a user who is not root may still write where a folder is, or will be.

    Raises:
        OSError: The system doesn't say.
    """
    folder = folder.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


def is_full(exc: OSError) -> bool:
    """Tell whether something could not be written for want of room: the disk's, or the user's."""
    return exc.errno in (errno.ENOSPC, errno.EDQUOT)


def _say_nothing(kind: EventKind, detail: str) -> None:
    """Stand for an announcer where nobody wants events."""


class Storage:
    """Looks after the files of one output of one stream."""

    def __init__(
        self,
        policy: StoragePolicy,
        archive: Archive,
        *,
        stream: str,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        """Look at nothing yet.

        Args:
            policy: What the output may take.
            archive: Its files.
            stream: The stream's id, for messages.
            clock: Says when to look again.
            wall_clock: Says how old a file is.
            free: Returns the free bytes where a folder lies.
        """
        self._policy = policy
        self._archive = archive
        self._clock = clock
        self._wall_clock = wall_clock
        self._free = free
        self._log = logger.bind(stream=stream)
        self._announce: Announce = _say_nothing
        self._is_low = False
        self._looked_at = float("-inf")
        self._tended_at = float("-inf")
        self._reminded_at = float("-inf")
        self._warned: set[str] = set()

    def tell(self, announce: Announce) -> None:
        """Have events made of a disk that fills; before the start."""
        self._announce = announce

    @property
    def is_low(self) -> bool:
        """True while nothing is written for want of room; for any thread."""
        return self._is_low

    def has_room(self) -> bool:
        """Tell whether the output may write now; looks after its files, too, when it is time."""
        self._tend_when_due()
        limit_gb = self._policy.min_free_gb
        now_s = self._clock()
        if not limit_gb or now_s - self._looked_at < _LOOK_EVERY_S:
            return not self._is_low
        self._looked_at = now_s
        try:
            free = self._free(self._archive.folder)
        except OSError as exc:
            self._warn(f"the free space of {self._archive.folder} can't be told", exc)
            return not self._is_low
        if self._is_low and free >= self._policy.resume_bytes:
            self._is_low = False
            text = f"{self._archive.template}: {_gb(free)} are free again: it goes on"
            self._log.warning("{}", text)
            self._announce(EventKind.DISK_OK, text)
        elif not self._is_low and free < limit_gb * _GB:
            self._is_low = True
            self._say_low(free)
        elif self._is_low and now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._say_low(free, is_new=False)
        return not self._is_low

    def tend(self) -> None:
        """Do what has to be done now and then, also while nothing is written."""
        self.has_room()

    def _say_low(self, free: int, *, is_new: bool = True) -> None:
        self._reminded_at = self._clock()
        text = (
            f"{self._archive.template}: only {_gb(free)} are free, min_free_gb is "
            f"{self._policy.min_free_gb:g}: nothing is written there until there is room"
        )
        self._log.error("{}", text)
        if is_new:
            self._announce(EventKind.DISK_LOW, text)

    def _tend_when_due(self) -> None:
        policy = self._policy
        if policy.keep_days is None and policy.keep_gb is None:
            return
        now_s = self._clock()
        if now_s - self._tended_at < TEND_EVERY_S:
            return
        self._tended_at = now_s
        try:
            files = self._archive.files()
        except OSError as exc:
            self._warn(f"the files of {self._archive.template} can't be looked through", exc)
            return
        self._delete_what_is_over(files)

    def _delete_what_is_over(self, files: list[StoredFile]) -> None:
        policy, now = self._policy, self._wall_clock().timestamp()
        total = sum(file.size_bytes for file in files)
        files = sorted(files, key=lambda one: (one.ended_at, one.path))
        for file in files:
            is_old = (
                policy.keep_days is not None and now - file.ended_at > policy.keep_days * _DAY_S
            )
            is_over = policy.keep_gb is not None and total > policy.keep_gb * _GB
            is_over = is_over and file is not files[-1]
            if not (is_old or is_over):
                return
            if not file.is_growing(now) and self._delete(file, "age" if is_old else "size"):
                total -= file.size_bytes

    def _delete(self, file: StoredFile, why: str) -> bool:
        try:
            file.path.unlink()
            self._archive.remove_empty_folders(file.path)
        except FileNotFoundError:
            return True  # somebody else has: another process, or a person
        except OSError as exc:
            self._warn(f"{file.path} can't be deleted", exc)
            return False
        self._log.info("deleted for its {}: {}", why, file.path)
        return True

    def _warn(self, what: str, exc: OSError) -> None:
        """Say once what is wrong, and not every half minute."""
        reason = exc.strerror or str(exc)
        if reason not in self._warned:
            self._warned.add(reason)
            self._log.warning("{}: {}; check the folder's permissions", what, reason)


def _gb(size_bytes: int) -> str:
    return f"{size_bytes / _GB:.2f} GB"
