"""The validator's findings in plain words, at their place in the file.

No text of the validator's own gets out: it speaks of types of Python and shows its input, and an
input may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from vidpipe.config.document import (
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    Place,
    TextNode,
    show,
)
from vidpipe.config.outputs import OUTPUT_TYPES, PLUGIN_TAG, output_types
from vidpipe.config.section import UnknownKey
from vidpipe.config.suggest import did_you_mean, listed
from vidpipe.config.values import described

SHAPES = {
    "dict_type": "expected a mapping (key: value)",
    "model_type": "expected a mapping (key: value)",
    "model_attributes_type": "expected a mapping (key: value)",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
}
BOUNDS = {
    "greater_than": ("gt", "must be greater than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
}
PATTERNS = {
    "id": "an id may hold small letters (a to z), digits, _ and -, and up to 100 of them",
    "zoo": "a zoo name may hold letters, digits, '.', '_' and '-'",
}


def report(
    errors: Iterable[ErrorDetails], root: Node, origins: Mapping[int, int], faults: FaultLog
) -> None:
    """Turn the errors of one validation into faults.

    Args:
        errors: As pydantic lists them.
        root: The tree that was validated, for the places.
        origins: The stream's index in the file for its index in the tree.
        faults: Where to put them.
    """
    for error in errors:
        if error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]:
            continue  # the validator counts only the valid ones, and what is wrong is said already
        path = _without_tags(error["loc"])
        place, shown_path, node = locate(root, path, error["type"])
        if len(shown_path) > 1 and shown_path[0] == "streams" and isinstance(shown_path[1], int):
            index = origins.get(shown_path[1], shown_path[1])
            shown_path = ("streams", index, *shown_path[2:])
        faults.add(place, shown_path, words(error, path, node))


def _without_tags(loc: tuple[int | str, ...]) -> KeyPath:
    """Drop what isn't a key: an output's type after its index, and marks such as ``[key]``."""
    path: list[int | str] = []
    for position, part in enumerate(loc):
        after_output = position >= 2 and loc[position - 2] == "outputs"
        is_tag = part in OUTPUT_TYPES or part == PLUGIN_TAG
        if after_output and isinstance(loc[position - 1], int) and is_tag:
            continue
        if part == "[key]":
            break
        path.append(part)
    return tuple(path)


def locate(root: Node, path: KeyPath, kind: str) -> tuple[Place, KeyPath, Node]:
    """Return the place of what is at a path, as deep as the tree goes, that path, and the node."""
    if kind == "union_tag_invalid":
        path = (*path, "type")
    node, place = root, root.place
    reached: list[int | str] = []
    for part in path:
        if isinstance(node, MapNode) and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node, place = entry.node, entry.key_place
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            place = node.place
        else:
            break
        reached.append(part)
    if kind == "missing":
        return place, path, node
    is_value = not isinstance(node, MapNode) or kind in SHAPES or kind.startswith("union_tag")
    if is_value and kind != "extra_forbidden":
        place = node.place
    return place, tuple(reached), node


def words(error: ErrorDetails, path: KeyPath, node: Node) -> str:
    """Return what is wrong and what to do, in plain words; a scalar is shown as it was written."""
    given = f"'{show(node.shown)}'" if isinstance(node, TextNode) else described(error["input"])
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    name = str(path[-1]) if path else ""
    if kind == "vidpipe":
        return str(context["message"])
    if kind == "missing":
        return f"the required key '{name}' is missing or empty"
    if kind == "extra_forbidden":
        allowed = value.allowed if isinstance(value, UnknownKey) else ()
        return f"unknown key{did_you_mean(name, allowed)}{listed(allowed)}"
    if kind in SHAPES:
        return f"{SHAPES[kind]}, not {given}"
    if kind in BOUNDS:
        key, phrase = BOUNDS[kind]
        return f"{phrase} {context[key]:g}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _of_output(value, given)
    return _of_text(error, given, name)


def _of_output(value: Any, given: str) -> str:
    types = output_types()
    if not isinstance(value, dict):
        return f"expected a mapping (key: value) with a type, not {given}"
    kind = value.get("type")
    if not isinstance(kind, str):
        return f"an output needs its type{listed(types, '; one of: ')}"
    return (
        f"unknown output type {given}{did_you_mean(kind, types)}{listed(types, '; known ones: ')}"
    )


def _of_text(error: ErrorDetails, given: str, name: str) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(context["expected"]))
        guess = did_you_mean(value, choices) if isinstance(value, str) else ""
        return f"expected one of {', '.join(choices)}, not {given}{guess}"
    if kind == "too_short":
        return f"needs at least {context['min_length']} of them; it has {context['actual_length']}"
    if kind == "too_long":
        return f"takes at most {context['max_length']} of them"
    if kind in ("string_too_long", "string_too_short"):
        most = context.get("max_length")
        return f"may have at most {most} characters" if most else "a name may not be empty"
    if kind == "string_unicode":
        return "holds bytes that are not UTF-8"
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(name, "holds a character that is not allowed")
    return f"expected something else, not {given} ({kind.replace('_', ' ')})"
