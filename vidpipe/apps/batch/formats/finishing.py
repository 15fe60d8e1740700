"""How a conversion gets its name: written beside it, synced, and then renamed. It is never half.

A conversion of one file carries the time of the JSON Lines that it was made from: where the two
differ, it is made anew. So a run that was killed between two files goes on with the next one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import IO

from vidpipe.errors import SinkError
from vidpipe.outputs.naming import make_folder, sync_folder
from vidpipe.sources.files import shown


@contextmanager
def replaced(
    target: Path,
    temporary: Path,
    *,
    is_synced: bool = True,
    times_ns: tuple[int, int] | None = None,
) -> Iterator[IO[bytes]]:
    """Give a file to write; at the end it replaces the target. On an error that is as it was.

    The folder is made, but not synced: the content is durable then, not yet the name.

    Args:
        target: The name in the end.
        temporary: The name until then, in the same folder.
        is_synced: Whether its content is durable before it gets its name.
        times_ns: When it shall seem to have been read and written last; None: just now.

    Raises:
        OSError: It can't be written.
    """
    make_folder(target.parent)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        if times_ns is not None:
            os.utime(temporary, ns=times_ns)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):  # what went wrong before is the reason
            temporary.unlink()
        raise


@contextmanager
def finished_file(
    target: Path, *, made_from: Path | None = None, is_synced: bool = True
) -> Iterator[IO[bytes]]:
    """Give a file to write; at the end it replaces what had that name. On an error there is none.

    Args:
        target: The name in the end; its folder is made.
        made_from: The JSON Lines whose time it carries; None for what comes from several.
        is_synced: False for what can be made anew, and is where a power cut has damaged it.

    Raises:
        SinkError: It can't be written; a full disk's ``OSError`` is its cause.
    """
    # Of a length of its own: the target's name may be as long as names can be.
    part = target.with_name(f".{sha256(os.fsencode(target.name)).hexdigest()[:16]}.partial")
    try:
        times_ns = None if made_from is None else times_ns_of(made_from)
        with replaced(target, part, is_synced=is_synced, times_ns=times_ns) as file:
            yield file
        if is_synced:
            sync_folder(target.parent)
    except OSError as exc:
        raise SinkError(
            f"{shown(target)} can't be written: {exc.strerror or exc}; "
            "check the folder's permissions and the free space"
        ) from exc


def is_current(target: Path, made_from: Path) -> bool:
    """Tell whether a conversion was made from these very JSON Lines."""
    try:
        status = target.stat()
        return S_ISREG(status.st_mode) and status.st_mtime_ns == made_from.stat().st_mtime_ns
    except OSError:
        return False


def times_ns_of(path: Path) -> tuple[int, int]:
    """Return when a file was read and written last; raises OSError."""
    status = path.stat()
    return status.st_atime_ns, status.st_mtime_ns
