"""A configuration file as a tree of nodes that know their place, before it means anything.

Scalars stay text here: whether ``5`` is a number or a password is the field's business, so a
value from the environment can never turn into something else on its way. Nodes are immutable and
may be shared (YAML's aliases); whoever changes a tree builds a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from vidpipe.config.address import masked
from vidpipe.config.values import Written
from vidpipe.errors import ConfigError, Fault
from vidpipe.runtime.logs import redact

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
"""What an unquoted scalar may be to mean nothing (YAML 1.2, core schema)."""

SHOWN_MAX = 60
"""Longer texts are cut in messages."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of the file."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands; places sort in the order in which faults are reported.

    Attributes:
        rank: 0 for the configuration file, 1 for the ``env_file``, 2 for ``--set``.
        line: From 1; 0 where there is no text to point into.
        column: From 1, in characters.
        source: The file's name as given, or the option.
    """

    rank: int
    line: int
    column: int
    source: str

    def __str__(self) -> str:
        """``file:line:column``, or the source alone."""
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class TextNode:
    """A scalar.

    Attributes:
        text: Its value, after substitution.
        shown: How messages may show it: as written, before substitution.
        is_plain: True if it may be read as a number, a boolean or null: written without quotes, or
            made by substitution.
        place: Where it begins.
    """

    text: str
    shown: str
    is_plain: bool
    place: Place

    @property
    def is_null(self) -> bool:
        """True if nothing was written."""
        return self.is_plain and self.shown in NULLS


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping: where the key stands, and its value."""

    key_place: Place
    node: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping, in the order of the file."""

    entries: dict[str, Entry]
    place: Place

    def get(self, key: str) -> Node | None:
        """Return the value of a key, or None where it is absent."""
        entry = self.entries.get(key)
        return entry.node if entry else None

    def with_node(self, key: str, node: Node, key_place: Place | None = None) -> MapNode:
        """Return the same mapping with one value put in place of, or behind, the others."""
        old = self.entries.get(key)
        place = key_place or (old.key_place if old else node.place)
        return replace(self, entries={**self.entries, key: Entry(place, node)})


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    place: Place


Node: TypeAlias = TextNode | MapNode | ListNode


def text_of(node: Node | None) -> str | None:
    """Return a scalar's text, or None for anything else, null included."""
    return node.text if isinstance(node, TextNode) and not node.is_null else None


def map_texts(node: Node, change: Callable[[TextNode, KeyPath], TextNode]) -> Node:
    """Return the tree with every scalar changed; shared nodes are changed once and stay shared."""
    done: dict[int, Node] = {}

    def walk(old: Node, path: KeyPath) -> Node:
        if id(old) not in done:
            done[id(old)] = rebuild(old, path)
        return done[id(old)]

    def rebuild(old: Node, path: KeyPath) -> Node:
        if isinstance(old, TextNode):
            return change(old, path)
        if isinstance(old, ListNode):
            items = enumerate(old.items)
            return replace(old, items=tuple(walk(item, (*path, index)) for index, item in items))
        entries = {
            key: replace(entry, node=walk(entry.node, (*path, key)))
            for key, entry in old.entries.items()
        }
        return replace(old, entries=entries)

    return walk(node, ())


def merged(base: Node, own: Node) -> Node:
    """Return ``own`` laid over ``base``: mappings key by key at every depth, all else replaced."""
    if not (isinstance(base, MapNode) and isinstance(own, MapNode)):
        return own
    entries = dict(base.entries)
    for key, entry in own.entries.items():
        under = entries.get(key)
        entries[key] = replace(entry, node=merged(under.node, entry.node)) if under else entry
    return MapNode(entries, own.place)


def plain_data(node: Node) -> Any:
    """Return dicts, lists, None, and ``Written`` for every scalar: what the schema validates."""
    if isinstance(node, TextNode):
        if node.is_null:
            return None
        return Written(node.text, shown=show(node.shown), is_plain=node.is_plain)
    if isinstance(node, ListNode):
        return [plain_data(item) for item in node.items]
    return {key: plain_data(entry.node) for key, entry in node.entries.items()}


def show(text: str) -> str:
    """Return a text fit for a message: on one line, short, and without passwords of URLs."""
    clean = "".join(char if char.isprintable() else "?" for char in masked(text))
    return clean if len(clean) <= SHOWN_MAX else clean[: SHOWN_MAX - 3] + "..."


def key_text(path: KeyPath) -> str:
    """Return ``streams[0].lane.size`` for its path."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{show(part)}" if text else show(part)
    return text


@dataclass(slots=True)
class FaultLog:
    """The faults found so far, each once."""

    _found: dict[tuple[Place, str], Fault] = field(default_factory=dict)
    _places: set[Place] = field(default_factory=set)
    _blocked: set[Place] = field(default_factory=set)

    def add(self, place: Place, path: KeyPath, message: str) -> None:
        """Keep a fault, unless it is known or the value there is already known to be unusable."""
        if place not in self._blocked:
            fault = Fault(place=str(place), key=key_text(path), message=redact(message))
            self._found.setdefault((place, message), fault)
            self._places.add(place)

    def block(self, place: Place, path: KeyPath, message: str) -> None:
        """Keep a fault after which nothing more that is said about this value can help."""
        self.add(place, path, message)
        self._blocked.add(place)

    def has_place(self, place: Place) -> bool:
        """Return True if something is wrong exactly there."""
        return place in self._places

    def error(self) -> ConfigError | None:
        """Return all faults in the order of the file, or None where there are none."""
        if not self._found:
            return None
        ordered = sorted(self._found.items(), key=lambda item: item[0][0])
        return ConfigError([fault for _, fault in ordered])
