"""``vidpipe models``: what the zoo has, fetching it, and what any model file is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loguru import logger
from rich.console import Console

from vidpipe.apps.downloads import download_progress
from vidpipe.config.schema import default_cache_dir
from vidpipe.errors import FetchError, ModelError, UsageError
from vidpipe.inference.catalogue import (
    RemoteFile,
    WheelFile,
    ZooEntry,
    catalogue,
    find_model,
    measured_on,
)
from vidpipe.inference.decoders.families import FAMILIES
from vidpipe.inference.describe import ModelDescription, describe_model
from vidpipe.inference.layers import DeviceReport, report_device
from vidpipe.inference.measure import measure_speed
from vidpipe.inference.mirror import Mirror
from vidpipe.inference.model import compile_detector, read_detector
from vidpipe.inference.rules import device_rules
from vidpipe.inference.settings import DetectorSettings, Hint, InputRecipe
from vidpipe.inference.zoo import fetch_entry, is_fetched, model_file


def chosen_entries(text: str = "", task: str = "") -> tuple[ZooEntry, ...]:
    """Return the models whose name, purpose or classes hold a text, and that do a task.

    Raises:
        UsageError: No model does that task, or none matches.
    """
    tasks = sorted({entry.task for entry in catalogue()})
    if task and task not in tasks:
        raise UsageError(f"no model of the zoo does {task!r}: there is {', '.join(tasks)}")
    words = text.lower().split()
    found = tuple(
        entry
        for entry in catalogue()
        if task in ("", entry.task) and all(word in _searched(entry) for word in words)
    )
    if not found:
        raise UsageError(f"no model of the zoo matches {text!r}: vidpipe models list shows all")
    return found


def _searched(entry: ZooEntry) -> str:
    parts = (entry.name, entry.about, entry.precision, entry.family, *entry.classes.values())
    return " ".join(parts).lower()


def entry_document(entry: ZooEntry, cache_dir: Path) -> dict[str, Any]:
    """Return one model of the catalogue for programs."""
    is_here = is_fetched(entry, cache_dir)
    measured = {"inferences_per_s": entry.measured, "on": measured_on()}
    return {
        "name": entry.name,
        "model": entry.model,
        "precision": entry.precision,
        "task": entry.task,
        "about": entry.about,
        "classes": list(entry.classes.values()),
        "labels": {str(key): name for key, name in entry.classes.items()},
        "licence": entry.licence,
        "homepage": entry.homepage,
        "source": entry.address,
        "bytes": entry.size_bytes,
        "sha256": _files(entry)[0]["sha256"],
        "files": _files(entry),
        "family": entry.family,
        "input": {"size": list(entry.input_wh), **_recipe_document(_recipe_of(entry.family))},
        "gflops": entry.gflops,
        "measured": measured if entry.measured is not None else None,
        "path": str(model_file(entry, cache_dir)) if is_here else None,
    }


def _files(entry: ZooEntry) -> list[dict[str, Any]]:
    if isinstance(entry.source, WheelFile):
        wheel = entry.source
        return [{"name": wheel.file, "url": None, "bytes": wheel.size, "sha256": wheel.sha256}]
    return [_file_document(file) for file in entry.source]


def _file_document(file: RemoteFile) -> dict[str, Any]:
    return {"name": file.name, "url": file.url, "bytes": file.size, "sha256": file.sha256}


def _recipe_of(family: str) -> InputRecipe:
    return next(one.recipe for one in FAMILIES if one.name == family)


def _recipe_document(recipe: InputRecipe) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(recipe).items()
    }


def catalogue_document(
    entries: Iterable[ZooEntry], cache_dir: Path | None = None
) -> list[dict[str, Any]]:
    """Return models of the catalogue for programs."""
    folder = cache_dir or default_cache_dir()
    return [entry_document(entry, folder) for entry in entries]


def get_model(
    name: str, cache_dir: Path | None, console: Console, place: str | None = None
) -> Path:
    """Fetch a model of the zoo, showing progress; return its file.

    Args:
        name: What the zoo calls it.
        cache_dir: Where it is kept; None: the usual place.
        console: Where progress is shown.
        place: A folder or an address to take it from, instead of the official one.

    Raises:
        ModelError: The zoo has no such model.
        FetchError: It can't be fetched.
    """
    entry = find_model(name)
    mirror = Mirror(place) if place is not None else None
    with download_progress(console) as progress:
        return fetch_entry(entry, cache_dir or default_cache_dir(), progress, mirror)


def info_document(
    name: str,
    cache_dir: Path | None,
    console: Console,
    *,
    should_measure: bool = False,
    device: str | None = None,
) -> dict[str, Any]:
    """Describe a model file, or one of the zoo, which is fetched if need be.

    Args:
        name: A file, or what the zoo calls it.
        cache_dir: Where the zoo's models are kept; None: the usual place.
        console: Where progress is shown.
        should_measure: True: also how fast it is.
        device: Where it is to run: also what becomes of it there; None: that isn't asked.

    Raises:
        ModelError: There is no such file, model or device, or it can't be read.
        InferenceError: The device failed.
        FetchError: It can't be fetched; what the catalogue says of it is in the text.
    """
    entry = _entry_named(name)
    path = Path(name) if entry is None else _fetched(entry, cache_dir, console)
    logger.disable("vidpipe.inference.model")  # what it warns of is said here as the complaint
    try:
        return _info_of(path, entry, cache_dir, console, should_measure, device)
    finally:
        logger.enable("vidpipe.inference.model")


def _info_of(
    path: Path,
    entry: ZooEntry | None,
    cache_dir: Path | None,
    console: Console,
    should_measure: bool,  # noqa: FBT001 - handed on
    device: str | None,
) -> dict[str, Any]:
    about = describe_model(path)
    document = _description_document(about)
    known = entry or (find_model(about.known_as) if about.known_as else None)
    folder = cache_dir or default_cache_dir()
    document["zoo"] = entry_document(known, folder) if known else None
    document["measured"] = document["device"] = None
    settings = DetectorSettings(path.stem, device=device or "CPU")
    if device is not None and about.use is not None:
        document["device"] = _device_document(report_device(read_detector(path, settings)))
    if should_measure and about.use is not None:
        console.print("measuring for two seconds", highlight=False)
        speed = measure_speed(compile_detector(path, settings))
        document["measured"] = asdict(speed)
    return document


def _device_document(report: DeviceReport) -> dict[str, Any]:
    document = asdict(report)
    document["rules"] = device_rules(report.model, report.device, Hint.LATENCY)
    return document


def _entry_named(name: str) -> ZooEntry | None:
    """Return the zoo's entry, or None where the name is a file's."""
    file = Path(name)
    if file.exists():
        return None
    try:
        return find_model(name)
    except ModelError:
        if file.suffix or file.parent != Path():
            return None  # whoever reads it says that there is no such file
        raise


def _fetched(entry: ZooEntry, cache_dir: Path | None, console: Console) -> Path:
    try:
        return get_model(entry.name, cache_dir, console)
    except FetchError as error:
        classes = ", ".join(f"{key} {name}" for key, name in entry.classes.items())
        width, height = entry.input_wh
        raise FetchError(
            f"{error}\nThe catalogue says of {entry.name}: {entry.about}. Input {width}x{height},"
            f" {entry.precision}, decoder {entry.family}, classes {classes}, {entry.licence},"
            f" {entry.size_bytes} bytes from {entry.address}"
        ) from error


def _description_document(about: ModelDescription) -> dict[str, Any]:
    use = about.use
    return {
        "path": str(about.path),
        "size_bytes": about.size_bytes,
        "inputs": list(about.inputs),
        "outputs": list(about.outputs),
        "precision": about.precision,
        "gflops": about.cost.gflops,
        "parameters": about.cost.parameters,
        "family": use.family if use else None,
        "why": use.why if use else "",
        "reason": about.reason,
        "labels": list(about.labels.values()),
        "classes": {str(key): name for key, name in about.labels.items()},
        "class_count": use.class_count if use else None,
        "labels_from": use.labels_from if use else "",
        "complaint": use.complaint if use else "",
        "input": {"size": list(use.input_wh), **_recipe_document(use.recipe)} if use else None,
        "confidence": use.confidence if use else None,
        "iou": use.iou if use else None,
        "metadata": dict(about.metadata),
    }
