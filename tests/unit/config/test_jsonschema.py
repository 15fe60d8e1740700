from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.config_files import load, one_model, one_stream
from tests.json_schema import errors_in
from vidpipe.config.jsonschema import json_schema
from vidpipe.errors import ConfigError


def wrong(text: str) -> list[str]:
    schema = json_schema()
    return errors_in(yaml.safe_load(text), schema, schema)


def sections(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"Config": schema, **schema["$defs"]}


def test_the_schema_is_json_and_made_anew_each_time() -> None:
    first, second = json_schema(), json_schema()
    assert json.loads(json.dumps(first)) == second
    first["properties"].clear()
    assert second["properties"]


def test_every_section_is_closed_and_every_key_described() -> None:
    for name, section in sections(json_schema()).items():
        assert section["additionalProperties"] is False, name
        for key, value in section["properties"].items():
            assert value.get("description") or "$ref" in json.dumps(value), f"{name}.{key}"


def test_defaults_take_every_key_of_a_stream() -> None:
    definitions = json_schema()["$defs"]
    stream, defaults = definitions["StreamConfig"], definitions["DefaultsConfig"]
    assert stream["properties"].keys() == defaults["properties"].keys()
    assert stream["required"] == ["id"]
    assert "required" not in defaults


@pytest.mark.parametrize(
    "text",
    [
        one_stream(),
        one_stream("detect_fps: '${FPS}', loop: '${L:-true}', lane: {overflow: '${O:-block}'}"),
        one_stream("name: 5, connect: {password: 1234, username: true, backoff_s: [1, 2]}"),
        one_stream("weight: , lane: , connect: {transport: }, outputs: "),
        one_stream("outputs: [{type: video, path: a.mp4, scale: 0.5}, {type: jsonl, path: b}]"),
        one_stream("outputs: [{type: video, path: a.mp4, scale: 1280x720}]"),
        one_stream("loop: 'yes'").replace("'yes'", "yes"),
        one_model("labels: [a, 1], classes: [a], input: {mean: 3, scale: [1, 2, 3]}"),
        one_model("labels: a.txt, requests: 5, properties: {A: 1, B: x, C: true}"),
        one_stream() + "telemetry: {log_level: info}\ncache_dir: ~/x\n",
        one_stream() + "defaults: {source: x, model: person}\n",
    ],
)
def test_what_loads_is_valid_by_the_schema(text: str) -> None:
    load(text, environ={"FPS": "5", "L": "true"})
    assert wrong(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "version: 1\n",
        one_stream("wait: 1"),
        one_stream("weight: 0"),
        one_stream("weight: heavy"),
        one_stream("loop: maybe"),
        one_stream("lane: {overflow: drop}"),
        one_stream("lane: 5"),
        one_stream("outputs: [{path: x}]"),
        one_stream("outputs: [{type: jsnl, path: x}]"),
        one_stream("outputs: [{type: video}]"),
        one_stream("outputs: [{type: video, path: a.mp4, scale: 2}]"),
        one_model("path: x"),
        one_model("requests: 0"),
        one_model("hint: fast"),
        one_stream().replace("zoo: person-ssdlite", "iou: 0.5"),
        one_stream().replace("version: 1", "version: 2"),
        one_stream().replace("gate", "Gate"),
    ],
)
def test_what_the_schema_refuses_does_not_load(text: str) -> None:
    assert wrong(text)
    with pytest.raises(ConfigError):
        load(text)
