from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vidpipe.inference.decoders.nms import surviving


def overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Intersection over union."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    shared = float(sides.prod())
    return shared / (float((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod()) - shared)


def plainly(boxes: NDArray[np.float64], ids: NDArray[np.float64], iou: float) -> list[int]:
    """The definition, box by box."""
    kept: list[int] = []
    for i in range(len(boxes)):
        rivals = [j for j in kept if ids[j] == ids[i]]
        if all(overlap(boxes[j], boxes[i]) <= iou for j in rivals):
            kept.append(i)
    return kept


@pytest.mark.parametrize("count", [0, 1, 2, 20, 127, 128, 129, 400])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("iou", [0.0, 0.3, 0.6, 0.9])
def test_the_survivors_are_those_of_the_definition(count: int, classes: int, iou: float) -> None:
    rng = np.random.default_rng(count * 10 + classes)
    corner = rng.uniform(0, 60, (count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(5, 40, (count, 2))], axis=1)
    ids = rng.integers(0, classes, count).astype(np.float64)
    assert surviving(boxes, ids, iou).tolist() == plainly(boxes, ids, iou)


def test_a_box_that_went_suppresses_no_other() -> None:
    boxes = np.array([[0.0, 0, 10, 10], [4, 0, 14, 10], [8, 0, 18, 10]])
    assert surviving(boxes, np.zeros(3), 0.3).tolist() == [0, 2]


def test_boxes_of_other_classes_stay() -> None:
    boxes = np.array([[0.0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10]])
    assert surviving(boxes, np.array([0.0, 1, 0]), 0.5).tolist() == [0, 1]


def test_the_first_of_many_stays() -> None:
    boxes = np.array([[0.0, 0, 10, 10 + index / 100] for index in range(30)])
    assert surviving(boxes, np.zeros(30), 0.5).tolist() == [0]
