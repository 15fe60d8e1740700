from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vidpipe.config.load import load_config_mapping, load_config_text
from vidpipe.errors import ConfigError, Fault


def document(**stream: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "models": {"person": {"zoo": "person-ssdlite"}},
        "streams": [{"id": "gate", "source": "clip.mp4", **stream}],
    }


def faults_of(data: dict[str, Any]) -> list[Fault]:
    with pytest.raises(ConfigError) as caught:
        load_config_mapping(data, {})
    return caught.value.faults


def test_a_mapping_is_what_a_file_of_the_same_content_is() -> None:
    text = """
version: 1
models: {person: {zoo: person-ssdlite, confidence: 0.5, classes: [person]}}
streams:
- {id: gate, source: clip.mp4, detect_fps: 5, loop: true, name: '5', weight: }
defaults: {outputs: [{type: jsonl, path: 'out/{stream}.jsonl'}]}
"""
    data = document(detect_fps=5, loop=True, name="5", weight=None)
    data["models"]["person"] |= {"confidence": 0.5, "classes": ("person",)}
    data["defaults"] = {"outputs": [{"type": "jsonl", "path": Path("out/{stream}.jsonl")}]}
    assert load_config_mapping(data, {}) == load_config_text(text, (), {})


def test_numbers_of_any_kind_are_numbers() -> None:
    stream = load_config_mapping(
        document(detect_fps=np.float32(2.5), lane={"size": np.int64(3), "max_age_ms": 1e3}), {}
    ).streams[0]
    assert (stream.detect_fps, stream.lane.size, stream.lane.max_age_ms) == (2.5, 3, 1000.0)


def test_variables_are_put_into_texts() -> None:
    stream = load_config_mapping(document(detect_fps="${FPS}"), {"FPS": "4"}).streams[0]
    assert stream.detect_fps == 4.0


def test_every_fault_is_told_with_its_key() -> None:
    data = document(weight="heavy", detect_fps="5", wait=1)
    data["models"]["person"]["iou"] = 7
    faults = faults_of(data)
    assert [fault.key for fault in faults] == [
        "models.person.iou",
        "streams[0].weight",
        "streams[0].detect_fps",
        "streams[0].wait",
    ]
    assert str(faults[0]) == "<mapping>: models.person.iou: must be at most 1"
    assert "in quotes" in faults[2].message


def test_the_same_fault_twice_is_two_faults() -> None:
    data = document(weight=0)
    data["streams"].append({"id": "dock", "source": "a.mp4", "weight": 0})
    assert [fault.key for fault in faults_of(data)] == ["streams[0].weight", "streams[1].weight"]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", float("nan"), float("inf")])
def test_what_is_no_value_is_a_fault(value: object) -> None:
    (fault,) = faults_of(document(weight=value))
    assert fault.key == "streams[0].weight"


def test_a_key_must_be_text() -> None:
    data = document()
    data[5] = "x"  # type: ignore[index] # a mistake
    (fault,) = faults_of(data)
    assert "a key must be text, not a int" in fault.message


def test_a_mapping_that_holds_itself_is_refused() -> None:
    data = document()
    data["streams"][0]["lane"] = data
    assert any("levels deep" in fault.message for fault in faults_of(data))


def test_passwords_are_secret_here_too() -> None:
    config = load_config_mapping(
        document(source="rtsp://h/x", connect={"username": "me", "password": "hunter22"}), {}
    )
    assert "hunter22" not in repr(config)
    assert config.streams[0].url() == "rtsp://me:hunter22@h/x"


def test_the_data_is_left_as_it_was() -> None:
    data = document(lane={"size": 3})
    before = repr(data)
    load_config_mapping(data, {})
    assert repr(data) == before
