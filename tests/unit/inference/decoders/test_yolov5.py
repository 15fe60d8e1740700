from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.tiny_detectors import found_by, table

# 64x64 has 84 cells, with three boxes each.
BOXES = 3 * 84


def test_a_score_is_objectness_times_class(tmp_path: Path) -> None:
    rows = {
        3: [20, 30, 16, 8, 0.5, 0.2, 0.9],
        70: [40, 40, 20, 20, 0.9, 0.8, 0.1],
        80: [9, 9, 4, 4, 0.9, 0.2, 0.2],
        90: [9, 9, 4, 4, 0.2, 1, 1],
    }
    found = found_by(tmp_path, {"out": table(BOXES, 7, rows)}, (64, 64), family="yolov5")
    np.testing.assert_allclose(found.boxes_xyxy, [[30, 30, 50, 50], [12, 26, 28, 34]])
    np.testing.assert_allclose(found.scores, [0.72, 0.45])
    assert found.class_ids.tolist() == [0, 1]


def test_one_class_has_six_columns_too(tmp_path: Path) -> None:
    rows = {"out": table(BOXES, 6, {3: [20, 30, 16, 8, 0.5, 0.9]})}
    found = found_by(tmp_path, rows, (64, 64), family="yolov5")
    np.testing.assert_allclose(found.scores, [0.45])


def test_raw_heads_beside_the_table_are_passed_over(tmp_path: Path) -> None:
    outputs = {
        "out": table(BOXES, 7, {3: [20, 30, 16, 8, 0.5, 0.2, 0.9]}),
        "p3": np.ones((1, 3, 8, 8, 7), np.float32),
        "p4": np.ones((1, 3, 4, 4, 7), np.float32),
    }
    assert len(found_by(tmp_path, outputs, (64, 64), family="yolov5")) == 1


def test_models_for_large_pictures_have_a_fourth_map(tmp_path: Path) -> None:
    rows = {"out": table(3 * 85, 7, {254: [20, 30, 16, 8, 0.5, 0.2, 0.9]})}
    assert len(found_by(tmp_path, rows, (64, 64), family="yolov5")) == 1


def test_boxes_that_overlap_are_one(tmp_path: Path) -> None:
    rows = {3: [20, 30, 16, 8, 0.5, 0.2, 0.9], 4: [20, 30, 16, 7, 0.5, 0.2, 0.8]}
    found = found_by(tmp_path, {"out": table(BOXES, 7, rows)}, (64, 64), family="yolov5")
    np.testing.assert_allclose(found.scores, [0.45])
