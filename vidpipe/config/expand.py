"""From what was written to what is meant: defaults, the only model, globs, and paths of inputs."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from vidpipe.config.address import source_fault, source_kind, split_url, unknown_scheme
from vidpipe.config.document import (
    Entry,
    FaultLog,
    KeyPath,
    ListNode,
    MapNode,
    Node,
    TextNode,
    merged,
    show,
    text_of,
)

FILES_MAX = 1000
"""A glob of more files than this is a mistake, or work for ``vidpipe batch``."""
GLOB_DEPTH_MAX = 64
"""The glob module goes one call deeper with each folder of the pattern."""


def input_path(text: str, folder: Path) -> str:
    """Return the path of an input: in the file's folder if it exists there, else as it stands."""
    path = os.path.expanduser(text)  # noqa: PTH111 (Path's raises without a home)
    beside = os.path.join(folder, path)  # noqa: PTH118 (keeps what Path would tidy away)
    # os.path.exists answers False to names that are too long or hold a NUL
    return beside if os.path.exists(beside) else path  # noqa: PTH110


def expand(root: MapNode, folder: Path, faults: FaultLog) -> tuple[MapNode, dict[int, int]]:
    """Return the tree with every stream whole, and each stream's index in the file.

    Args:
        root: The substituted tree; what isn't of the expected shape is left for the validator.
        folder: The configuration file's folder.
        faults: Takes globs that match nothing, and folders given as files.
    """
    root = _with_server_paths(_with_model_paths(root, folder), folder)
    streams, defaults, models = root.get("streams"), root.get("defaults"), root.get("models")
    origins: dict[int, int] = {}
    if not isinstance(streams, ListNode):
        return root, origins
    names = list(models.entries) if isinstance(models, MapNode) else []
    items: list[Node] = []
    for index, item in enumerate(streams.items):
        whole = merged(defaults, item) if isinstance(defaults, MapNode) else item
        variants: Iterable[Node] = [whole]
        if isinstance(whole, MapNode):
            whole = _with_only_model(whole, names[0]) if len(names) == 1 else whole
            whole = _with_tls_paths(_with_camera_ca(whole, folder), folder)
            variants = _by_source(whole, ("streams", index), folder, faults)
        for variant in variants:
            origins[len(items)] = index
            items.append(variant)
    return root.with_node("streams", replace(streams, items=tuple(items))), origins


def _with_only_model(stream: MapNode, name: str) -> MapNode:
    if text_of(stream.get("model")) is not None or _is_written(stream, "model"):
        return stream
    return stream.with_node("model", TextNode(name, name, is_plain=False, place=stream.place))


def _is_written(stream: MapNode, key: str) -> bool:
    node = stream.get(key)
    return node is not None and not (isinstance(node, TextNode) and node.is_null)


def _with_model_paths(root: MapNode, folder: Path) -> MapNode:
    models = root.get("models")
    if not isinstance(models, MapNode):
        return root
    entries = {}
    for name, entry in models.entries.items():
        model = entry.node
        if isinstance(model, MapNode):
            for key in ("path", "labels"):
                node = model.get(key)
                if isinstance(node, TextNode) and node.text.strip() and not node.is_null:
                    model = model.with_node(key, replace(node, text=input_path(node.text, folder)))
        entries[name] = Entry(entry.key_place, model)
    return root.with_node("models", replace(models, entries=entries))


def _with_server_paths(root: MapNode, folder: Path) -> MapNode:
    """Return the tree with the files of the server's own certificate."""
    server = root.get("server")
    tls = server.get("tls") if isinstance(server, MapNode) else None
    if not isinstance(server, MapNode) or not isinstance(tls, MapNode):
        return root
    return root.with_node("server", server.with_node("tls", _with_files(tls, folder)))


def _with_files(tls: MapNode, folder: Path) -> MapNode:
    for key in ("ca", "cert", "key"):
        node = tls.get(key)
        if isinstance(node, TextNode) and node.text.strip() and not node.is_null:
            tls = tls.with_node(key, replace(node, text=input_path(node.text, folder)))
    return tls


