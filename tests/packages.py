"""Installed packages with entry points, as pip leaves them: modules beside a ``dist-info``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    package: str = "acme-things",
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> None:
    """Put a package into a folder of its own, on the path until the test's end.

    Args:
        folder: Where; a folder is made in it.
        monkeypatch: Takes everything back.
        package: Its name.
        modules: Source texts by module name.
        entry_points: By group, then name.
    """
    site = folder / f"site-{package}"
    info = site / f"{package.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(site)
    for name in modules:
        # What is imported from here must not be found by another test.
        monkeypatch.setitem(sys.modules, name, sys)
        del sys.modules[name]
