"""Compiled models kept between runs, in a folder each, checked before they are believed.

OpenVINO reads what it once wrote without looking at it: of a file with a few wrong bytes in its
weights it makes a model that answers wrongly. So each folder holds the checksums of its files, and
one that doesn't match is removed and made anew. Folders appear whole, by a rename, however many
processes make the same one at once. Nothing that is wrong with the cache stops a run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import openvino as ov
from loguru import logger

from vidpipe.errors import FetchError
from vidpipe.inference.answers import is_from_cache
from vidpipe.inference.cache import publish, scratch_folder
from vidpipe.inference.checksum import sha256_of

_SEAL = "sums.json"
_BLOBS = "*.blob"
_UNUSED_S = 60 * 24 * 3600.0
"""What nobody has loaded for so long belongs to another version, driver or setting."""

CompileInto = Callable[[Path | None], ov.CompiledModel]
"""Compiles, keeping the result in a folder or taking it from there; None: neither."""


class CompiledCache:
    """Where the compiled models of one name are kept."""

    def __init__(self, folder: Path, model: str) -> None:
        """Keep them below a folder, which need not exist."""
        self._root = folder
        self._model = model

    def compile(
        self,
        files: Sequence[Path],
        key: Sequence[str],
        compile_into: CompileInto,
        *,
        is_late: bool = False,
    ) -> ov.CompiledModel:
        """Return the compiled model, out of the cache if it is there.

        Args:
            files: What the model was read from.
            key: Everything else that makes it another model or another machine.
            compile_into: Compiles it.
            is_late: True if what is to be kept may be written after ``compile_into`` has returned:
                AUTO goes on compiling for the better device while another one works.

        Raises:
            RuntimeError: It can't be compiled, with the cache or without.
        """
        folder = None
        try:
            folder = self._folder(files, key)
            if self._has_whole(folder, trusts_new=is_late):
                compiled = compile_into(folder)
                if not is_late and not is_from_cache(compiled):
                    shutil.rmtree(folder, ignore_errors=True)  # another model after all
                return compiled
            if is_late:
                folder.mkdir(parents=True, exist_ok=True)
                return compile_into(folder)
            return self._make(folder, compile_into)
        except (OSError, FetchError) as error:
            logger.warning("model {}: compiled without the cache: {}", self._model, error)
            return compile_into(None)
        except RuntimeError as error:
            # Of the cache or of the model: without a cache it is told apart.
            compiled = compile_into(None)
            logger.warning("model {}: compiled without the cache: {}", self._model, error)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            return compiled

    def _folder(self, files: Sequence[Path], key: Sequence[str]) -> Path:
        sums = [f"{file.name} {sha256_of(file)}" for file in files]
        digest = hashlib.sha256("\0".join([*sums, *key]).encode()).hexdigest()
        return self._root / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self._model)}-{digest[:16]}"

    def _make(self, folder: Path, compile_into: CompileInto) -> ov.CompiledModel:
        with scratch_folder(self._root) as scratch:
            made = scratch / folder.name
            made.mkdir()
            compiled = compile_into(made)
            if _seal(made):
                # What another process has put there meanwhile is as good.
                with suppress(FetchError):
                    publish(made, folder, scratch, lambda: _is_whole(folder, trusts_new=False))
            self._remove_unused(folder)
        return compiled

    def _has_whole(self, folder: Path, *, trusts_new: bool) -> bool:
        """Return True if the folder is there as it was made; one that is damaged is removed."""
        if not folder.is_dir():
            return False
        if _is_whole(folder, trusts_new=trusts_new):
            return True
        # Without a blob it isn't damage: OpenVINO deletes what it couldn't load, even where that
        # was the fault of a property.
        if any(folder.glob(_BLOBS)):
            logger.warning(
                "model {}: what the cache holds of it in {} is damaged: compiling it anew",
                self._model,
                folder,
            )
        shutil.rmtree(folder)
        return False

    def _remove_unused(self, kept: Path) -> None:
        for seal in self._root.glob(f"*/{_SEAL}"):
            with suppress(OSError):
                if seal.parent != kept and time.time() - seal.stat().st_mtime > _UNUSED_S:
                    shutil.rmtree(seal.parent, ignore_errors=True)


def _is_whole(folder: Path, *, trusts_new: bool) -> bool:
    """Return True if what is in a folder is what was put there, and note that it is used.

    Args:
        folder: The folder.
        trusts_new: True: a file without a checksum gets one; False: it is not to be believed.
    """
    try:
        sums = json.loads((folder / _SEAL).read_text("utf-8"))
    except (OSError, ValueError):
        sums = {}
    found = _sums_of(folder)
    if trusts_new and isinstance(sums, dict) and sums.items() <= found.items():
        _seal(folder)
        return True
    if not found or found != sums:
        return False
    with suppress(OSError):  # where it can only be read
        os.utime(folder / _SEAL)
    return True


def _seal(folder: Path) -> bool:
    """Write down the checksums of what a folder holds; False if that is nothing; raises OSError."""
    sums = _sums_of(folder)
    part = folder / f"{_SEAL}.part"
    part.write_text(json.dumps(sums), "utf-8")
    part.replace(folder / _SEAL)
    return bool(sums)


def _sums_of(folder: Path) -> dict[str, str]:
    return {blob.name: sha256_of(blob) for blob in folder.glob(_BLOBS)}
