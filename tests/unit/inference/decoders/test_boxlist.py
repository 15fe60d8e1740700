from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from numpy.typing import ArrayLike
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import picture_parameter
from tests.tiny_detectors import found_by, graph_detector, tiny_detector
from vidpipe.errors import InferenceError, ModelError

BOXES = np.array([[4, 8, 20, 24, 0.6], [0, 0, 32, 16, 0.9], [0, 0, 9, 9, 0.1]], np.float32)
LABELS = np.array([2, 0, 1], np.int64)


def test_boxes_and_labels_belong_together(tmp_path: Path) -> None:
    outputs: dict[str, ArrayLike] = {"boxes": BOXES, "labels": LABELS}
    found = found_by(tmp_path, outputs, (64, 32), family="omz-boxes")
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 32, 16], [4, 8, 20, 24]])
    np.testing.assert_allclose(found.scores, [0.9, 0.6])
    assert found.class_ids.tolist() == [0, 2]


def test_the_lists_may_have_another_length_each_time(tmp_path: Path) -> None:
    image = picture_parameter((1, 3, 32, 64))
    mean = ops.reduce_mean(image, np.array([0, 1, 2, 3]))
    count = ops.unsqueeze(ops.convert(ops.divide(mean, np.float32(60)), ov.Type.i64), np.array(0))
    start, step = np.array([0]), np.array([1])
    boxes = ops.slice(ops.constant(BOXES), start, count, step, np.array([0]))
    labels = ops.slice(ops.constant(LABELS), start, count, step, np.array([0]))
    for node, name in ((boxes, "boxes"), (labels, "labels")):
        node.output(0).set_names({name})
    graph = ov.Model([ops.result(boxes), ops.result(labels)], [image], "lists")
    detector = graph_detector(tmp_path, graph)
    counts = [len(detector.infer_once(make_picture(64, 32, luma=luma))) for luma in (16, 80, 150)]
    assert counts == [0, 1, 2]


def test_lists_of_different_lengths_are_an_error(tmp_path: Path) -> None:
    outputs: dict[str, ArrayLike] = {"boxes": BOXES, "labels": LABELS[:2]}
    detector = tiny_detector(tmp_path, outputs, (64, 32))
    with pytest.raises(InferenceError, match="3 boxes and 2 labels"):
        detector.infer_once(make_picture(64, 32))


def test_lists_with_a_batch_are_taken_on_the_users_word(tmp_path: Path) -> None:
    outputs: dict[str, ArrayLike] = {"dets": BOXES[None], "labels": LABELS[None]}
    with pytest.raises(ModelError, match="decoder: omz-boxes"):
        tiny_detector(tmp_path, outputs, (64, 32))
    found = found_by(tmp_path, outputs, (64, 32), family="omz-boxes", decoder="omz-boxes")
    np.testing.assert_allclose(found.scores, [0.9, 0.6])
