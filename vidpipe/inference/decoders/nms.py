"""Non-maximum suppression within each class.

Greedy, best first, as every detector was trained with: a box goes if it overlaps a better one of
its class that stays by more than the threshold. OpenCV does the work, several times as quickly as
numpy.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

_APART_PX = 4e7
"""More than any two boxes are; times a hundred classes a double still holds a millionth of a pixel.
"""


def surviving(
    boxes_xyxy: NDArray[np.float64], class_ids: NDArray[np.float64], iou: float
) -> NDArray[np.intp]:
    """Return the indices of the boxes that stay, ascending.

    Args:
        boxes_xyxy: (N, 4) within 1e7 of the origin, with areas above zero, by falling score.
        class_ids: (N,).
        iou: The overlap above which the lesser box goes, 0..1.
    """
    if not len(boxes_xyxy):
        return np.zeros(0, np.intp)
    # Classes side by side, each beyond the reach of the others: one call instead of many. In lists
    # of Python's numbers, which OpenCV reads twice as fast as arrays.
    places: dict[float, int] = {}
    rects = [
        (x1 + _APART_PX * places.setdefault(class_id, len(places)), y1, x2 - x1, y2 - y1)
        for (x1, y1, x2, y2), class_id in zip(boxes_xyxy.tolist(), class_ids.tolist(), strict=True)
    ]
    # The boxes are in order and OpenCV's sort is stable: equal scores leave them so.
    kept = cv2.dnn.NMSBoxes(rects, [1.0] * len(rects), 0.0, iou)
    return np.sort(np.asarray(kept, np.intp))
