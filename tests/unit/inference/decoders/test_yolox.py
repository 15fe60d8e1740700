from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import picture_parameter
from tests.tiny_detectors import found_by, graph_detector, table, tiny_detector

# 64x32 has 8 * 4 + 4 * 2 + 2 * 1 = 42 cells: the map of stride 8 ends at 31, that of 16 at 39.
CELLS = 42
# Cell 11 is column 3 of row 1 at stride 8; cell 37 column 1 of row 1 at stride 16.
ROWS = {
    11: [0.5, 0.25, np.log(2), 0, 0.9, 0.1, 1],
    37: [1, -0.5, np.log(1.5), np.log(0.5), 0.8, 1, 0],
    41: [0, 0, 0, 0, 0.9, 0.2, 0.1],
}
BOXES = [[20, 6, 36, 14], [20, 4, 44, 12]]


def test_a_cell_is_decoded_by_its_place_and_stride(tmp_path: Path) -> None:
    found = found_by(tmp_path, {"output": table(CELLS, 7, ROWS)}, (64, 32), family="yolox")
    np.testing.assert_allclose(found.boxes_xyxy, BOXES, rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.9, 0.8])
    assert found.class_ids.tolist() == [1, 0]


def test_one_class_has_six_columns_too(tmp_path: Path) -> None:
    rows = {"output": table(CELLS, 6, {11: [0.5, 0.25, np.log(2), 0, 0.9, 1]})}
    found = found_by(tmp_path, rows, (64, 32), family="yolox")
    np.testing.assert_allclose(found.boxes_xyxy, BOXES[:1], rtol=1e-5)


def test_models_for_large_pictures_have_a_fourth_map(tmp_path: Path) -> None:
    rows = {"output": table(CELLS + 1, 7, {42: [0.5, 0.25, 0, np.log(0.5), 0.9, 0, 1]})}
    found = found_by(tmp_path, rows, (64, 32), family="yolox")
    # The one cell of stride 64: centre (32, 16), 64 by 32.
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 64, 32]], atol=1e-4)


def test_it_is_letterboxed_in_the_corner_and_unscaled(tmp_path: Path) -> None:
    detector = tiny_detector(tmp_path, {"output": table(CELLS, 7, ROWS)}, (64, 32))
    # 64x64 becomes 32x32 at the left.
    found = detector.infer_once(make_picture(64, 64))
    expected = 2 * np.array(BOXES, float)
    expected[:, 2] = np.minimum(expected[:, 2], 64)
    np.testing.assert_allclose(found.boxes_xyxy, expected, rtol=1e-5)
    about = detector.describe()
    assert about["iou"] == 0.45
    assert (about["input"]["color"], about["input"]["pad"]) == ("bgr", 114)
    assert about["input"]["scale"] == [1.0] * 3


def test_a_graph_that_decodes_itself_is_told_by_its_exponential(tmp_path: Path) -> None:
    image = picture_parameter((1, 3, 32, 64))
    nothing = ops.multiply(ops.reduce_max(image, np.array([0, 1, 2, 3])), np.float32(0))
    centres = ops.constant(table(CELLS, 2, {11: [28, 10]}))
    sizes = ops.exp(ops.constant(table(CELLS, 2, {11: [np.log(16), np.log(8)]})))
    scores = ops.constant(table(CELLS, 3, {11: [0.9, 0.1, 1]}))
    rows = ops.concat([ops.add(centres, nothing), sizes, scores], 2)
    rows.output(0).set_names({"output"})
    graph = ov.Model([ops.result(rows)], [image], "decoded")
    detector = graph_detector(tmp_path, graph)
    assert detector.describe()["family"] == "yolox"
    found = detector.infer_once(make_picture(64, 32))
    np.testing.assert_allclose(found.boxes_xyxy, BOXES[:1], rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 200.0])
@pytest.mark.parametrize("column", range(7))
def test_nonsense_in_one_box_harms_no_other(tmp_path: Path, column: int, value: float) -> None:
    bad = list(ROWS[37])
    bad[column] = value
    rows = {"output": table(CELLS, 7, {11: ROWS[11], 37: bad})}
    found = found_by(tmp_path, rows, (64, 32), family="yolox", labels=("a", "b"))
    assert BOXES[0] in np.round(found.boxes_xyxy).tolist()
