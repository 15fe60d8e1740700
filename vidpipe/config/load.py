"""Reading a configuration file: YAML in, a frozen ``Config`` or all of its faults out.

The order: parse, ``--set``, variables, defaults and globs, validation, cross-checks. YAML is taken
from the parser's events, so that depth, size and aliases are bounded here, every node keeps its
place, and nothing is ever constructed from a tag. Scalars are read as in YAML 1.2.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from vidpipe.config.checks import cross_check
from vidpipe.config.document import (
    Entry,
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    Place,
    TextNode,
    map_texts,
    plain_data,
    show,
)
from vidpipe.config.expand import expand
from vidpipe.config.native import tree_from_data
from vidpipe.config.overrides import apply_override, override_place
from vidpipe.config.schema import Config
from vidpipe.config.secrecy import forms_of, secrets_in
from vidpipe.config.textfile import decode_text, read_text, show_name
from vidpipe.config.variables import Variables, read_env_file
from vidpipe.config.wording import report
from vidpipe.errors import ConfigError, Fault
from vidpipe.runtime.logs import register_secret

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is there: ten times as quick, with the same marks."""

DEPTH_MAX = 32
NODES_MAX = 100_000
"""With aliases expanded; a thousand streams with every key have half of that."""


def load_config(
    path: str | Path, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Config:
    """Return the configuration in a file.

    Args:
        path: The YAML file.
        overrides: ``KEY=VALUE`` texts with dotted keys, which win over the file.
        environ: The variables for ``${VAR}``; the process's own if None.

    Raises:
        ConfigError: With every fault that was found, in the order of the file. Neither it nor the
            configuration's ``repr`` holds a password; all passwords are registered with
            ``runtime.logs``.
    """
    path = Path(path)
    name, faults = show_name(path), FaultLog()
    root = _parsed_root(read_text(path), name, faults)
    return _load(root, name, path.parent, overrides, environ, faults)


def load_config_text(
    text: str,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    *,
    name: str = "<text>",
    folder: Path = Path(),
) -> Config:
    """Return the configuration in a text, as ``load_config`` does for a file.

    Args:
        text: The YAML.
        overrides: As for ``load_config``.
        environ: As for ``load_config``.
        name: What places call the text.
        folder: Where relative inputs are looked for first.

    Raises:
        ConfigError: As ``load_config``.
    """
    text, faults = decode_text(text.encode("utf-8", "surrogatepass"), name), FaultLog()
    root = _parsed_root(text, name, faults)
    return _load(root, name, folder, overrides, environ, faults)


def load_config_mapping(
    data: Mapping[str, Any], environ: Mapping[str, str] | None = None, *, folder: Path = Path()
) -> Config:
    """Return the configuration that a program gives as it would stand in a file.

    Raises:
        ConfigError: As ``load_config``; places are the keys' paths alone.
    """
    name, faults = "<mapping>", FaultLog()
    return _load(tree_from_data(data, name, faults), name, folder, (), environ, faults)


def _load(
    root: MapNode,
    name: str,
    folder: Path,
    overrides: Sequence[str],
    environ: Mapping[str, str] | None,
    faults: FaultLog,
) -> Config:
    for number, override in enumerate(overrides, start=1):
        root = _overridden(root, override, number, faults)
    variables = Variables(os.environ if environ is None else environ)
    read_env_file(root, variables, folder, faults)
    changed = map_texts(root, lambda node, path: variables.put_into(node, path, faults))
    root = changed if isinstance(changed, MapNode) else root
    for secret in variables.secrets:
        for form in forms_of(secret):
            register_secret(form)
    for form in secrets_in(root):
        register_secret(form)
    whole, origins = expand(root, folder, faults)
    config = None
    try:
        config = Config.model_validate(plain_data(whole))
    except ValidationError as error:
        report(error.errors(include_url=False), whole, origins, faults)
    cross_check(whole, origins, faults)
    refusal = faults.error()
    if refusal is not None:
        raise refusal
    if config is None:
        raise ConfigError([Fault(f"{name}:1:1", "", "can't be validated")])
    return config


def _parsed_root(text: str, name: str, faults: FaultLog) -> MapNode:
    start = Place(0, 1, 1, name)
    root = parse_yaml(text, start, faults)
    message = None
    if root is None or (isinstance(root, TextNode) and root.is_null):
        message = "is empty: it needs at least version, models and streams"
    elif not isinstance(root, MapNode):
        kind = "a list" if isinstance(root, ListNode) else "plain text"
        message = f"expected a mapping with version, models and streams, not {kind}"
    if message is not None:
        faults.add(root.place if isinstance(root, ListNode | MapNode) else start, (), message)
    if isinstance(root, MapNode):
        return root
    raise faults.error() or ConfigError([])


def _overridden(root: MapNode, text: str, number: int, faults: FaultLog) -> MapNode:
    place = override_place(text, number)
    key, equals, value = text.partition("=")
    if not equals:
        faults.add(place, (), "expected KEY=VALUE, such as models.person.hint=latency")
        return root
    log = FaultLog()
    try:
        decode_text(value.encode("utf-8", "surrogatepass"), str(place))
        node = parse_yaml(value, place, log)
    except ConfigError as error:
        faults.add(place, (), f"the value can't be read: {error.faults[0].message}")
        return root
    wrong = log.error()
    if wrong is not None:
        faults.add(place, (), f"the value can't be read: {wrong.faults[0].message}")
        return root
    return apply_override(root, key, node or TextNode("", "", is_plain=True, place=place), faults)


# --- YAML ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """A mapping or list that isn't finished: its parts so far, and how it may be referred to."""

    place: Place
    is_map: bool
    anchor: str | None
    entries: dict[str, Entry] = field(default_factory=dict)
    inherited: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    key: tuple[str, Place] | None = None
    count: int = 1


def parse_yaml(text: str, start: Place, faults: FaultLog) -> Node | None:
    """Return the one document in a text as a tree, or None where there is none.

    Args:
        text: Printable text.
        start: The place of its beginning; where ``line`` is 0, every node gets this place.
        faults: Takes what doesn't stop the reading: duplicate keys, tags.

    Raises:
        ConfigError: It isn't YAML, or is too deep, too large or more than one document.
    """
    reader = _TreeReader(start, faults)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        place = reader.place(error.problem_mark or error.context_mark)
        message = _syntax_words(error, text)
    except yaml.YAMLError:
        place, message = start, "is not YAML"
    except _TreeError as error:
        place, message = error.place, str(error)
    else:
        return reader.root
    faults.add(place, (), message)
    raise faults.error() or ConfigError([])


class _TreeError(Exception):
    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


class _TreeReader:
    """Builds the tree from events, without recursion."""

    def __init__(self, start: Place, faults: FaultLog) -> None:
        self.root: Node | None = None
        self._start = start
        self._faults = faults
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._documents = 0

    def place(self, mark: Any) -> Place:
        """Return our place for the parser's mark."""
        if mark is None or not self._start.line:
            return self._start
        return Place(self._start.rank, mark.line + 1, mark.column + 1, self._start.source)

    def take(self, event: Any) -> None:
        place = self.place(event.start_mark)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _TreeError(place, "a second document begins here: only one may stand in it")
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", place)
        elif isinstance(event, yaml.ScalarEvent):
            self._check_tag(event, place)
            # libyaml says '' for an unquoted scalar, the parser in Python None
            is_plain = not event.style
            node = TextNode(event.value, event.value, is_plain, place)
            self._anchor(event.anchor, node, 1)
            self._add(node, 1)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._check_tag(event, place)
            if len(self._open) >= DEPTH_MAX:
                raise _TreeError(place, f"is nested more than {DEPTH_MAX} levels deep")
            is_map = isinstance(event, yaml.MappingStartEvent)
            self._open.append(_Open(place, is_map, event.anchor))
            if event.anchor:
                self._anchors.pop(event.anchor, None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._finish()

    def _path(self, parents: Sequence[_Open]) -> KeyPath:
        """Return the path of what comes next in the innermost of these."""
        return tuple(
            parent.key[0] if parent.key else "?" if parent.is_map else len(parent.items)
            for parent in parents
        )

    def _check_tag(self, event: Any, place: Place) -> None:
        # the tag isn't shown: an unquoted password may begin with !
        if event.tag not in (None, "!"):
            self._faults.block(
                place,
                self._path(self._open),
                "tags (words that begin with !) are not taken: quote the text",
            )

    def _alias(self, name: str, place: Place) -> None:
        if name not in self._anchors:
            inside = any(parent.anchor == name for parent in self._open)
            raise _TreeError(
                place,
                "this alias stands inside of what it refers to"
                if inside
                else "this alias (a word that begins with *) refers to nothing: quote the text",
            )
        self._add(*self._anchors[name], at=place)

    def _anchor(self, name: str | None, node: Node, count: int) -> None:
        if name:
            self._anchors[name] = (node, count)

    def _add(self, node: Node, count: int, at: Place | None = None) -> None:
        """Put a finished node into what is open; ``at`` is where it is referred to."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.count += count
        if parent.count > NODES_MAX:
            raise _TreeError(at or node.place, f"holds more than {NODES_MAX} values")
        if not parent.is_map:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._key(node, at or node.place)
        else:
            (key, key_place), parent.key = parent.key, None
            self._entry(parent, key, key_place, node)

    def _key(self, node: Node, place: Place) -> tuple[str, Place]:
        if isinstance(node, TextNode):
            # what says << in quotes is an ordinary key
            return ("<<" if node.is_plain else "'<<'") if node.text == "<<" else node.text, place
        raise _TreeError(place, "a key must be plain text (put text with { or [ in quotes)")

    def _entry(self, parent: _Open, key: str, key_place: Place, node: Node) -> None:
        if key == "<<":
            sources = node.items if isinstance(node, ListNode) else (node,)
            if not all(isinstance(source, MapNode) for source in sources):
                self._faults.add(key_place, (), "<< takes a mapping, or a list of mappings")
            parent.inherited.extend(sources)
        elif key in parent.entries:
            known = parent.entries[key].key_place
            self._faults.add(
                key_place,
                (*self._path(self._open[:-1]), key),
                f"the key '{show(key)}' is given twice: first at {known}, and again here",
            )
        else:
            parent.entries[key] = Entry(key_place, node)

    def _finish(self) -> None:
        done = self._open.pop()
        node: Node
        if done.is_map:
            for source in done.inherited:
                for key, entry in source.entries.items() if isinstance(source, MapNode) else ():
                    done.entries.setdefault(key, entry)
            node = MapNode(done.entries, done.place)
        else:
            node = ListNode(tuple(done.items), done.place)
        self._anchor(done.anchor, node, done.count)
        self._add(node, done.count)


def _syntax_words(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return what is wrong with the YAML, without showing the text itself."""
    lines = text.splitlines()
    number = error.problem_mark.line if error.problem_mark else 0
    # libyaml points at the line behind the one to blame as often as not
    near = lines[max(0, number - 1) : number + 1]
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in near):
        return "a tab indents this line: YAML takes spaces alone"
    problem = str(error.problem or "it can't be parsed")
    context = f" {error.context}" if error.context else ""
    if "nesting" in problem:
        return "is nested too deep"
    hint = ""
    if any("${" in line for line in near):
        hint = '; inside of { } or [ ] quote a variable: "${NAME}"'
    elif "mapping values are not allowed" in problem:
        hint = "; a text with ': ' in it needs quotes, and keys of one mapping the same indentation"
    elif "cannot start any token" in problem:
        hint = "; a text that begins with @, ` or % needs quotes"
    return show_problem(f"is not YAML: {problem}{context}") + hint


def show_problem(text: str) -> str:
    """Return a message of the parser on one line."""
    return " ".join(text.split())[:200]
