"""A configuration that a program gives as mappings and lists, as the tree that a file would be.

Numbers and booleans count as unquoted, texts as quoted: ``"5"`` is no number here either. Variables
are put into texts as in a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import count
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any

from vidpipe.config.document import (
    Entry,
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    Place,
    TextNode,
)

_DEPTH_MAX = 32
"""As of a file; a mapping that holds itself has no end."""


def tree_from_data(data: Mapping[str, Any], name: str, faults: FaultLog) -> MapNode:
    """Return the tree of a mapping.

    Args:
        data: Mappings with texts as keys, lists, tuples, texts, paths, numbers, booleans and None.
        name: What places call it; there are no lines, so the key's path tells where.
        faults: Takes what is none of these.
    """
    places = (Place(0, 0, number, name) for number in count(1))
    return _Grower(places, faults).mapping(data, ())


class _Grower:
    """Builds the tree; every node gets a place of its own, in the order of the data."""

    def __init__(self, places: Iterator[Place], faults: FaultLog) -> None:
        self._places = places
        self._faults = faults

    def mapping(self, data: Mapping[str, Any], path: KeyPath) -> MapNode:
        place = next(self._places)
        entries = {}
        for key, value in data.items():
            key_place = next(self._places)
            if isinstance(key, str):
                entries[key] = Entry(key_place, self._node(value, (*path, key)))
            else:
                message = f"a key must be text, not a {type(key).__name__}"
                self._faults.add(key_place, path, message)
        return MapNode(entries, place)

    def _node(self, value: object, path: KeyPath) -> Node:
        if len(path) > _DEPTH_MAX:
            place = next(self._places)
            self._faults.block(place, path, f"is nested more than {_DEPTH_MAX} levels deep")
            return TextNode("", "", is_plain=True, place=place)
        if isinstance(value, Mapping):
            return self.mapping(value, path)
        place = next(self._places)
        if isinstance(value, list | tuple):
            items = (self._node(item, (*path, index)) for index, item in enumerate(value))
            return ListNode(tuple(items), place)
        if isinstance(value, str | PurePath):
            return TextNode(str(value), str(value), is_plain=False, place=place)
        text = _plain(value)
        if text is None:
            self._faults.block(
                place,
                path,
                "expected text, a number, true or false, a list or a mapping, not a "
                f"{type(value).__name__}",
            )
        return TextNode(text or "", text or "", is_plain=True, place=place)


def _plain(value: object) -> str | None:
    """Return a scalar as a file would have it without quotes, or None where it is no scalar."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return repr(number) if math.isfinite(number) else ".nan"
    return None
