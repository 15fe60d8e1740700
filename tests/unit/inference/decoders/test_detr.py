from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import picture_parameter
from tests.tiny_detectors import found_by, graph_detector, table, tiny_detector
from vidpipe.errors import ModelError


def test_a_table_of_centres_in_fractions(tmp_path: Path) -> None:
    rows = {0: [0.5, 0.5, 0.25, 0.5, 0, 0, 0, 0.9], 7: [0.25, 0.25, 0.5, 0.5, 0.6, 0.1, 0, 0]}
    found = found_by(tmp_path, {"output0": table(300, 8, rows)}, (64, 32), family="rt-detr")
    np.testing.assert_allclose(found.boxes_xyxy, [[24, 8, 40, 24], [0, 0, 32, 16]])
    np.testing.assert_allclose(found.scores, [0.9, 0.6])
    assert found.class_ids.tolist() == [3, 0]


def lists(size_name: str = "orig_target_sizes") -> ov.Model:
    """Return a detector of the authors' kind: boxes are fractions of the size that it is given."""
    image = picture_parameter((1, 3, 32, 64))
    size = ops.parameter(ov.PartialShape([1, 2]), ov.Type.i64, name=size_name)
    size.output(0).set_names({size_name})
    nothing = ops.multiply(ops.reduce_max(image, np.array([0, 1, 2, 3])), np.float32(0))
    fractions = table(300, 4, {0: [0.25, 0.5, 0.5, 1], 1: [0, 0, 1, 1]})
    wh = ops.convert(ops.tile(size, np.array([1, 2])), ov.Type.f32)
    boxes = ops.add(ops.multiply(ops.constant(fractions), ops.unsqueeze(wh, np.array(1))), nothing)
    scores = np.zeros((1, 300), np.float32)
    labels = np.zeros((1, 300), np.int64)
    scores[0, :2], labels[0, :2] = (0.9, 0.5), (7, 3)
    outputs = {
        "labels": ops.add(ops.constant(labels), ops.convert(nothing, ov.Type.i64)),
        "boxes": boxes,
        "scores": ops.add(ops.constant(scores), nothing),
    }
    for name, node in outputs.items():
        node.output(0).set_names({name})
    results = [ops.result(node) for node in outputs.values()]
    return ov.Model(results, [image, size], "authors")


@pytest.mark.parametrize("size_name", ["orig_target_sizes", "sizes"])
def test_lists_come_in_the_pixels_of_the_size_that_is_given(tmp_path: Path, size_name: str) -> None:
    detector = graph_detector(tmp_path, lists(size_name))
    assert detector.describe()["family"] == "rt-detr"
    found = detector.infer_once(make_picture(640, 320))
    np.testing.assert_allclose(found.boxes_xyxy, [[160, 160, 320, 320], [0, 0, 640, 320]])
    np.testing.assert_allclose(found.scores, [0.9, 0.5])
    assert found.class_ids.tolist() == [7, 3]


def logits() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    values = np.full((1, 300, 3), -9, np.float32)
    values[0, 0] = [np.log(9), np.log(4), -9]
    values[0, 1] = [-9, -9, np.log(0.25)]
    return {"logits": values, "pred_boxes": table(300, 4, {0: [0.5, 0.5, 0.25, 0.5]})}


def test_logits_are_sigmoids_and_a_query_may_have_two_classes(tmp_path: Path) -> None:
    found = found_by(tmp_path, logits(), (64, 32), family="rt-detr")
    np.testing.assert_allclose(found.boxes_xyxy, [[24, 8, 40, 24]] * 2)
    np.testing.assert_allclose(found.scores, [0.9, 0.8], rtol=1e-5)
    assert found.class_ids.tolist() == [0, 1]


@pytest.mark.parametrize(("confidence", "count"), [(0.0, 300), (0.9, 1), (1.0, 0)])
def test_the_confidence_may_be_at_its_ends(tmp_path: Path, confidence: float, count: int) -> None:
    outputs = logits()
    outputs["pred_boxes"][0, 1:] = [0.5, 0.5, 0.5, 0.5]
    outputs["logits"][0, 0, 0] = np.log(9.01)
    detector = tiny_detector(tmp_path, outputs, (64, 32), confidence=confidence)
    assert len(detector.infer_once(make_picture(64, 32))) == count


def test_another_number_of_queries_is_taken_on_the_users_word(tmp_path: Path) -> None:
    """The first DETR has 100, a class for nothing, and other pixels."""
    outputs = {name: values[:, :100] for name, values in logits().items()}
    with pytest.raises(ModelError, match="decoder: rt-detr"):
        tiny_detector(tmp_path, outputs, (64, 32))
    assert len(found_by(tmp_path, outputs, (64, 32), family="rt-detr", decoder="d-fine")) == 2


def test_its_pixels_are_stretched_rgb_in_0_to_1(tmp_path: Path) -> None:
    about = tiny_detector(tmp_path, logits(), (64, 32)).describe()
    shown = {key: about["input"][key] for key in ("color", "resize", "scale")}
    assert shown == {"color": "rgb", "resize": "stretch", "scale": [255.0] * 3}
    assert about["iou"] == 1.0
