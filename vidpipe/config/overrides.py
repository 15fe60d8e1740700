"""``--set KEY=VALUE``: single values laid over the file before anything else is done with it.

A key is dotted, as faults print it: ``models.person.hint``, ``streams.gate.detect_fps`` (by id),
``streams[0].outputs[1].path`` or ``streams.0.outputs.1.path`` (by index). The value is YAML.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vidpipe.config.document import (
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    Place,
    TextNode,
    key_text,
    show,
    text_of,
)
from vidpipe.config.suggest import did_you_mean, listed

PARTS_MAX = 16


class OverrideError(Exception):
    """The key leads nowhere; the text says why."""


def override_place(text: str, number: int) -> Place:
    """Return the place of the ``number``-th override, which names its key alone."""
    return Place(2, 0, number, f"--set {show(text.partition('=')[0].strip())}")


def split_key(key: str) -> list[str]:
    """Return the parts of a dotted key.

    Raises:
        OverrideError: It is empty, or too deep.
    """
    parts = re.sub(r"\[([0-9]+)\]", r".\1", key.strip()).split(".")
    if not all(parts):
        raise OverrideError("expected KEY=VALUE with a dotted key, such as models.person.hint")
    if len(parts) > PARTS_MAX:
        raise OverrideError("no key is so deep")
    return parts


def apply_override(root: MapNode, key: str, value: Node, faults: FaultLog) -> MapNode:
    """Return the tree with a value put at a dotted key; a key that leads nowhere is a fault."""
    try:
        changed = _put(root, split_key(key), (), value)
    except OverrideError as error:
        faults.add(value.place, (), str(error))
        return root
    return changed if isinstance(changed, MapNode) else root


def _put(node: Node, parts: list[str], path: KeyPath, value: Node) -> Node:
    if not parts:
        return value
    if isinstance(node, ListNode):
        index = _index(node, parts[0], path)
        new = _put(node.items[index], parts[1:], (*path, index), value)
        return replace(node, items=(*node.items[:index], new, *node.items[index + 1 :]))
    if isinstance(node, TextNode):
        if not node.is_null:
            raise OverrideError(f"{key_text(path)} is a plain value and has no keys")
        node = MapNode({}, value.place)
    key, rest = _longest_key(node, parts)
    under = node.get(key) or MapNode({}, value.place)
    new = _put(under, rest, (*path, key), value)
    return node.with_node(key, new, None if rest else value.place)


def _longest_key(node: MapNode, parts: list[str]) -> tuple[str, list[str]]:
    """Split off the longest key that exists, since a model's name may hold dots."""
    for count in range(len(parts), 1, -1):
        key = ".".join(parts[:count])
        if key in node.entries:
            return key, parts[count:]
    return parts[0], parts[1:]


def _index(node: ListNode, part: str, path: KeyPath) -> int:
    ids = [text_of(item.get("id")) if isinstance(item, MapNode) else None for item in node.items]
    if part in ids:
        return ids.index(part)
    if part.isascii() and part.isdigit() and len(part) < 6:
        if int(part) < len(node.items):
            return int(part)
        raise OverrideError(f"{key_text(path)} has only {len(node.items)} items, from 0")
    known = [name for name in ids if name]
    raise OverrideError(
        f"{key_text(path)} has no item '{show(part)}'{did_you_mean(part, known)}"
        f"{listed(known, '; ids: ')}"
    )
