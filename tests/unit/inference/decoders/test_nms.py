from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vidpipe.inference.decoders.nms import overlaps, surviving


def plainly(boxes: NDArray[np.float64], ids: NDArray[np.float64], iou: float) -> list[int]:
    """The definition, box by box."""
    kept: list[int] = []
    for i in range(len(boxes)):
        rivals = [j for j in kept if ids[j] == ids[i]]
        if all(overlaps(boxes[[j]], boxes[[i]])[0, 0] <= iou for j in rivals):
            kept.append(i)
    return kept


def test_overlap_is_intersection_over_union() -> None:
    a = np.array([[0.0, 0, 10, 10]])
    b = np.array([[0.0, 0, 10, 10], [5, 0, 15, 10], [10, 0, 20, 10], [2, 2, 4, 4]])
    np.testing.assert_allclose(overlaps(a, b), [[1, 1 / 3, 0, 0.04]])


@pytest.mark.parametrize("count", [0, 1, 2, 20, 127, 128, 129, 400])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("iou", [0.0, 0.3, 0.6, 1.0])
def test_blocks_give_what_the_definition_gives(count: int, classes: int, iou: float) -> None:
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
