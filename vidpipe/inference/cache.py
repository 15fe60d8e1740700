"""The folder that keeps what was fetched: written to by many processes at once, never half.

Everything is made under a temporary name in the cache and then renamed. What a download has brought
before it broke off stays in ``partial``, and the next one goes on from there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from loguru import logger

from vidpipe.errors import FetchError

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the step in words, the bytes done and the bytes in all (0 where unknown). What it
raises stops the download."""

_PART = ".part-"
_PARTIAL = "partial"
_STALE_S = 24 * 3600.0
_KEPT_S = 14 * 24 * 3600.0
"""How long the beginning of a download is worth its room."""

_POLL_S = 0.2


def no_progress(step: str, done_bytes: int, total_bytes: int) -> None:
    """Tell nobody."""


class LoggedProgress:
    """A ``Progress`` that the log is told of: each step as it begins, and each quarter of it."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self._told = ("", 0)

    def __call__(self, step: str, done_bytes: int, total_bytes: int) -> None:
        """Log the step if it is another one, or is a quarter further."""
        now = (step, 4 * done_bytes // total_bytes if total_bytes else 0)
        if step == self._told[0] and now <= self._told:
            return
        self._told = now
        size = f": {done_bytes / 1e6:.1f} of {total_bytes / 1e6:.1f} MB" if total_bytes else ""
        logger.info("{}{}", step, size)


def unwritable(path: Path, error: OSError) -> FetchError:
    """Return the error of a path that can't be written."""
    return FetchError(
        f"{path} can't be written: {error.strerror or error}; free some space, or name another"
        " folder with the key cache_dir"
    )


@contextmanager
def scratch_folder(cache_dir: Path) -> Iterator[Path]:
    """Give a temporary folder within the cache, gone afterwards.

    Raises:
        FetchError: The cache can't be written to.
    """
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache_dir)
        folder = Path(tempfile.mkdtemp(prefix=_PART, dir=cache_dir))
    except OSError as error:
        raise unwritable(cache_dir, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(cache_dir: Path) -> None:
    """Remove what a killed process has left, long ago."""
    for pattern, kept_s in ((f"{_PART}*", _STALE_S), (f"{_PARTIAL}/*", _KEPT_S)):
        for path in cache_dir.glob(pattern):
            try:
                is_stale = time.time() - path.stat().st_mtime > kept_s
                if is_stale and not path.is_dir():
                    path.unlink()
            except OSError:  # another process has removed it
                continue
            if is_stale:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def partial_folder(
    cache_dir: Path, name: str, scratch: Path, waiting: Callable[[], None]
) -> Iterator[Path]:
    """Give the folder of unfinished downloads, to one process at a time for each name.

    Where the file system has no locks, the scratch folder takes its place: nothing is resumed then.

    Args:
        cache_dir: The cache.
        name: What is fetched.
        scratch: A folder of the caller's own.
        waiting: Called every now and then while another process has it; what it raises ends the
            wait.

    Raises:
        FetchError: The cache can't be written to.
    """
    folder = cache_dir / _PARTIAL
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    lock = folder / f"{name}.lock"
    descriptor = _lock(lock, waiting)
    try:
        yield scratch if descriptor is None else folder
    finally:
        if descriptor is not None:
            # Removed while it is held: whoever waits for it notices.
            lock.unlink(missing_ok=True)
            os.close(descriptor)


def _lock(path: Path, waiting: Callable[[], None]) -> int | None:
    """Return a descriptor that holds the lock on a file; None if there are no locks here."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(path, error) from error
        is_mine = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_mine = _is_same(descriptor, path)
        except BlockingIOError:
            waiting()
            time.sleep(_POLL_S)
        except OSError:
            return None
        finally:
            if not is_mine:
                os.close(descriptor)
        if is_mine:
            return descriptor


def _is_same(descriptor: int, path: Path) -> bool:
    """Return False if whoever held the lock before has removed the file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def publish(made: Path, folder: Path, scratch: Path, is_whole: Callable[[], bool]) -> None:
    """Put a finished folder in its place, unless another process did so first.

    Args:
        made: The finished folder, within the cache.
        folder: Its place.
        scratch: A folder of the caller's own.
        is_whole: Says whether what is in the place is good.

    Raises:
        FetchError: The cache can't be written to.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and not is_whole():
            # Moved away rather than removed: another process may be reading it.
            folder.rename(Path(tempfile.mkdtemp(dir=scratch)) / "broken")
        try:
            made.rename(folder)
        except OSError:
            if not is_whole():
                raise
            shutil.rmtree(made)
    except OSError as error:
        raise unwritable(folder, error) from error