def _with_camera_ca(stream: MapNode, folder: Path) -> MapNode:
    """Return the stream with the certificates that its camera is trusted by."""
    connect = stream.get("connect")
    tls = connect.get("tls") if isinstance(connect, MapNode) else None
    if not isinstance(connect, MapNode) or not isinstance(tls, MapNode):
        return stream
    return stream.with_node("connect", connect.with_node("tls", _with_files(tls, folder)))


def _with_tls_paths(stream: MapNode, folder: Path) -> MapNode:
    """Return the stream with the certificates that its outputs name."""
    outputs = stream.get("outputs")
    if not isinstance(outputs, ListNode):
        return stream
    items: list[Node] = []
    for output in outputs.items:
        tls = output.get("tls") if isinstance(output, MapNode) else None
        if not isinstance(output, MapNode) or not isinstance(tls, MapNode):
            items.append(output)
            continue
        items.append(output.with_node("tls", _with_files(tls, folder)))
    return stream.with_node("outputs", replace(outputs, items=tuple(items)))


def _by_source(stream: MapNode, path: KeyPath, folder: Path, faults: FaultLog) -> Iterator[MapNode]:
    """Yield the stream with its file's path, once for each file of a glob."""
    node = stream.get("source")
    if not isinstance(node, TextNode) or node.is_null or not _is_file(node.text):
        yield stream
        return
    here = (*path, "source")
    found = _files(node, here, folder, faults)
    ident, name = stream.get("id"), stream.get("name")
    for number, file in enumerate(found, start=1):
        one = stream.with_node("source", replace(node, text=file))
        if len(found) > 1:
            if isinstance(ident, TextNode):
                one = one.with_node("id", replace(ident, text=f"{ident.text}-{number}"))
            if isinstance(name, TextNode) and not name.is_null:
                one = one.with_node("name", replace(name, text=f"{name.text} {number}"))
        yield one


def _is_file(text: str) -> bool:
    return source_kind(text) == "file" and source_fault(text) is None and "\0" not in text


def _files(node: TextNode, path: KeyPath, folder: Path, faults: FaultLog) -> list[str]:
    url = split_url(node.text)
    text = unquote(url.rest) if url else node.text
    if "\0" in text:
        faults.block(node.place, path, "holds a NUL character")
        return [node.text]
    file = input_path(text, folder)
    if os.path.exists(file):  # noqa: PTH110
        camera = re.fullmatch(r"/dev/video[0-9]+", text)
        if camera:
            faults.add(node.place, path, f"for this camera write device:{text}")
        elif os.path.isdir(file):  # noqa: PTH112
            faults.add(
                node.place,
                path,
                f"'{show(text)}' is a folder: write a glob such as {show(text.rstrip('/'))}/*.mp4",
            )
    elif re.fullmatch(r"[0-9]{1,3}", text):
        faults.add(node.place, path, f"for a webcam write device:{text}")
    elif url is None and glob.has_magic(text):
        return _matches(node, path, folder, faults)
    return [file]


def _matches(node: TextNode, path: KeyPath, folder: Path, faults: FaultLog) -> list[str]:
    pattern = os.path.expanduser(node.text)  # noqa: PTH111
    shown = show(node.shown)
    if pattern.count("/") > GLOB_DEPTH_MAX:
        faults.block(node.place, path, "the pattern has too many folders")
        return [node.text]
    for base in (folder, Path()):
        # the folder's own name may hold a [, so it is no part of the pattern
        names = glob.iglob(pattern, root_dir=base, recursive=True)  # noqa: PTH207
        full = (os.path.join(base, name) if base != Path() else name for name in names)  # noqa: PTH118
        files = sorted(
            itertools.islice((f for f in full if os.path.isfile(f)), FILES_MAX + 1)  # noqa: PTH113
        )
        if len(files) > FILES_MAX:
            faults.block(node.place, path, f"'{shown}' matches more than {FILES_MAX} files")
        if files:
            return files[:FILES_MAX]
    unknown = unknown_scheme(node.text)
    if unknown:
        faults.block(node.place, path, unknown)
        return [node.text]
    faults.block(
        node.place,
        path,
        f"no file matches '{shown}', neither in this file's folder nor in the working directory",
    )
    return [node.text]
