from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.graphs import saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference import metadata as module
from vidpipe.inference.catalogue import ZooEntry, find_model
from vidpipe.inference.metadata import outside_metadata
from vidpipe.inference.model import read_detector
from vidpipe.inference.settings import DetectorSettings

ULTRALYTICS = """\
description: Ultralytics YOLO11n model trained on coco8.yaml
author: Ultralytics
version: 8.3.40
task: detect
stride: 32
imgsz:
- 640
- 640
names:
  0: person
  1: traffic light
  2: 'yes'
  3: "it's \\"it\\""
  4: Größe
args:
  batch: 1
  half: false
  nms: null
"""


def test_the_file_that_ultralytics_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(ULTRALYTICS, encoding="utf-8")
    said = outside_metadata(tmp_path / "yolo11n.xml", "m")
    assert json.loads(said["names"]) == {
        "0": "person",
        "1": "traffic light",
        "2": "yes",
        "3": 'it\'s "it"',
        "4": "Größe",
    }
    assert json.loads(said["imgsz"]) == ["640", "640"]
    assert (said["stride"], said["task"]) == ("32", "detect")
    assert said["names_from"] == "metadata.yaml"
    assert "nms" not in said


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("[cat, dog]", '["cat", "dog"]'),
        ("{0: cat, 1: dog}", '{"0": "cat", "1": "dog"}'),
        ("\n- cat\n- dog", '["cat", "dog"]'),
        ("cat", "cat"),
    ],
)
def test_names_may_be_written_otherwise(tmp_path: Path, names: str, expected: str) -> None:
    (tmp_path / "metadata.yaml").write_text(f"names: {names}\n", encoding="utf-8")
    assert outside_metadata(tmp_path / "m.xml", "m")["names"] == expected


@pytest.mark.parametrize("text", ["", "- 1\n", "task: detect\n", "names:\n"])
def test_a_file_without_names_says_nothing_of_them(tmp_path: Path, text: str) -> None:
    (tmp_path / "metadata.yaml").write_text(text, encoding="utf-8")
    assert not {"names", "names_from"} & outside_metadata(tmp_path / "m.xml", "m").keys()


@pytest.mark.parametrize("content", [b"names: {0: [", b"\xff\xfe\x00", b"a: 1\n---\nb: 2\n"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "metadata.yaml").write_bytes(content)
    with pytest.raises(ModelError, match=r"model m: metadata\.yaml beside it can't be read"):
        outside_metadata(tmp_path / "m.xml", "m")


def test_a_model_of_a_folder_has_it_within(tmp_path: Path) -> None:
    folder = tmp_path / "saved_model"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("names: [cat]\n", encoding="utf-8")
    assert outside_metadata(folder, "m")["names"] == '["cat"]'


def test_a_model_with_nothing_beside_it_has_no_metadata(tmp_path: Path) -> None:
    assert outside_metadata(saved(ssd_rows([[0] * 7]), tmp_path), "m") == {}


def test_the_labels_beside_a_model_are_used(tmp_path: Path) -> None:
    path = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    (tmp_path / "metadata.yaml").write_text("names: {0: cat, 1: big dog}\n", encoding="utf-8")
    labels = read_detector(path, DetectorSettings("m")).rule.labels
    assert labels.by_id() == {0: "cat", 1: "big dog"}


@pytest.mark.parametrize("key", ["labels", "names"])
def test_the_labels_in_a_model_win_over_those_beside_it(tmp_path: Path, key: str) -> None:
    graph = ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]])
    graph.set_rt_info("horse cow", ["model_info", key])
    path = saved(graph, tmp_path)
    (tmp_path / "metadata.yaml").write_text("names: {0: cat, 1: big dog}\n", encoding="utf-8")
    assert read_detector(path, DetectorSettings("m")).rule.labels.by_id() == {0: "horse", 1: "cow"}


def test_a_file_of_the_zoo_is_known_by_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    entry = find_model("person-vehicle-bike-detection-crossroad-0078")

    def known(asked: Path) -> ZooEntry | None:
        return entry if asked == path else None

    monkeypatch.setattr(module, "known_file", known)
    labels = read_detector(path, DetectorSettings("m")).rule.labels
    assert labels.by_id() == {1: "person", 2: "vehicle", 3: "bike"}
    assert entry.name in outside_metadata(path, "m")["names_from"]
