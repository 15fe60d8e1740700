"""Writing a model file that is never half: under another name, checked by the caller, then moved.

An IR is two files. The weights are moved first: a model that can be found is whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openvino as ov

from vidpipe.errors import UsageError
from vidpipe.inference.graph import files_of, reason_of

_PART = ".part-"


@contextmanager
def saved_apart(graph: ov.Model, target: Path) -> Iterator[Path]:
    """Save a graph beside its place, give the path for a look, and move it there at the end.

    What isn't quantised keeps 16 bits. If the ``with`` is left by an exception, nothing remains.

    Args:
        graph: What to save.
        target: The .xml to be; its folder is made.

    Raises:
        UsageError: It exists already, or can't be written.
    """
    require_new(target)
    folder = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_PART, dir=target.parent))
        part = folder / target.name
        _save(graph, part)
        yield part
        require_new(target)
        for file in reversed(files_of(part)):
            file.rename(target.parent / file.name)
    except OSError as error:
        raise UsageError(
            f"{target} can't be written: {error.strerror or error}; free some space, or name"
            " another file with --output"
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def require_new(target: Path) -> None:
    """Check that a model's place is free.

    Raises:
        UsageError: A file is there, or it is no place for an IR.
    """
    if target.suffix != ".xml":
        raise UsageError(f"{target}: a model is written as .xml, with its .bin beside it")
    for path in (target, target.with_suffix(".bin")):
        if path.exists():
            raise UsageError(f"{path} exists: remove it, or name another file with --output")


def _save(graph: ov.Model, path: Path) -> None:
    try:
        ov.save_model(graph, path, compress_to_fp16=True)
    except RuntimeError as error:  # the library's own word for a full disk
        raise OSError(0, reason_of(error)) from error
    for file in files_of(path):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
