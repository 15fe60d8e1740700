from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vidpipe.apps.truth import read_truth
from vidpipe.errors import UsageError

COCO: dict[str, Any] = {
    "images": [{"id": 7, "file_name": "a/one.jpg"}, {"id": 8, "file_name": "two.jpg"}],
    "categories": [{"id": 3, "name": "person"}],
    "annotations": [
        {"image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40]},
        {"image_id": 7, "category_id": 3, "bbox": [0, 0, 90, 90], "iscrowd": 1},
    ],
}
LINE: dict[str, Any] = {
    "stream": "gate",
    "frame": 12,
    "detections": [{"label": "car", "class_id": 0, "score": 0.5, "box": [1, 2, 3, 4]}],
    "error": None,
}


def write(folder: Path, text: str) -> Path:
    path = folder / "labels.json"
    path.write_text(text, "utf-8")
    return path


def test_coco_is_read_with_its_empty_pictures_and_without_crowds(tmp_path: Path) -> None:
    one, two = read_truth(write(tmp_path, json.dumps(COCO)))
    assert (one.source, one.number, one.is_picture) == ("a/one.jpg", 0, True)
    assert one.truth.boxes_xyxy.tolist() == [[10, 20, 40, 60]]
    assert one.truth.labels == ("person",)
    assert (two.source, len(two.truth)) == ("two.jpg", 0)


def test_lines_are_read_as_they_are_written(tmp_path: Path) -> None:
    failed = {**LINE, "frame": 13, "error": "no answer", "detections": []}
    empty = {**LINE, "frame": 14, "detections": []}
    text = "\n".join([json.dumps(LINE), json.dumps(failed), "", json.dumps(empty)])
    frames = read_truth(write(tmp_path, text))
    assert [(frame.source, frame.number, len(frame.truth)) for frame in frames] == [
        ("gate", 12, 1),
        ("gate", 14, 0),
    ]
    assert frames[0].truth.boxes_xyxy.tolist() == [[1, 2, 3, 4]]
    assert not frames[0].is_picture


def test_a_single_line_is_no_coco(tmp_path: Path) -> None:
    (frame,) = read_truth(write(tmp_path, json.dumps(LINE)))
    assert frame.source == "gate"


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "[1, 2]",
        "{}",
        json.dumps({**LINE, "detections": [{"label": "car"}]}),
        json.dumps({**LINE, "detections": [{"label": "car", "box": [1, 2, 3]}]}),
        json.dumps({**COCO, "annotations": [{"image_id": 7, "category_id": 9, "bbox": [0] * 4}]}),
        json.dumps({**COCO, "annotations": [{"image_id": 7, "category_id": 3, "bbox": "x"}]}),
    ],
)
def test_a_file_of_another_kind_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"labels .*labels\.json: .*COCO's JSON"):
        read_truth(write(tmp_path, text))


def test_labels_without_an_object_are_none(tmp_path: Path) -> None:
    for text in ("", json.dumps({**LINE, "detections": []})):
        with pytest.raises(UsageError, match="no object"):
            read_truth(write(tmp_path, text))


def test_a_file_that_is_missing_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read: No such file"):
        read_truth(tmp_path / "none.json")
    (tmp_path / "labels.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="can't be read: it is not UTF-8"):
        read_truth(tmp_path / "labels.json")
