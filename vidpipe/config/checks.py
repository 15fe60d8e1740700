"""What one section can't know of another: ids, references, and outputs in one another's way.

These work on the tree, not on the validated records, so that a fault elsewhere hides none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vidpipe.config.address import source_kind
from vidpipe.config.document import (
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    TextNode,
    show,
    text_of,
)
from vidpipe.config.loopback import is_loopback
from vidpipe.config.model import origin_fault
from vidpipe.config.outputs import OUTPUT_TYPES
from vidpipe.config.suggest import did_you_mean, listed

START_PATTERN = "[0-9]{8}T[0-9]{6}Z"
"""The form of ``{start}``."""
START_SAMPLE = "20261130T050000Z"
PAIRS_MAX = 100_000
"""Of fixed paths and paths with placeholders; more aren't compared."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of the tree, as far as it can be read."""

    path: KeyPath
    node: MapNode
    name: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """Where one output of one stream writes; ``file`` is absolute, with {start} and {n} left."""

    path: KeyPath
    node: TextNode
    stream: str
    file: str
    is_kept: bool
    """Whether its old files are deleted."""


def cross_check(root: MapNode, origins: Mapping[int, int], faults: FaultLog) -> None:
    """Report what is wrong between the sections."""
    streams = list(_streams(root, origins))
    ids = _check_ids(streams, faults)
    _check_origins(root.get("models"), faults)
    _check_models(root.get("models"), streams, faults)
    targets = list(_targets(streams))
    _check_targets(targets, faults)
    _check_kept(targets, faults)
    _check_recorded(streams, faults)
    _check_groups(root, ids, faults)
    _check_server(root, faults)


def _streams(root: MapNode, origins: Mapping[int, int]) -> Iterator[Stream]:
    node = root.get("streams")
    for index, item in enumerate(node.items if isinstance(node, ListNode) else ()):
        if isinstance(item, MapNode):
            yield Stream(("streams", origins.get(index, index)), item, text_of(item.get("id")))


def _check_ids(streams: list[Stream], faults: FaultLog) -> set[str]:
    first: dict[str, Stream] = {}
    for stream in streams:
        if stream.name is None:
            continue
        other = first.setdefault(stream.name, stream)
        node, known = stream.node.get("id"), other.node.get("id")
        if other is not stream and node and known:
            faults.add(
                node.place,
                (*stream.path, "id"),
                f"the id '{show(stream.name)}' is already taken at {known.place}",
            )
    return set(first)


def _check_origins(models: Node | None, faults: FaultLog) -> None:
    for name, entry in models.entries.items() if isinstance(models, MapNode) else ():
        if isinstance(entry.node, MapNode):
            has_path, has_zoo = (_is_given(entry.node.get(key)) for key in ("path", "zoo"))
            wrong = origin_fault(has_path=has_path, has_zoo=has_zoo)
            if wrong:
                faults.add(entry.key_place, ("models", name), wrong)


def _is_given(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, TextNode) and node.is_null)


def _check_models(models: Node | None, streams: list[Stream], faults: FaultLog) -> None:
    if not isinstance(models, MapNode) or not models.entries:
        return
    names = [show(name) for name in models.entries]
    for stream in streams:
        node = stream.node.get("model")
        if node is None or not _is_given(node):
            if len(names) > 1:
                faults.add(
                    stream.node.place,
                    (*stream.path, "model"),
                    f"needs a model, here or in defaults{listed(names, '; one of: ')}",
                )
        elif isinstance(node, TextNode) and node.text.strip() and node.text not in models.entries:
            faults.add(
                node.place,
                (*stream.path, "model"),
                f"no model is called '{show(node.shown)}'{did_you_mean(node.text, names)}"
                f"{listed(names, '; there are: ')}",
            )


def _targets(streams: list[Stream]) -> Iterator[Target]:
    for stream in streams:
        outputs = stream.node.get("outputs")
        for index, output in enumerate(outputs.items if isinstance(outputs, ListNode) else ()):
            is_own = isinstance(output, MapNode) and text_of(output.get("type")) in OUTPUT_TYPES
            node = output.get("path") if isinstance(output, MapNode) and is_own else None
            if isinstance(node, TextNode) and not node.is_null and stream.name is not None:
                text = node.text.replace("{stream}", stream.name)
                file = os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111
                path = (*stream.path, "outputs", index, "path")
                is_kept = isinstance(output, MapNode) and any(
                    _is_given(output.get(key)) for key in ("keep_days", "keep_gb")
                )
                yield Target(path, node, stream.name, file, is_kept)


