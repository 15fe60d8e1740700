"""Every file in configs/ loads, and reference.yml names every key there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vidpipe.config.jsonschema import json_schema
from vidpipe.config.load import load_config

CONFIGS = Path(__file__).parents[1] / "configs"
FILES = sorted(CONFIGS.glob("*.yml"))
REFERENCE = CONFIGS / "reference.yml"
ENVIRON = {
    "GATE_USER": "admin",
    "GATE_PASSWORD": "p$a%s s",
    "CAMERA_USER": "admin",
    "CAMERA_PASSWORD": "p@ss",
    "VIDPIPE_DEMO_CLIP": "clip.mp4",
}


def schema_keys(schema: dict[str, Any]) -> set[tuple[str, str]]:
    sections = {"Config": schema, **schema["$defs"]}
    return {(name, key) for name, section in sections.items() for key in section["properties"]}


def used_keys(value: Any, name: str, schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield section and key of everything that a document gives a value to."""
    section = schema if name == "Config" else schema["$defs"][name]
    for key, inner in value.items():
        yield name, key
        found = re.findall(r"#/\$defs/(\w+)", repr(section["properties"].get(key, {})))
        for part in _parts(inner, is_map=key == "models"):
            for target in found:
                wanted = schema["$defs"][target]["properties"].get("type", {}).get("const")
                if isinstance(part, dict) and wanted in (None, part.get("type")):
                    yield from used_keys(part, target, schema)


def _parts(value: Any, *, is_map: bool) -> list[Any]:
    if is_map:
        return list(value.values())
    return value if isinstance(value, list) else [value]


def test_there_are_examples() -> None:
    assert {"reference.yml", "cameras.yml", "demo.yml", "wall.yml"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_example_loads(file: Path) -> None:
    assert load_config(file, environ=ENVIRON).streams


def test_the_reference_names_every_key() -> None:
    schema = json_schema()
    document = yaml.safe_load(REFERENCE.read_text())
    used = set(used_keys(document, "Config", schema))
    # `defaults` takes the keys of a stream, which the reference shows there
    missing = {key for key in schema_keys(schema) - used if key[0] != "DefaultsConfig"}
    assert missing == set()


def test_the_demo_runs_four_streams_of_one_clip() -> None:
    config = load_config(CONFIGS / "demo.yml", environ=ENVIRON)
    assert [stream.source for stream in config.streams] == ["clip.mp4"] * 4
    assert all(path.startswith("out/demo/") for s in config.streams for path in s.output_paths())


def test_the_cameras_get_their_credentials_encoded() -> None:
    config = load_config(CONFIGS / "cameras.yml", environ=ENVIRON)
    assert config.streams[0].url() == "rtsp://admin:p%40ss@camera-1.example/stream1"
