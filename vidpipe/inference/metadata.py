"""What is said of a model outside its own file: beside it, or in the zoo's catalogue.

Ultralytics writes a ``metadata.yaml`` beside the models that it exports. The files of Open Model
Zoo say nothing of their classes; but the catalogue knows them by their checksums, wherever they
lie.
"""

from __future__ import annotations

import json
from pathlib import Path

from vidpipe.config.document import FaultLog, ListNode, MapNode, Node, Place, TextNode
from vidpipe.config.load import parse_yaml
from vidpipe.config.textfile import read_text
from vidpipe.errors import ConfigError, ModelError
from vidpipe.inference.catalogue import known_file

_FILE = "metadata.yaml"


def outside_metadata(path: Path, model: str) -> dict[str, str]:
    """Return what is said of a model file outside of it, as texts by key.

    Lists and mappings are JSON. ``names_from`` says in words where ``names`` stands.

    Args:
        path: The model's file.
        model: The model's name, for the message.

    Raises:
        ModelError: There is a ``metadata.yaml`` that can't be read.
    """
    beside = (path if path.is_dir() else path.parent) / _FILE
    if beside.is_file():
        said = _read(beside, model)
        return said | {"names_from": _FILE} if "names" in said else said
    entry = known_file(path)
    if entry is None:
        return {}
    return {
        "names": json.dumps({str(key): name for key, name in entry.classes.items()}),
        "names_from": f"the zoo's catalogue, which knows this file as {entry.name}",
    }


def _read(path: Path, model: str) -> dict[str, str]:
    try:
        root = parse_yaml(read_text(path), Place(0, 1, 1, str(path)), FaultLog())
    except ConfigError as error:
        raise ModelError(
            f"model {model}: {path.name} beside it can't be read: {error.faults[0]}; export the"
            " model again, or take that file away and give the key labels"
        ) from error
    if not isinstance(root, MapNode):
        return {}
    return {
        key: text for key, entry in root.entries.items() if (text := _text(entry.node)) is not None
    }


def _text(node: Node) -> str | None:
    if isinstance(node, TextNode):
        return None if node.is_null else node.text
    return json.dumps(_plain(node), ensure_ascii=False)


def _plain(node: Node) -> object:
    """Return a tree as JSON can hold it; numbers and booleans stay texts."""
    if isinstance(node, MapNode):
        return {key: _plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [_plain(item) for item in node.items]
    return node.text
