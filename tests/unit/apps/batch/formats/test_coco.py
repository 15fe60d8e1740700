from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.batch_results import make_entry, make_found, make_outcome, make_result_file, make_summary
from vidpipe.apps.batch.formats.coco import write_coco
from vidpipe.apps.batch.formats.results import FileState

LABELS = ("person", "bicycle", "car")


def coco_of(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def two_files(folder: Path) -> Any:
    car = make_found("car", (0.0, 1.0, 10.5, 21.0), class_id=2, score=0.5, track_id=4)
    first = make_result_file(
        folder, [make_entry(0, make_found(), car), make_entry(1)], stem="a.mp4", labels=LABELS
    )
    second = make_result_file(folder, [make_entry(0, car)], stem="b.jpg", labels=LABELS)
    return make_summary(folder, first, second)


def test_boxes_are_left_top_width_and_height(tmp_path: Path) -> None:
    (path,) = write_coco(two_files(tmp_path))
    assert path == tmp_path / "coco.json"
    document = coco_of(path)
    assert [one["id"] for one in document["images"]] == [1, 2, 3]
    assert document["images"][1] == {
        "id": 2,
        "file_name": "a.mp4/00000001.jpg",
        "width": 64,
        "height": 48,
        "video_id": 1,
        "frame_id": 1,
        "pts": 0.04,
    }
    assert document["images"][2] == {"id": 3, "file_name": "b.jpg", "width": 64, "height": 48}
    assert document["annotations"][1] == {
        "id": 2,
        "image_id": 1,
        "category_id": 3,
        "bbox": [0.0, 1.0, 10.5, 20.0],
        "area": 210.0,
        "iscrowd": 0,
        "segmentation": [],
        "score": 0.5,
        "track_id": 4,
    }
    assert [one["name"] for one in document["categories"]] == list(LABELS)
    assert [one["name"] for one in document["videos"]] == ["a.mp4"]


def test_cocos_own_reader_takes_it(tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    evaluation = pytest.importorskip("pycocotools.cocoeval")
    (path,) = write_coco(two_files(tmp_path))
    truth = coco.COCO(str(path))
    assert sorted(truth.getImgIds(catIds=truth.getCatIds(["car"]))) == [1, 3]
    own = [
        {key: one[key] for key in ("image_id", "category_id", "bbox", "score")}
        for one in truth.dataset["annotations"]
    ]
    judge = evaluation.COCOeval(truth, truth.loadRes(own), "bbox")
    judge.evaluate()
    judge.accumulate()
    judge.summarize()
    assert judge.stats[0] == pytest.approx(1.0)


def test_a_frame_without_an_answer_is_no_image(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0, error="failed"), make_entry(1)])
    (path,) = write_coco(make_summary(tmp_path, result))
    assert [one["frame_id"] for one in coco_of(path)["images"]] == [1]


def test_files_that_failed_are_left_out(tmp_path: Path) -> None:
    result = make_result_file(tmp_path, [make_entry(0)])
    failed = make_outcome(result, state=FileState.FAILED)
    (path,) = write_coco(make_summary(tmp_path, files=[failed]))
    assert coco_of(path)["images"] == coco_of(path)["videos"] == []


def test_odd_labels_and_sizes_are_kept(tmp_path: Path) -> None:
    found = [
        make_found('a "b", c\n=d', class_id=5),
        make_found("é 人", class_id=5),
        make_found("none", class_id=-1),
        make_found("é 人", class_id=0),
    ]
    entry = make_entry(0, *found, width=None, height=None, pts=None, stream="ü.mp4")
    (path,) = write_coco(make_summary(tmp_path, make_result_file(tmp_path, [entry], stem="ü.mp4")))
    document = coco_of(path)
    assert "width" not in document["images"][0]
    assert document["images"][0]["pts"] is None
    ids = [one["id"] for one in document["categories"]]
    assert len(set(ids)) == 4
    assert min(ids) > 0
    named = {one["id"]: (one["class_id"], one["name"]) for one in document["categories"]}
    for one, annotation in zip(found, document["annotations"], strict=True):
        assert named[annotation["category_id"]] == (one["class_id"], one["label"])


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        (path,) = write_coco(two_files(tmp_path / name))
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_a_run_without_files_is_a_valid_document(tmp_path: Path) -> None:
    (path,) = write_coco(make_summary(tmp_path))
    document = coco_of(path)
    assert document["images"] == document["annotations"] == document["categories"] == []
    assert list(tmp_path.iterdir()) == [path]


def test_memory_does_not_grow_with_the_results(tmp_path: Path) -> None:
    boxes = [make_found(box=(x, 0, x + 5, 9)) for x in range(8)]
    result = make_result_file(tmp_path, (make_entry(n, *boxes) for n in range(4000)))
    summary = make_summary(tmp_path, result)
    tracemalloc.start()
    try:
        (path,) = write_coco(summary)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 5_000_000
    assert peak < 1_500_000
