"""The last step of every decoder: nonsense dropped, best first, overlap resolved, frame pixels."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.decoders.family import DecodeRule
from vidpipe.inference.decoders.nms import surviving
from vidpipe.inference.geometry import Geometry
from vidpipe.types import NO_DETECTIONS, Detections

_MOST_CLASSES = 1 << 31
_FARTHEST_PX = 1e7
"""Boxes that reach beyond this are nonsense; their areas would overflow later."""


def finish(
    boxes_xyxy: NDArray[np.float64],
    scores: NDArray[np.float64],
    class_ids: NDArray[np.float64],
    geometry: Geometry,
    rule: DecodeRule,
) -> Detections:
    """Return the detections among candidates: clipped to the frame, by falling score, stable.

    Dropped are boxes with a coordinate, score or class that is no finite number, with no area
    within the frame, with a negative class, below the confidence, of a class not kept, or that
    overlap a better one of their class. Scores above 1 become 1.

    Args:
        boxes_xyxy: (N, 4) in input pixels.
        scores: (N,).
        class_ids: (N,) whole numbers, in floating point so that nonsense survives until here.
        geometry: Where the frame lies in the input.
        rule: What is kept.
    """
    order = np.array(_sensible(boxes_xyxy, scores, class_ids, rule), np.intp)
    if rule.iou < 1 and len(order) > 1:
        order = order[surviving(boxes_xyxy[order], class_ids[order], rule.iou)]
    boxes = geometry.boxes_to_frame(boxes_xyxy[order]).astype(np.float32)
    has_area = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    if not has_area.all():
        boxes, order = boxes[has_area], order[has_area]
    if not len(order):
        return NO_DETECTIONS
    ids = class_ids[order].astype(np.int32)
    return Detections(
        boxes_xyxy=boxes,
        scores=np.minimum(scores[order], 1.0).astype(np.float32),
        class_ids=ids,
        labels=rule.labels.names(ids.tolist()),
    )


def _sensible(
    boxes_xyxy: NDArray[np.float64],
    scores: NDArray[np.float64],
    class_ids: NDArray[np.float64],
    rule: DecodeRule,
) -> list[int]:
    """Return the indices of the candidates that make sense, by falling score, stable.

    In plain Python, since candidates are few: 20 take 10 us, and a dozen calls of numpy 25. Every
    comparison with NaN is false, so each is put so that false drops the box.
    """
    confidence, kept_ids, far = rule.confidence, rule.kept_ids, _FARTHEST_PX
    all_scores = scores.tolist()
    found = [
        index
        for index, ((x1, y1, x2, y2), score, class_id) in enumerate(
            zip(boxes_xyxy.tolist(), all_scores, class_ids.tolist(), strict=True)
        )
        if -far < x1 < x2 < far
        and -far < y1 < y2 < far
        and confidence <= score < inf
        and 0 <= class_id < _MOST_CLASSES
        and (kept_ids is None or class_id in kept_ids)
    ]
    found.sort(key=all_scores.__getitem__, reverse=True)
    return found
