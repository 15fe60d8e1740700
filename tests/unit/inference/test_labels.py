from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.graphs import fixed_outputs, saved
from tests.model_files import add_onnx_properties, write_onnx_ssd
from vidpipe.errors import ModelError
from vidpipe.inference.coco import coco_labels
from vidpipe.inference.labels import LabelTable, carried_labels, choose_labels, read_labels
from vidpipe.inference.model import read_detector
from vidpipe.inference.settings import DetectorSettings


@pytest.mark.parametrize(
    ("labels", "background_id", "expected"),
    [
        (("a", "b"), None, {0: "a", 1: "b", 2: "class-2"}),
        (("a", "b"), 0, {0: "class-0", 1: "a", 2: "b"}),
        (("background", "a", "b"), 0, {0: "background", 1: "a", 2: "b"}),
        (("Background", "a"), None, {0: "Background", 1: "a"}),
        (("a", "b"), -1, {0: "a", 1: "b"}),
        (("background", "a", "b"), -1, {0: "a", 1: "b"}),
        ({3: "a", 7: "b"}, 0, {3: "a", 7: "b", 4: "class-4"}),
        ((), 0, {1: "class-1"}),
        (("", "b"), None, {0: "class-0", 1: "b"}),
    ],
)
def test_a_list_begins_at_the_first_class_that_is_not_the_background(
    labels: tuple[str, ...] | dict[int, str], background_id: int | None, expected: dict[int, str]
) -> None:
    table = LabelTable(labels, background_id=background_id)
    assert {key: table.name(key) for key in expected} == expected


def test_all_ids_of_a_name_are_kept() -> None:
    table = LabelTable(("car", "person", "car"))
    assert table.kept_ids(("car",), "m") == frozenset({0, 2})
    assert table.kept_ids((), "m") is None
    assert table.kept_ids(("class-9",), "m") == frozenset({9})


@pytest.mark.parametrize(
    ("labels", "said"),
    [(("person", "car"), "did you mean 'person'"), ((), "carries no labels")],
)
def test_a_class_that_is_no_label_is_an_error_that_helps(
    labels: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        LabelTable(labels).kept_ids(("persn",), "m")


@pytest.mark.parametrize(
    ("name", "kept"),
    [("motorcycle", 3), ("motorbike", 3), ("tv", 62), ("dining table", 60), ("person", 0)],
)
def test_classes_of_coco_are_kept_by_either_spelling(name: str, kept: int) -> None:
    assert LabelTable(coco_labels(80)).kept_ids((name,), "m") == frozenset({kept})
    official = ("person", "motorcycle", "tv")
    assert LabelTable(official).kept_ids(("tvmonitor",), "m") == frozenset({2})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["traffic light", "Größe"]', ("traffic light", "Größe")),
        ("person car", ("person", "car")),
        ("", ()),
        ("7", ("7",)),
        ('"traffic light"', ("traffic light",)),
        ("['cat', \"dog's\"]", ("cat", "dog's")),
        ('{"1": "person", "3": "big bike"}', {1: "person", 3: "big bike"}),
        ("{0: 'person', 1: \"dog's\"}", {0: "person", 1: "dog's"}),
        ("{'a': 'b'}", ()),
        ("[" * 5000, ()),
        ('{0: "pers', ()),
        ("__import__('os').getcwd()", ("__import__('os').getcwd()",)),
    ],
)
@pytest.mark.parametrize("key", ["labels", "names"])
def test_what_is_said_of_a_model_is_read_as_json_a_literal_or_words(
    key: str, text: str, expected: tuple[str, ...] | dict[int, str]
) -> None:
    assert carried_labels({key: text} if text else {}) == expected


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ("traffic_light dog", "{0: 'traffic light', 1: 'dog'}", {0: "traffic light", 1: "dog"}),
        ("cat dog", "{0: 'horse', 1: 'cow'}", ("cat", "dog")),
        ("cat dog", "{0: 'cat'}", ("cat", "dog")),
    ],
)
def test_of_two_lists_the_one_that_says_the_same_with_spaces_is_taken(
    labels: str, names: str, expected: tuple[str, ...] | dict[int, str]
) -> None:
    assert carried_labels({"labels": labels, "names": names}) == expected


def test_words_of_coco_get_their_spaces_back() -> None:
    words = " ".join(name.replace(" ", "_") for name in coco_labels(80))
    assert carried_labels({"labels": words}) == coco_labels(80)
    assert carried_labels({"labels": "big_dog"}) == ("big_dog",)


