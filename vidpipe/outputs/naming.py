"""Where an output file is written, and how it gets its name without ever replacing another.

A file grows under a temporary name in the folder where it will stay, and is linked to its own name
once it is finished and checked. Both steps are atomic against other threads and processes: a name
that is taken is passed over for ``name-2.mp4``, ``name-3.mp4`` and so on. What a killed run left
behind under a temporary name is neither overwritten nor mistaken for a finished file.

All functions raise plain ``OSError``; the sinks, which know the stream, translate it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

_PLACEHOLDER = re.compile(r"\{(stream|start|n)\}")
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""What FAT, some network and some container file systems answer to ``link``."""


def utc_now() -> datetime:
    """Return the wall clock's time, aware."""
    return datetime.now(UTC)


def path_from_template(template: str, *, stream: str, start: datetime, number: int) -> Path:
    """Fill in ``{stream}``, ``{start}`` and ``{n}``; other braces stay as they are.

    Args:
        template: The path as configured.
        stream: The stream's id.
        start: Aware time of the file's first frame; written in UTC as ``20261130T050000Z``.
        number: The file's number within its sink, from 1.
    """
    values = {
        "stream": stream,
        "start": start.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "n": str(number),
    }
    return Path(_PLACEHOLDER.sub(lambda found: values[found[1]], template)).expanduser()


def numbered(path: Path) -> Iterator[Path]:
    """Yield ``name.ext``, ``name-2.ext``, ``name-3.ext`` and so on, without end."""
    yield path
    for number in count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")


def make_folder(folder: Path) -> None:
    """Make an output's folder where it is missing.

    Raises:
        NotADirectoryError: A file has its place.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        reason = os.strerror(errno.ENOTDIR)
        raise NotADirectoryError(errno.ENOTDIR, reason, str(folder)) from None


def claim_path(wanted: Path) -> Path:
    """Make an empty file under a name, or the next one that is free, and return its path.

    For outputs of packages that write a file from its beginning on: no other run, thread or process
    gets the same one. Makes the file's folder where it is missing.
    """
    make_folder(wanted.parent)
    for candidate in numbered(wanted):
        try:
            os.close(os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return candidate
    raise AssertionError


def open_temporary(wanted: Path, *, is_suffix_last: bool) -> tuple[int, Path]:
    """Create the file in which an output grows; make its folder where it is missing.

    Args:
        wanted: The name that the file shall have in the end.
        is_suffix_last: True for ``name.partial.mp4``, which a player still recognises after a
            power cut; False for ``name.jsonl.partial``, which nothing takes for a whole file.

    Returns:
        A descriptor open for reading and writing, and the path; the file is new and empty.
    """
    make_folder(wanted.parent)
    for candidate in numbered(wanted):
        temporary = candidate.with_name(
            f"{candidate.stem}.partial{candidate.suffix}"
            if is_suffix_last
            else f"{candidate.name}.partial"
        )
        try:
            return os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), temporary
        except FileExistsError:
            continue
    raise AssertionError


def publish(temporary: Path, wanted: Path) -> Path:
    """Give a finished file its name, or the next one that is free; return the name it got.

    The file's content must be synced already; the folder is synced here.
    """
    for candidate in numbered(wanted):
        try:
            _move_without_replacing(temporary, candidate)
        except FileExistsError:
            continue
        sync_folder(candidate.parent)
        return candidate
    raise AssertionError


def _move_without_replacing(temporary: Path, target: Path) -> None:
    """Raise FileExistsError where the target exists, in whatever process it was made."""
    try:
        os.link(temporary, target)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # No hard links here: an empty file of our own holds the name, and only that is replaced.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        temporary.replace(target)
    else:
        temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where its file system knows how to."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)
