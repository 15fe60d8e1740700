"""Configurations that are changed while they run, and what a run does meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

LOSSLESS = {"size": 1000, "overflow": "block", "max_age_ms": 3_600_000}
"""A lane that loses nothing, however late a frame is."""


def stream(name: str, source: str, **keys: Any) -> dict[str, Any]:
    """Return a stream that writes JSON Lines below ``out``."""
    output = {"type": "jsonl", "path": f"out/{name}.jsonl"}
    return {"id": name, "source": source, "outputs": [output], **keys}


def rewrite(path: Path, document: dict[str, Any]) -> Path:
    """Write a configuration as an editor does: beside it, and then in its place."""
    part = path.with_suffix(".part")
    part.write_text(yaml.safe_dump({"version": 1, **document}, sort_keys=False), "utf-8")
    part.replace(path)
    return path


def frames(path: Path) -> list[int]:
    """Return the numbers of the frames in a file; a line that is being written is left out."""
    if not path.exists():
        return []
    whole = path.read_text("utf-8").rpartition("\n")[0]
    return [json.loads(line)["frame"] for line in whole.splitlines()]