@pytest.mark.parametrize(
    ("given", "metadata", "family", "expected", "origin"),
    [
        (("a",), {"labels": "b"}, ("c",), ("a",), "the key labels"),
        ((), {"labels": "b"}, ("c",), ("b",), "the model's file"),
        ((), {"names": "b", "names_from": "x"}, (), ("b",), "x"),
        ((), {}, ("face",), ("face",), "the family"),
        ((), {}, (), (), ""),
    ],
)
def test_labels_come_from_the_first_who_knows_them(
    given: tuple[str, ...],
    metadata: dict[str, str],
    family: tuple[str, ...],
    expected: tuple[str, ...],
    origin: str,
) -> None:
    chosen = choose_labels(given, metadata, 1, family)
    assert (chosen.labels, chosen.origin, chosen.complaint) == (expected, origin, "")


@pytest.mark.parametrize(
    ("count", "background_id", "expected"),
    [
        (80, None, {0: "person", 2: "car", 79: "toothbrush"}),
        (80, 0, {1: "person", 80: "toothbrush"}),
        (90, -1, {0: "person", 2: "car", 11: "class-11", 12: "stop sign", 89: "toothbrush"}),
        (90, 0, {1: "person", 90: "toothbrush", 0: "class-0"}),
        (91, None, {1: "person", 13: "stop sign", 12: "class-12", 90: "toothbrush"}),
    ],
)
def test_a_model_of_as_many_classes_as_coco_finds_its_classes(
    count: int, background_id: int | None, expected: dict[int, str]
) -> None:
    chosen = choose_labels((), {}, count)
    table = LabelTable(chosen.labels, background_id=background_id)
    assert {key: table.name(key) for key in expected} == expected
    assert f"{count} classes" in chosen.origin


@pytest.mark.parametrize(
    ("labels", "count", "said"),
    [
        (("a", "b"), 2, ""),
        (("a", "b"), None, ""),
        (("background", "a", "b"), 2, ""),
        (("background", "a"), 2, ""),
        ({1: "a", 2: "b"}, 2, ""),
        (("a", "b"), 3, "2 labels (from the key labels) for 3 classes: what has no label is"),
        (("a", "b", "c"), 2, "3 labels (from the key labels) for 2 classes: names may belong"),
        ({1: "a"}, 2, "1 labels (from the key labels) for 2 classes"),
    ],
)
def test_a_wrong_number_of_labels_is_told(
    labels: tuple[str, ...] | dict[int, str], count: int | None, said: str
) -> None:
    complaint = choose_labels(labels, {}, count).complaint
    assert complaint.startswith(said)
    assert bool(complaint) == bool(said)


def test_a_wrong_number_of_labels_is_logged_with_the_model(
    tmp_path: Path, log_lines: list[str]
) -> None:
    outputs = {
        "detection_boxes": np.zeros((1, 5, 4)),
        "detection_scores": np.zeros((1, 5)),
        "detection_classes": np.zeros((1, 5)),
        "num_detections": np.zeros(1),
        "detection_multiclass_scores": np.zeros((1, 5, 4)),
    }
    path = saved(fixed_outputs(outputs), tmp_path)
    read_detector(path, DetectorSettings("street", labels=("cat", "dog")))
    assert any("model street: 2 labels" in line and "3 classes" in line for line in log_lines)
    log_lines.clear()
    read_detector(path, DetectorSettings("street", labels=("cat", "dog", "cow")))
    assert log_lines == []


def test_the_properties_of_an_onnx_file_name_its_classes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    write_onnx_ssd(path, [[0, 1, 0.9, 0, 0, 1, 1]], (1, 3, 24, 32))
    add_onnx_properties(path, {"names": "{0: 'cat', 1: 'big dog'}", "task": "detect"})
    detector = read_detector(path, DetectorSettings("m"))
    assert detector.rule.labels.by_id() == {0: "cat", 1: "big dog"}
    assert detector.signature.metadata["task"] == "detect"


def test_a_labels_file_has_one_name_a_line(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffперсона\r\ntraffic light\r\n\r\n".encode())
    assert read_labels(path) == ("персона", "traffic light")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe\x00\x80"])
def test_a_labels_file_without_names_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"names\.txt"):
        read_labels(path)


def test_a_missing_labels_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        read_labels(tmp_path / "none.txt")
