"""The last step of every decoder: nonsense dropped, best first, overlap resolved, frame pixels."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.decoders.family import DecodeRule, Output, as_float64
from vidpipe.inference.decoders.nms import surviving
from vidpipe.inference.geometry import Geometry
from vidpipe.types import NO_DETECTIONS, Detections

_MOST_CLASSES = 1 << 31
_FARTHEST_PX = 1e7
"""Boxes that reach beyond this are nonsense; their areas would overflow later."""

_FEW = 50
"""Up to here plain Python is quicker than numpy."""

_MOST_RIVALS = 3000
"""Each is compared with each: without a bound a low confidence would take seconds a frame."""


def finish(
    boxes_xyxy: NDArray[np.float64],
    scores: Output,
    class_ids: Output,
    geometry: Geometry,
    rule: DecodeRule,
) -> Detections:
    """Return the detections among candidates: clipped to the frame, by falling score, stable.

    Dropped are boxes with a coordinate, score or class that is no finite number, with no area
    within the frame, with a negative class, below the confidence, of a class not kept, or that
    overlap a better one of their class (of any class, where the rule is agnostic). Scores above 1
    become 1. Where overlap is to be resolved, only the best 3000 candidates are looked at.

    Args:
        boxes_xyxy: (N, 4) in input pixels.
        scores: (N,).
        class_ids: (N,) whole numbers; in floating point where they may be nonsense.
        geometry: Where the frame lies in the input.
        rule: What is kept.
    """
    is_few = len(scores) <= _FEW
    choose = _sensible if is_few else _sensible_of_many
    order = np.asarray(choose(boxes_xyxy, scores, class_ids, rule), np.intp)
    if rule.iou < 1 and len(order) > 1:
        order = order[:_MOST_RIVALS]
        rivals = np.zeros(len(order)) if rule.is_agnostic else as_float64(class_ids[order])
        order = order[surviving(boxes_xyxy[order], rivals, rule.iou)]
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
    boxes_xyxy: NDArray[np.float64], scores: Output, class_ids: Output, rule: DecodeRule
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


def _sensible_of_many(
    boxes_xyxy: NDArray[np.float64], scores: Output, class_ids: Output, rule: DecodeRule
) -> NDArray[np.intp]:
    """Return the same as `_sensible`."""
    lows, highs = boxes_xyxy[:, :2], boxes_xyxy[:, 2:]
    is_box = ((lows > -_FARTHEST_PX) & (lows < highs) & (highs < _FARTHEST_PX)).all(axis=1)
    is_box &= (scores >= rule.confidence) & (scores < inf)
    is_box &= (class_ids >= 0) & (class_ids < _MOST_CLASSES)
    if rule.kept_ids is not None:
        is_box &= np.isin(class_ids, list(rule.kept_ids))
    found = np.flatnonzero(is_box)
    return found[np.argsort(-scores[found], kind="stable")]
