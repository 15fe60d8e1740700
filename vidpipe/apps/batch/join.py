"""The parts of a file, put one after the other: its finished results, or what there is of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from vidpipe.apps.batch.folder import OutputFolder, is_there
from vidpipe.apps.batch.ledger import State, UnitRow
from vidpipe.errors import VidpipeError
from vidpipe.outputs.naming import make_folder, sync_folder

_COPY_BYTES = 1 << 20


class JoinError(VidpipeError):
    """A part isn't what the ledger says of it: the file has to be done again."""


def join(folder: OutputFolder, file: int, stem: str, units: Sequence[UnitRow]) -> Path:
    """Make a file's results of its parts, durably, and return their path; the parts are left.

    May be repeated after whatever interrupted it.

    Raises:
        JoinError: A part is missing or of another length.
        OSError: The results can't be written.
    """
    target = folder.result(stem)
    paths = [folder.part(file, row.unit.number) for row in units]
    size = sum(row.size_bytes for row in units)
    if is_there(target) and target.stat().st_size == size and not all(map(is_there, paths)):
        return target  # it was joined, and then interrupted
    for path, row in zip(paths, units, strict=True):
        length = path.stat().st_size if is_there(path) else 0
        if length != row.size_bytes or row.state is not State.DONE:
            raise JoinError(f"{path} has {length} bytes, not {row.size_bytes}")
    _write(paths, folder.partial(stem), target)
    return target


def keep_partial(
    folder: OutputFolder, file: int, stem: str, units: Sequence[UnitRow]
) -> Path | None:
    """Keep what there is of a file that can't be finished, in order; None if there is nothing.

    Raises:
        OSError: It can't be written.
    """
    paths = [folder.part(file, row.unit.number) for row in units]
    paths = [path for path in paths if is_there(path) and path.stat().st_size]
    if not paths:
        return None
    target = folder.partial(stem)
    _write(paths, target.with_name(f"{target.name}.partial"), target)
    return target


def _write(parts: Sequence[Path], temporary: Path, target: Path) -> None:
    make_folder(target.parent)
    if len(parts) == 1:
        parts[0].replace(target)  # one part is the whole, and on the disk already
    else:
        with temporary.open("wb") as out:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out, _COPY_BYTES)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(target)
    sync_folder(target.parent)
