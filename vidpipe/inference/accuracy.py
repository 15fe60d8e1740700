"""How right a detector is on labelled pictures: mean average precision at one overlap.

The detections of a class in all pictures are taken by falling score, and each is matched to the
unmatched object of its picture that it overlaps most (as COCO's evaluation does). Precision is made
monotone, and the area under it over recall is taken exactly (as the PASCAL VOC development kit does
since 2010); then the mean over the classes that the labels have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.agreement import overlaps
from vidpipe.types import Detections

LEAST_IOU = 0.5
"""A box is right if it overlaps the object's own by so much."""


def mean_average_precision(truths: Sequence[Detections], answers: Sequence[Detections]) -> float:
    """Return the mean over the labelled classes, 0..1; 0 where nothing is labelled.

    Classes are compared by name, whatever their case. Answers of a class that no picture has
    labelled don't count.

    Args:
        truths: The objects of each picture, in pixels.
        answers: What the detector found in each, likewise, down to a low score.
    """
    names = sorted({label.lower() for truth in truths for label in truth.labels})
    scores = [_average_precision(name, truths, answers) for name in names]
    return float(np.mean(scores)) if scores else 0.0


def _average_precision(
    name: str, truths: Sequence[Detections], answers: Sequence[Detections]
) -> float:
    ranked: list[tuple[float, bool]] = []
    objects = 0
    for truth, answer in zip(truths, answers, strict=True):
        wanted, given = _indices(truth, name), _indices(answer, name)
        objects += len(wanted)
        ious = overlaps(answer.boxes_xyxy[given], truth.boxes_xyxy[wanted])
        for row, index in enumerate(given):  # by falling score
            best = int(ious[row].argmax()) if len(wanted) else 0
            is_right = len(wanted) > 0 and bool(ious[row, best] >= LEAST_IOU)
            if is_right:
                ious[:, best] = 0.0
            ranked.append((float(answer.scores[index]), is_right))
    ranked.sort(key=lambda pair: -pair[0])
    hits = np.cumsum([is_right for _, is_right in ranked]) if ranked else np.zeros(0)
    recall = np.concatenate([[0.0], hits / objects])
    precision = hits / np.arange(1, len(hits) + 1)
    # Each point takes the best precision at its recall or a greater one.
    monotone = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(recall) * monotone).sum())


def _indices(detections: Detections, name: str) -> NDArray[np.intp]:
    return np.array(
        [index for index, label in enumerate(detections.labels) if label.lower() == name], np.intp
    )
