"""What is set aside: for each input that failed, a file that says why."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vidpipe.apps.batch.formats.finishing import replaced
from vidpipe.outputs.naming import sync_folder

_LONGEST_NAME = 240
"""Bytes: file systems take 255, and a temporary name is longer."""

_KEPT, _DIGEST = 40, 16


def write_failure(path: Path, about: Mapping[str, Any]) -> None:
    """Write why an input failed, in place of what an earlier run said; raises OSError.

    Args:
        path: ``failed/<input>.json``; a name that is too long is cut.
        about: Plain data: ``stream``, ``source``, ``reason``, ``frames``, ``partial`` and so on.
    """
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        digest = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:_DIGEST]
        path = path.with_name(f"{path.name[:_KEPT]}-{digest}.json")
    text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
    with replaced(path, path.with_name(f"{path.name}.partial")) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    sync_folder(path.parent)
