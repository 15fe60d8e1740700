"""How ``vidpipe models`` shows models to people, on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.catalogue import ZooEntry, measured_on
from vidpipe.inference.zoo import is_fetched

_MEGA = 1e6
_WIDTH = 80
_COLUMNS = (10, 6, 6, 6)
"""Of the figures; the longest name and a star take the rest."""

_KEY_WIDTH = 11
_MOST_LAYERS = 10
_MOST_CLASSES = 12
"""More are only counted."""


def catalogue_lines(entries: Sequence[ZooEntry], cache_dir: Path | None = None) -> list[str]:
    """Return models of the catalogue: those that find the same stand together."""
    folder = cache_dir or default_cache_dir()
    groups: dict[str, list[ZooEntry]] = {}
    for entry in entries:
        groups.setdefault(", ".join(sorted(entry.classes.values())), []).append(entry)
    lines: list[str] = []
    for finds, group in groups.items():
        lines += [_row(finds.upper(), "input", "MB", "GFLOP", "inf/s"), *_group(group, folder), ""]
    note = (
        "Get one with vidpipe models get NAME, or name it with the key zoo. inf/s: inferences a"
        f" second, measured on {measured_on()}. GFLOP: billions of operations an inference, as its"
        " makers say. *: in the cache."
    )
    return [*lines, *wrap(note, _WIDTH)]


def _group(entries: Sequence[ZooEntry], cache_dir: Path) -> Iterator[str]:
    for index, entry in enumerate(entries):
        width, height = entry.input_wh
        yield _row(
            entry.name + (" *" if is_fetched(entry, cache_dir) else ""),
            f"{width}x{height}",
            f"{entry.size_bytes / _MEGA:.1f}",
            _number(entry.gflops),
            _number(entry.measured),
        )
        if index + 1 == len(entries) or entries[index + 1].model != entry.model:
            about = f"{entry.about}; {entry.licence}"
            yield from wrap(about, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _row(name: str, *figures: str) -> str:
    return f"{name:<51}" + "".join(
        f"{text:>{width}}" for text, width in zip(figures, _COLUMNS, strict=True)
    )


def info_lines(document: Mapping[str, Any], *, is_wrapped: bool) -> list[str]:
    """Return what `vidpipe.apps.models.info_document` says.

    Args:
        document: The document.
        is_wrapped: True: to 80 columns, for a terminal; paths and addresses stay whole all the
            same. False: one line a fact.
    """
    return [line for key, text in _lines(document) for line in _info_row(key, text, is_wrapped)]


def _info_row(key: str, text: str, is_wrapped: bool) -> Iterator[str]:  # noqa: FBT001
    room = _WIDTH - _KEY_WIDTH
    for part in text.splitlines():
        pieces = [part]
        if is_wrapped and len(part) > room:
            pieces = wrap(part, room, break_long_words=False, break_on_hyphens=False)
        for piece in pieces:
            yield f"{key:<{_KEY_WIDTH}}{piece}".rstrip()
            key = ""


def _lines(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    zoo = document["zoo"]
    yield "file", document["path"]
    if zoo:
        yield "zoo", f"{zoo['name']}: {zoo['about']}"
        yield "licence", f"{zoo['licence']}, {zoo['homepage']}"
    yield "inputs", "\n".join(document["inputs"])
    yield "outputs", "\n".join(document["outputs"])
    yield "precision", document["precision"]
    yield "size", _size(document)
    yield "speed", _speed(document)
    yield from _device(document["device"])
    yield "family", f"{document['family']}: {document['why']}" if document["family"] else "none"
    yield "reason", document["reason"]
    yield "classes", _classes(document)
    yield "complaint", document["complaint"]
    yield from _use(document)
    yield "metadata", "\n".join(f"{key}: {text}" for key, text in document["metadata"].items())


def _device(report: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Say what becomes of a model on a device."""
    if report is None:
        return
    names = ", ".join(f"{name} is {full}" for name, full in report["names"].items())
    yield "device", f"{report['device']}: {names}"
    yield "answers", ", ".join(f"{key} {text}" for key, text in report["runtime"].items())
    if report["placement"]:
        shares, total = report["placement"]["shares"], sum(report["placement"]["shares"].values())
        parts = [f"{name} {count} ({count / total:.0%})" for name, count in shares.items()]
        crossings = report["placement"]["crossings"]
        yield (
            "operators",
            f"{', '.join(parts)}; split into {report['splits']}, {crossings} values handed over",
        )
    layers, whole_ms = report["layers"], sum(layer["ms"] for layer in report["layers"])
    shown = [
        f"{layer['ms']:.3f} ms {layer['kind']} {layer['name']} ({layer['how']})"
        + (f", part {layer['part']}" if report["splits"] > 1 else "")
        for layer in layers[:_MOST_LAYERS]
    ]
    more = f"{len(layers)} layers, {whole_ms:.3f} ms altogether; the slowest:"
    yield "layers", "\n".join([more, *shown])
    yield "rules", "\n".join(report["rules"])


def _size(document: Mapping[str, Any]) -> str:
    cost = document["gflops"]
    gflops = "open shapes" if cost is None else f"{_number(cost)} GFLOP an inference"
    weights = f"{document['parameters'] / _MEGA:.2f} million weights"
    return f"{document['size_bytes'] / _MEGA:.1f} MB, {weights}, {gflops} (reckoned)"


def _speed(document: Mapping[str, Any]) -> str:
    speed = document["measured"]
    if speed:
        return (
            f"{_number(speed['inferences_per_s'])} inferences a second with {speed['requests']}"
            f" requests, {_number(speed['cpu_ms'])} ms of CPU each, on {speed['device']},"
            f" {speed['cores']} cores"
        )
    known = document["zoo"] and document["zoo"]["measured"]
    if known:
        return f"{_number(known['inferences_per_s'])} inferences a second on {known['on']}"
    return "not measured: add --measure" if document["family"] else ""


def _classes(document: Mapping[str, Any]) -> str:
    names = [f"{key} {name}" for key, name in document["classes"].items()]
    if not names:
        count = document["class_count"]
        known = f"{count} classes without names" if count else "no names"
        return f"{known}: give the key labels" if document["family"] else ""
    more = f" ... {len(names)} in all" if len(names) > _MOST_CLASSES else ""
    origin = f" (from {document['labels_from']})" if document["labels_from"] else ""
    return f"{', '.join(names[:_MOST_CLASSES])}{more}{origin}"


def _use(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    given = document["input"]
    if not given:
        return
    width, height = given["size"]
    fit = "stretched" if given["resize"] == "stretch" else "letterboxed"
    where = f" at the {given['anchor']}, {given['pad']} beside it" if fit == "letterboxed" else ""
    yield "picture", f"{fit} to {width}x{height}{where}; {given['color'].upper()}"
    mean, scale = given["mean"], given["scale"]
    plain = "as they are, 0 to 255"
    is_plain = not any(mean) and all(value == 1 for value in scale)
    yield "pixels", plain if is_plain else f"minus {_three(mean)}, divided by {_three(scale)}"
    iou = document["iou"]
    overlap = "overlap is the model's affair" if iou is None else f"overlap above {iou:g} is one"
    yield "boxes", f"kept from a confidence of {document['confidence']:g}; {overlap}"


def _three(values: Sequence[float]) -> str:
    is_one = len(set(values)) == 1
    return f"{values[0]:g}" if is_one else ", ".join(f"{value:g}" for value in values)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
