"""Whose results lie in an output folder: other inputs of the same names must not replace them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.identity import Identity, identify
from vidpipe.errors import UsageError
from vidpipe.sources.files import shown


def require_free_names(
    files: Sequence[InputFile], known: Mapping[str, tuple[Path, Identity]]
) -> None:
    """Check that no input has the name of another one, which is still there.

    An input that was moved or copied is the same one, and one that has changed in its place is it
    still.

    Args:
        files: The inputs.
        known: The inputs of earlier runs by their names: where they were, and what they held.

    Raises:
        UsageError: Results of an earlier run would be lost.
    """
    taken = [file for file in files if file.stem in known and _is_other(file, *known[file.stem])]
    if not taken:
        return
    file = taken[0]
    more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
    raise UsageError(
        f"{shown(file.path)}: the results that are called {shown(Path(file.stem))} are those of "
        f"{shown(known[file.stem][0])}{more}: choose another output folder, or --fresh to replace "
        "them"
    )


def _is_other(file: InputFile, place: Path, before: Identity) -> bool:
    if place == file.path:
        return False
    try:
        if place.samefile(file.path):
            return False
        if file.path.stat().st_size != before.size_bytes:
            return True
        return identify(file.path, is_full=before.is_full).digest != before.digest
    except OSError:
        return False  # the other one is gone, or this one will fail by itself
