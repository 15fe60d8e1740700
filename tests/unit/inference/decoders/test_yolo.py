from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import make_picture
from tests.tiny_detectors import found_by, table, tiny_detector

# 64x64 has 8 * 8 + 4 * 4 + 2 * 2 = 84 cells.
CELLS = 84
ROWS = {3: [20, 30, 16, 8, 0.1, 0.9], 70: [40, 40, 20, 20, 0.6, 0.2], 80: [9, 9, 4, 4, 0.2, 0.2]}


def test_a_column_is_centre_and_size_and_scores(tmp_path: Path) -> None:
    columns = table(CELLS, 6, ROWS).transpose(0, 2, 1)
    found = found_by(tmp_path, {"output0": columns}, (64, 64), family="yolo")
    np.testing.assert_allclose(found.boxes_xyxy, [[12, 26, 28, 34], [30, 30, 50, 50]])
    np.testing.assert_allclose(found.scores, [0.9, 0.6])
    assert found.class_ids.tolist() == [1, 0]


def test_a_row_a_box_is_the_same_where_the_labels_say_it(tmp_path: Path) -> None:
    rows = {"output0": table(CELLS, 6, ROWS)}
    found = found_by(tmp_path, rows, (64, 64), family="yolo", labels=("car", "person"))
    np.testing.assert_allclose(found.boxes_xyxy, [[12, 26, 28, 34], [30, 30, 50, 50]])
    assert found.labels == ("person", "car")


def test_fractions_of_the_input_are_told_from_pixels(tmp_path: Path) -> None:
    columns = table(CELLS, 6, {3: [0.5, 0.25, 0.5, 0.25, 0.1, 0.9]}).transpose(0, 2, 1)
    found = found_by(tmp_path, {"output0": columns}, (64, 64), family="yolo")
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 8, 48, 24]])


def test_a_tiny_box_in_the_corner_is_no_fraction_where_others_reach_across(tmp_path: Path) -> None:
    rows = {3: [1, 1, 1, 1, 0.1, 0.9], 9: [60.0, 60, 8, 8, 0, 0]}
    columns = table(CELLS, 6, rows).transpose(0, 2, 1)
    found = found_by(tmp_path, {"output0": columns}, (64, 64), family="yolo")
    np.testing.assert_allclose(found.boxes_xyxy, [[0.5, 0.5, 1.5, 1.5]])


def test_it_is_letterboxed_in_the_middle(tmp_path: Path) -> None:
    columns = table(CELLS, 6, {3: [32, 32, 16, 8, 0.1, 0.9]}).transpose(0, 2, 1)
    detector = tiny_detector(tmp_path, {"output0": columns}, (64, 64))
    # 128x64 becomes 64x32, with 16 rows above it.
    found = detector.infer_once(make_picture(128, 64))
    np.testing.assert_allclose(found.boxes_xyxy, [[48, 24, 80, 40]])
    about = detector.describe()
    assert about["iou"] == 0.7
    assert about["input"]["pad"] == 114
    assert (about["input"]["color"], about["input"]["scale"]) == ("rgb", [255.0] * 3)


def test_masks_behind_the_classes_are_no_classes(tmp_path: Path) -> None:
    # Two classes and three numbers a mask, of which the last is large.
    columns = table(CELLS, 9, {3: [20, 30, 16, 8, 0.1, 0.9, 0, 0, 5]}).transpose(0, 2, 1)
    masks = np.zeros((1, 3, 16, 16), np.float32)
    found = found_by(tmp_path, {"output0": columns, "output1": masks}, (64, 64), family="yolo")
    np.testing.assert_allclose(found.scores, [0.9])
    assert found.class_ids.tolist() == [1]


def test_one_class_is_enough(tmp_path: Path) -> None:
    columns = table(CELLS, 5, {3: [20, 30, 16, 8, 0.9]}).transpose(0, 2, 1)
    found = found_by(tmp_path, {"output0": columns}, (64, 64), family="yolo")
    assert found.class_ids.tolist() == [0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", range(6))
def test_nonsense_in_one_box_harms_no_other(tmp_path: Path, column: int, value: float) -> None:
    bad = [40.0, 40, 20, 20, 0.6, 0.2]
    bad[column] = value
    columns = table(CELLS, 6, {3: ROWS[3], 70: bad}).transpose(0, 2, 1)
    found = found_by(tmp_path, {"output0": columns}, (64, 64), family="yolo")
    np.testing.assert_allclose(found.boxes_xyxy[0], [12, 26, 28, 34])
    is_harmless = column >= 4 and value == -np.inf and column == 5
    assert len(found) == 1 + is_harmless
