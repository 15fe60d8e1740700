"""What the zoo knows: models and clips, with where they come from and what must arrive.

Read from ``catalogue.toml`` beside this module. A model has variants, of which the first has the
model's own name; each is an entry of its own, and all are also known by name and precision.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from vidpipe.errors import ModelError
from vidpipe.inference.checksum import sha256_of

_DEFAULTS = {"conversion": "none", "measured": None}


@dataclass(frozen=True, slots=True)
class WheelFile:
    """One file within one wheel of the Python package index.

    Attributes:
        package: The package's name on the index.
        version: Its exact version.
        file: The wheel's file name.
        size: Its bytes.
        sha256: Its checksum.
        member: The path within it.
        member_sha256: The checksum of the file at that path.
    """

    package: str
    version: str
    file: str
    size: int
    sha256: str
    member: str
    member_sha256: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file at an address.

    Attributes:
        url: ``https:``, ``http:`` or ``file:``.
        size: Its bytes.
        sha256: Its checksum.
    """

    url: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True, slots=True)
class ZooEntry:
    """One model of the catalogue, in one precision.

    Attributes:
        name: What the configuration's key zoo calls it.
        model: The model's name, which all its variants share.
        precision: What its weights are: FP32, FP16 or INT8.
        task: What it does: ``detection``.
        about: What it finds and what it is good for, in a sentence.
        licence: SPDX name.
        homepage: Where it is described.
        family: Its decoder.
        classes: Its classes' names by id.
        input_wh: Its input in pixels.
        conversion: How it is made ready: see `vidpipe.inference.conversion`; ``none`` keeps the
            files as they came.
        source: A file in a wheel, or files of which the first is the model's.
        gflops: Billions of operations an inference, as its makers say; None if they don't.
        measured: Inferences a second on the machine of `measured_on`; None if not measured.
    """

    name: str
    model: str
    precision: str
    task: str
    about: str
    licence: str
    homepage: str
    family: str
    classes: Mapping[int, str]
    input_wh: tuple[int, int]
    conversion: str
    source: WheelFile | tuple[RemoteFile, ...]
    gflops: float | None = None
    measured: float | None = None

    @property
    def size_bytes(self) -> int:
        """What must be downloaded."""
        if isinstance(self.source, WheelFile):
            return self.source.size
        return sum(file.size for file in self.source)

    @property
    def address(self) -> str:
        """Where it comes from, as one text."""
        if isinstance(self.source, WheelFile):
            return f"pypi:{self.source.package}=={self.source.version}"
        return self.source[0].url


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
    """Return all models, in the catalogue's order; a model's variants stand together."""
    return tuple(entry for fields in _document()["model"] for entry in _entries(fields))


def clips() -> tuple[ClipEntry, ...]:
    """Return all clips."""
    return tuple(
        ClipEntry(**{**fields, "wheel": WheelFile(**fields["wheel"])})
        for fields in _document()["clip"]
    )


def measured_on() -> str:
    """Return on what the inferences a second of the catalogue were measured."""
    return "{machine}, OpenVINO {openvino}".format(**_document()["measured"])


def _document() -> dict[str, Any]:
    text = resources.files("vidpipe.inference").joinpath("catalogue.toml").read_text("utf-8")
    return tomllib.loads(text)


def _entries(fields: dict[str, Any]) -> list[ZooEntry]:
    shared = {key: value for key, value in fields.items() if key != "variant"}
    name = shared["name"]
    width, height = shared["input_wh"]
    shared |= {
        "model": name,
        "classes": {int(key): text for key, text in shared["classes"].items()},
        "input_wh": (width, height),
    }
    entries: list[ZooEntry] = []
    for variant in fields["variant"]:
        own = _DEFAULTS | {k: v for k, v in variant.items() if k not in ("wheel", "file")}
        if entries:
            own["name"] = _full_name(name, variant["precision"])
        entries.append(ZooEntry(**(shared | own), source=_source(variant)))
    return entries


def _source(variant: dict[str, Any]) -> WheelFile | tuple[RemoteFile, ...]:
    if "wheel" in variant:
        return WheelFile(**variant["wheel"])
    return tuple(RemoteFile(**file) for file in variant["file"])


def _full_name(model: str, precision: str) -> str:
    return f"{model}-{precision.lower()}"


def find_model(name: str) -> ZooEntry:
    """Return the catalogue's entry of that name, or of a model's name with a precision behind it.

    Raises:
        ModelError: There is none.
    """
    entries: dict[str, ZooEntry] = {}
    for entry in catalogue():
        entries[_full_name(entry.model, entry.precision)] = entry
        entries[entry.name] = entry
    found = entries.get(name) or entries.get(name.strip().lower())
    if found is not None:
        return found
    close = get_close_matches(name.lower(), entries, n=1)
    within = [key for key, entry in entries.items() if name.lower() in key and key == entry.name]
    close = close or within[:1]
    hint = f"did you mean {close[0]}? " if close else ""
    raise ModelError(
        f"the zoo has no model {name!r}: {hint}vidpipe models list shows all {len(catalogue())}"
    )


def known_file(path: Path) -> ZooEntry | None:
    """Return the entry whose model file this is, by its size and checksum, or None."""
    try:
        size = path.stat().st_size
        alike = [
            (entry, file)
            for entry in catalogue()
            if not isinstance(entry.source, WheelFile)
            for file in entry.source[:1]
            if file.size == size
        ]
        checksum = sha256_of(path) if alike else ""
    except OSError:
        return None
    return next((entry for entry, file in alike if file.sha256 == checksum), None)
