"""Non-maximum suppression within each class.

Greedy, best first, as every detector was trained with: a box goes if it overlaps a better one of
its class that stays by more than the threshold. OpenCV does the work, several times as quickly as
numpy.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

_EXACT = 1e9
"""Up to here a double holds a coordinate to a ten-millionth of a pixel."""


def surviving(
    boxes_xyxy: NDArray[np.float64], class_ids: NDArray[np.float64], iou: float
) -> NDArray[np.intp]:
    """Return the indices of the boxes that stay, ascending.

    Args:
        boxes_xyxy: (N, 4) finite, with areas above zero, by falling score.
        class_ids: (N,).
        iou: The overlap above which the lesser box goes, 0..1.
    """
    if not len(boxes_xyxy):
        return np.zeros(0, np.intp)
    boxes_xywh = boxes_xyxy.copy()
    boxes_xywh[:, 2:] -= boxes_xyxy[:, :2]
    if class_ids.min() < class_ids.max():
        # Classes side by side, each beyond the reach of the others: one call instead of many.
        span = float(boxes_xyxy.max() - boxes_xyxy.min()) + 1
        is_far = float(np.abs(class_ids).max()) * span > _EXACT
        places = np.unique(class_ids, return_inverse=True)[1] if is_far else class_ids
        boxes_xywh[:, 0] += places * span
    # The boxes are in order and OpenCV's sort is stable: equal scores leave them so. It reads lists
    # of Python's numbers twice as fast as arrays.
    scores = [1.0] * len(boxes_xywh)
    kept = cv2.dnn.NMSBoxes(boxes_xywh.tolist(), scores, 0.0, iou)
    return np.sort(np.asarray(kept, np.intp))
