"""Which name a class id has, and which classes are kept.

The rule, in order:

1. names by id (a mapping) are taken as they stand;
2. a list that begins with ``background`` begins at the model's id of the background: 0, where the
   model doesn't say which;
3. any other list begins at the model's first class that is not the background: at 1 where the graph
   says that 0 is the background (attribute ``background_label_id`` of OpenVINO's DetectionOutput),
   else at 0;
4. an id without a name is called ``class-<id>``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from vidpipe.errors import ModelError
from vidpipe.inference.settings import Labels

_BACKGROUND = frozenset({"background", "__background__", "_background_", "bg"})


class LabelTable:
    """The names of a model's classes; immutable after it is made."""

    def __init__(self, labels: Labels, *, background_id: int | None = None) -> None:
        if isinstance(labels, Mapping):
            self._names = {int(key): name for key, name in labels.items()}
        else:
            self._names = dict(enumerate(labels, _first_id(labels, background_id)))

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self._names)

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
        if name in known:
            return known[name]
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
    starts_with_background = bool(labels) and labels[0].strip().lower() in _BACKGROUND
    if background_id is None:
        return 0
    return background_id if starts_with_background else background_id + 1


def carried_labels(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels in a file's own description: a JSON list, or words; empty if none."""
    text = metadata.get("labels", "")
    try:
        names = json.loads(text)
    except ValueError:
        return tuple(text.split())
    return tuple(str(name) for name in names) if isinstance(names, list) else tuple(text.split())


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