def _check_targets(targets: list[Target], faults: FaultLog) -> None:
    first: dict[str, Target] = {}
    for target in targets:
        other = first.setdefault(target.file, target)
        if other is not target:
            _collision(other, target, faults)
    fixed = [target for target in first.values() if not _is_open(target)]
    moving = [target for target in first.values() if _is_open(target)]
    if len(fixed) * len(moving) > PAIRS_MAX:
        return
    for target in moving:
        pattern = _open_pattern(target.file)
        for other in fixed:
            if re.fullmatch(pattern, other.file):
                _collision(target, other, faults)


def _is_open(target: Target) -> bool:
    return "{n}" in target.file or "{start}" in target.file


def _collision(first: Target, second: Target, faults: FaultLog) -> None:
    if faults.has_place(second.node.place):
        return
    shown = show(second.node.shown)
    if first.stream == second.stream:
        message = f"two outputs of stream '{show(first.stream)}' would write '{shown}'"
    else:
        message = (
            f"the streams '{show(first.stream)}' and '{show(second.stream)}' would both write "
            f"'{shown}': put {{stream}} into the path"
        )
    faults.add(second.node.place, second.path, message)


def _check_kept(targets: list[Target], faults: FaultLog) -> None:
    """What deletes its old files must not take another's for its own."""
    kept = [target for target in targets if target.is_kept]
    if len(kept) * len(targets) > PAIRS_MAX:
        return
    names = [target.file.replace("{start}", START_SAMPLE).replace("{n}", "1") for target in targets]
    for target in kept:
        stem, dot, suffix = target.file.rpartition(".")
        # what has a name that was taken is numbered: gate-20261130T050000Z-2.mp4
        again = "(?:-[0-9]+)?" if stem.endswith(("{start}", "{n}")) else ""
        pattern = re.compile(_open_pattern(stem) + again + re.escape(dot + suffix))
        for other, name in zip(targets, names, strict=True):
            if other is not target and pattern.fullmatch(name) and other.file != target.file:
                faults.add(
                    target.node.place,
                    target.path,
                    f"what deletes old files of '{show(target.node.shown)}' would take those of "
                    f"'{show(other.node.shown)}' for them: give the two other names",
                )
                break


def _open_pattern(file: str) -> str:
    return re.escape(file).replace(r"\{n\}", "[0-9]+").replace(r"\{start\}", START_PATTERN)


def _check_recorded(streams: list[Stream], faults: FaultLog) -> None:
    """Packets can only be copied of what sends some."""
    for stream in streams:
        source, outputs = stream.node.get("source"), stream.node.get("outputs")
        address = text_of(source)
        if address is None or not isinstance(outputs, ListNode):
            continue
        kind = source_kind(address)
        if kind in ("file", "network"):
            continue
        for index, output in enumerate(outputs.items):
            node = output.get("type") if isinstance(output, MapNode) else None
            if node is not None and text_of(node) == "record":
                faults.add(
                    node.place,
                    (*stream.path, "outputs", index, "type"),
                    f"record copies what a camera or file sends, and a {kind} source of stream "
                    f"'{show(stream.name or '')}' has only pictures: use type: video",
                )


def _check_groups(root: MapNode, ids: set[str], faults: FaultLog) -> None:
    wall = root.get("wall")
    groups = wall.get("groups") if isinstance(wall, MapNode) else None
    for name, entry in groups.entries.items() if isinstance(groups, MapNode) else ():
        members = entry.node.items if isinstance(entry.node, ListNode) else ()
        if isinstance(entry.node, ListNode) and not members:
            faults.add(entry.key_place, ("wall", "groups", name), "names no stream")
        seen: set[str] = set()
        for index, member in enumerate(members):
            ident = text_of(member)
            if ident is not None and ident in seen:
                faults.add(
                    member.place,
                    ("wall", "groups", name, index),
                    f"'{show(ident)}' is in this group already",
                )
            seen.add(ident or "")
            if ident is not None and ident not in ids:
                faults.add(
                    member.place,
                    ("wall", "groups", name, index),
                    f"no stream has the id '{show(ident)}'{did_you_mean(ident, ids)}",
                )


def _check_server(root: MapNode, faults: FaultLog) -> None:
    """Whoever may reach the server from another machine needs a token."""
    server = root.get("server")
    host = server.get("host") if isinstance(server, MapNode) else None
    if not isinstance(server, MapNode) or not isinstance(host, TextNode):
        return
    tokens = server.get("tokens")
    given = [
        text_of(item.get("token")) if isinstance(item, MapNode) else None
        for item in (tokens.items if isinstance(tokens, ListNode) else ())
    ]
    is_guarded = any((token or "").strip() for token in given)
    if host.text.strip() and not host.is_null and not is_loopback(host.text) and not is_guarded:
        faults.add(
            host.place,
            ("server", "host"),
            f"'{show(host.shown)}' can be reached from outside of this machine: add server.tokens, "
            "or use 127.0.0.1",
        )
