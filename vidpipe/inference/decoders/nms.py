"""Non-maximum suppression, within each class, vectorised.

Greedy, best first, as every detector was trained with: a box goes if it overlaps a better one of
its class that stays by more than the threshold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 128
"""Boxes compared with all later ones at a time: bounds the memory, and few boxes take one step."""


def surviving(
    boxes_xyxy: NDArray[np.float64], class_ids: NDArray[np.float64], iou: float
) -> NDArray[np.intp]:
    """Return the indices of the boxes that stay, ascending.

    Args:
        boxes_xyxy: (N, 4) finite, by falling score, with areas above zero.
        class_ids: (N,).
        iou: The overlap above which the lesser box goes, 0..1.
    """
    count = len(boxes_xyxy)
    is_alive = np.ones(count, np.bool_)
    for start in range(0, count, _BLOCK):
        block = np.flatnonzero(is_alive[start : start + _BLOCK]) + start
        rest = np.flatnonzero(is_alive[start:]) + start
        goes = overlaps(boxes_xyxy[block], boxes_xyxy[rest]) > iou
        goes &= class_ids[block, None] == class_ids[rest]
        goes &= rest > block[:, None]
        for row in np.flatnonzero(goes.any(axis=1)).tolist():
            if is_alive[block[row]]:
                is_alive[rest[goes[row]]] = False
    return np.flatnonzero(is_alive)


def overlaps(a_xyxy: NDArray[np.float64], b_xyxy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (A, B) intersections over unions of boxes with areas above zero."""
    a, b = a_xyxy[:, None, :], b_xyxy[None, :, :]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    np.maximum(sides, 0.0, out=sides)
    shared = sides[..., 0] * sides[..., 1]
    union = _areas(a_xyxy)[:, None] + _areas(b_xyxy) - shared
    result: NDArray[np.float64] = shared / union
    return result


def _areas(boxes_xyxy: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = boxes_xyxy[:, 2:] - boxes_xyxy[:, :2]
    result: NDArray[np.float64] = sides[:, 0] * sides[:, 1]
    return result
