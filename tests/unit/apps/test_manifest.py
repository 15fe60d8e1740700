from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.config_files import load, one_stream
from vidpipe.apps.manifest import (
    Difference,
    ManifestError,
    build_manifest,
    differences,
    opened_manifest,
    read_manifest,
    write_manifest,
)
from vidpipe.runtime.logs import register_secret
from vidpipe.runtime.machine import this_machine

CONFIG = load(one_stream())
ELSEWHERE = {"cpu": "Another CPU", "cores": 96}


def about(**more: Any) -> dict[str, Any]:
    return {"path": "person.xml", "runtime": {"num_streams": "2"}, "overrides": {}, **more}


def override(value: object = 4) -> dict[str, Any]:
    return {"num_streams": {"value": value, "hint": "throughput", "chosen": "2", "runtime": "4"}}


def manifest(**more: Any) -> dict[str, Any]:
    return build_manifest(CONFIG, {"person": about(**more)})


def test_it_says_what_runs_where_and_with_what() -> None:
    document = json.loads(json.dumps(manifest()))
    assert {"vidpipe", "openvino", "python", "opencv", "pyav"} <= document["versions"].keys()
    assert document["machine"]["cores"] == this_machine().cores > 0
    assert document["machine"]["memory_mb"] > 0
    assert document["models"]["person"]["runtime"] == {"num_streams": "2"}
    assert document["streams"]["gate"]["source"] == "clip.mp4"
    assert document["streams"]["gate"]["weight"] == 1
    assert document["workers"] == 1


def test_no_secret_is_in_it() -> None:
    register_secret("hush-hush")
    text = """version: 1
models: {person: {zoo: person-ssdlite}}
streams:
- {id: gate, source: "rtsp://admin:s3cret@camera.example/x?token=abcdef"}
"""
    models = {"person": about(properties={"KEY": "hush-hush"})}
    written = json.dumps(build_manifest(load(text), models))
    assert not any(secret in written for secret in ("admin", "s3cret", "abcdef", "hush-hush"))
    assert "camera.example" in written


def test_an_override_keeps_the_machine_that_it_was_first_in_force_on() -> None:
    first = manifest(overrides=override())
    record = first["models"]["person"]["overrides"]["num_streams"]
    machine = this_machine()
    assert record["machine"] == {"cpu": machine.cpu, "cores": machine.cores}
    record["machine"] = ELSEWHERE
    again = build_manifest(CONFIG, {"person": about(overrides=override())}, first)
    assert again["models"]["person"]["overrides"]["num_streams"]["machine"] == ELSEWHERE
    assert differences(first, again) == []


def test_another_value_is_measured_anew() -> None:
    first = manifest(overrides=override())
    first["models"]["person"]["overrides"]["num_streams"]["machine"] = ELSEWHERE
    again = build_manifest(CONFIG, {"person": about(overrides=override(3))}, first)
    record = again["models"]["person"]["overrides"]["num_streams"]
    assert record["machine"]["cores"] == this_machine().cores
    assert record["machine"] != ELSEWHERE


@pytest.mark.parametrize(
    "earlier",
    [
        {},
        {"models": []},
        {"models": {"person": "x"}},
        {"models": {"person": {"overrides": {"num_streams": 4}}}},
        {"models": {"person": {"overrides": {"num_streams": {"value": 4, "machine": "x"}}}}},
    ],
)
def test_an_earlier_one_of_another_shape_is_no_hindrance(earlier: dict[str, Any]) -> None:
    document = build_manifest(CONFIG, {"person": about(overrides=override())}, earlier)
    machine = document["models"]["person"]["overrides"]["num_streams"]["machine"]
    assert machine["cores"] == this_machine().cores


def test_differences_name_the_key_and_both_values() -> None:
    before, after = manifest(), manifest(runtime={"num_streams": "1"})
    found = differences(before, after)
    assert found == [Difference("models.person.runtime.num_streams", "2", "1")]
    assert str(found[0]) == "models.person.runtime.num_streams: 2 -> 1"


def test_what_only_one_of_them_has_is_one_difference() -> None:
    before, after = manifest(), manifest()
    before["streams"]["old"] = {"id": "old", "weight": 1}
    after["streams"]["new"] = {"id": "new", "weight": 2}
    after["streams"]["gate"]["weight"] = None
    assert [str(one) for one in differences(before, after)] == [
        "streams.gate.weight: 1.0 -> absent",
        'streams.new: absent -> {"id": "new", "weight": 2}',
        'streams.old: {"id": "old", "weight": 1} -> absent',
    ]


def test_a_mapping_that_becomes_something_else_is_a_difference() -> None:
    assert [str(one) for one in differences({"a": {"b": 1}}, {"a": [1]})] == ['a: {"b": 1} -> [1]']
    assert differences({"a": {}}, {"a": {}}) == []


def test_the_time_and_the_pool_in_use_are_no_differences_but_versions_are() -> None:
    before, after = manifest(active_pool="latency"), manifest(active_pool="throughput")
    after["written"] = "2031-01-01T00:00:00Z"
    assert differences(before, after) == []
    after["versions"]["openvino"] = "9999.1"
    assert [one.key for one in differences(before, after)] == ["versions.openvino"]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "manifest.json"
    document = manifest()
    for _ in range(2):
        write_manifest(path, document)
    assert read_manifest(path) == document
    assert [file.name for file in path.parent.iterdir()] == ["manifest.json"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.mkdir()
    with pytest.raises(ManifestError, match=r"can't be written .*telemetry\.manifest"):
        write_manifest(path, manifest())
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_letters_of_any_kind_are_written(tmp_path: Path) -> None:
    write_manifest(tmp_path / "m.json", manifest(path="modèle/\udcff人.xml"))
    assert "人" in (tmp_path / "m.json").read_text("utf-8")
    read_manifest(tmp_path / "m.json")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"{}", b'{"manifest": 2}', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_no_manifest_is_told_apart(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(ManifestError, match="no manifest"):
        read_manifest(path)


def test_one_that_is_not_there_is_an_error_where_it_has_to_be(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_manifest(tmp_path / "m.json")
    with pytest.raises(ManifestError, match="there is no manifest"):
        opened_manifest(tmp_path / "m.json")
    with pytest.raises(ManifestError, match="can't be read"):
        opened_manifest(tmp_path)
