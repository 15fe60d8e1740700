"""Which name a class id has, and which classes are kept.

Where the names come from, in order: the configuration; the model's file (see `carried_labels`), a
``metadata.yaml`` beside it, or the zoo's catalogue where it lists that very file (see
`vidpipe.inference.metadata`); the family, where all its models find the same; COCO, by the number
of classes.

Which id a name has, in order:

1. names by id (a mapping) are taken as they stand;
2. a list that begins with ``background`` begins at the model's id of the background: 0, where the
   model doesn't say which;
3. any other list begins at the model's first class that is not the background: at 1 where the graph
   says that 0 is the background (attribute ``background_label_id`` of OpenVINO's DetectionOutput),
   else at 0;
4. an id without a name is called ``class-<id>``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from vidpipe.errors import ModelError
from vidpipe.inference.coco import coco_labels, other_spelling, respelt
from vidpipe.inference.settings import Labels

_BACKGROUND = frozenset({"background", "__background__", "_background_", "bg"})
_LONGEST_TEXT = 1_000_000
"""Names of 20,000 classes take less; more is not read."""


class LabelTable:
    """The names of a model's classes; immutable after it is made."""

    def __init__(self, labels: Labels, *, background_id: int | None = None) -> None:
        if isinstance(labels, Mapping):
            names = {int(key): name for key, name in labels.items()}
        else:
            names = dict(enumerate(labels, _first_id(labels, background_id)))
        self._names = {key: name for key, name in names.items() if name}

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self._names)

    def by_id(self) -> dict[int, str]:
        """Return the names by id, in the order of the ids."""
        return {key: self._names[key] for key in sorted(self._names)}

    def name(self, class_id: int) -> str:
        """Return the name of a class."""
        return self._names.get(class_id) or f"class-{class_id}"

    def names(self, class_ids: Iterable[int]) -> tuple[str, ...]:
        """Return the names of several classes."""
        return tuple([self.name(class_id) for class_id in class_ids])

    def kept_ids(self, classes: tuple[str, ...], model: str) -> frozenset[int] | None:
        """Return the ids of the classes to keep, or None to keep all.

        Raises:
            ModelError: A class is not among the labels.
        """
        if not classes:
            return None
        known: dict[str, list[int]] = {}
        for class_id, name in self._names.items():
            known.setdefault(name, []).append(class_id)
        return frozenset(i for name in classes for i in self._ids_of(name, known, model))

    def _ids_of(self, name: str, known: dict[str, list[int]], model: str) -> list[int]:
        for spelling in (name, other_spelling(name)):
            if spelling in known:
                return known[spelling]
        number = name.removeprefix("class-")
        if number != name and number.isdecimal():
            return [int(number)]
        if not self._names:
            raise ModelError(
                f"model {model}: classes names {name!r}, but the model carries no labels: give"
                " labels, or name the class by its number, such as class-1"
            )
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
        raise ModelError(f"model {model}: no class {name!r} among its labels: {hint}")


def _first_id(labels: Sequence[str], background_id: int | None) -> int:
    if background_id is None:
        return 0
    return background_id if _has_background(labels[:1]) else background_id + 1


def _has_background(labels: Iterable[str]) -> bool:
    return any(name.strip().lower() in _BACKGROUND for name in labels)


@dataclass(frozen=True, slots=True)
class ChosenLabels:
    """The labels of a model.

    Attributes:
        labels: The names; empty if there are none.
        origin: Where they come from, in words; empty if there are none.
        complaint: What is wrong with their number; empty if nothing is.
    """

    labels: Labels
    origin: str
    complaint: str = ""


def choose_labels(
    given: Labels,
    metadata: Mapping[str, str],
    class_count: int | None,
    family_labels: tuple[str, ...] = (),
) -> ChosenLabels:
    """Return the labels that a model shall have.

    Args:
        given: Those of the configuration; empty if it names none.
        metadata: What is said of the model, in its file and beside it.
        class_count: How many classes it has, without a background; None where it doesn't say.
        family_labels: Those that all models of its family have.
    """
    carried = carried_labels(metadata)
    if given:
        labels, origin = given, "the key labels"
    elif carried:
        labels, origin = carried, metadata.get("names_from", "the model's file")
    elif family_labels:
        labels, origin = family_labels, "the family"
    else:
        labels = coco_labels(class_count)
        origin = f"COCO, since it has {class_count} classes" if labels else ""
        return ChosenLabels(labels, origin)
    return ChosenLabels(labels, origin, _complaint(labels, origin, class_count))


def _complaint(labels: Labels, origin: str, class_count: int | None) -> str:
    """Say that the numbers differ; a background may be counted or not."""
    names = list(labels.values()) if isinstance(labels, Mapping) else list(labels)
    count = len(names)
    if class_count is None or class_count in (count, count - _has_background(names)):
        return ""
    told = f"{count} labels (from {origin}) for {class_count} classes"
    if count < class_count:
        return f"{told}: what has no label is called class-N; complete the key labels"
    return f"{told}: names may belong to other classes; check the key labels"


def carried_labels(metadata: Mapping[str, str]) -> Labels:
    """Return the labels in what is said of a model; empty if there are none.

    They stand under ``labels`` (ours, and OpenVINO's Model API's, which writes underscores for
    spaces) or ``names`` (Ultralytics, in an ONNX file or in ``metadata.yaml``), as JSON, as a
    literal of Python, or as words. If both are there they say the same, and then ``names`` has the
    spelling; else ``labels`` counts, since it can't be another model's.
    """
    labels, names = (_labels_in(metadata.get(key, "")) for key in ("labels", "names"))
    is_same = [_plain(name) for name in _in_order(labels)] == [
        _plain(name) for name in _in_order(names)
    ]
    chosen = names if names and (is_same or not labels) else labels
    return chosen if isinstance(chosen, Mapping) else respelt(tuple(chosen))


def _in_order(labels: Labels) -> list[str]:
    if isinstance(labels, Mapping):
        return [labels[key] for key in sorted(labels)]
    return list(labels)


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().casefold()


def _labels_in(text: str) -> Labels:
    found = literal(text[:_LONGEST_TEXT])
    if isinstance(found, Mapping):
        try:
            return {int(key): str(name).strip() for key, name in found.items()}
        except (TypeError, ValueError):
            return ()
    if isinstance(found, list | tuple):
        return tuple(str(name).strip() for name in found)
    if isinstance(found, str):
        return (found.strip(),)
    is_damaged = text.lstrip().startswith(("{", "["))
    return () if is_damaged else tuple(text.split())


def literal(text: str) -> object:
    """Return what JSON or a literal of Python says; None if it is neither."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def read_labels(path: Path) -> tuple[str, ...]:
    """Return the names in a text file, one a line; blank lines at the end don't count.

    Raises:
        ModelError: The file can't be read as text, or has no names.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ModelError(
            f"labels file {path} can't be read: {reason}; give a text file with one name a line"
        ) from error
    names = tuple(line.strip() for line in text.rstrip().splitlines())
    if not names:
        raise ModelError(f"labels file {path} is empty: give one name a line")
    return names
