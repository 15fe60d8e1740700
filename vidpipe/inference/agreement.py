"""How far a changed detector still says what the original said, on the same pictures.

The original's answers are the measure, so this needs no labels. Objects are paired one to one,
within a class, the greatest overlap first. A box that only crossed the threshold is no
disagreement: both sides are decoded down to `margin` below it, and only what is above it has to
have a partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidpipe.types import Detections

LEAST_IOUS = (0.5, 0.8)
"""Overlaps at which two boxes are the same object: roughly, and closely."""

SCORE_MARGIN = 0.05
"""How far below the threshold a partner may lie."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two detectors have in common on some pictures.

    Attributes:
        pictures: How many pictures were compared.
        expected: Objects of the original above the threshold.
        reported: Objects of the other above the threshold.
        found: For each of `LEAST_IOUS`: how many of the expected have a partner that overlaps so.
        added: For each: how many of the reported have none.
        score_difference: Mean distance of the scores of the expected and their partners at the
            first overlap; None where there are none.
    """

    pictures: int
    expected: int
    reported: int
    found: tuple[int, ...]
    added: tuple[int, ...]
    score_difference: float | None

    def found_share(self, index: int) -> float | None:
        """Return the share of the expected that was found at an overlap, None of none."""
        return self.found[index] / self.expected if self.expected else None

    def added_share(self, index: int) -> float | None:
        """Return the share of the reported that the original hasn't, None of none."""
        return self.added[index] / self.reported if self.reported else None

    @property
    def disagreement(self) -> float:
        """One figure to choose by: 0 for the same answers, and more for each kind of difference."""
        lost = 1.0 - self.found[0] / self.expected if self.expected else 0.0
        return lost + (self.added_share(0) or 0.0) + (self.score_difference or 0.0)


def overlaps(a_xyxy: NDArray[np.float32], b_xyxy: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the (A, B) intersections over unions; 0 where both boxes are empty."""
    a, b = (np.asarray(boxes, np.float64) for boxes in (a_xyxy[:, None], b_xyxy[None]))
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.maximum(sides, 0.0).prod(axis=2)
    union = (a[..., 2:] - a[..., :2]).prod(axis=2) + (b[..., 2:] - b[..., :2]).prod(axis=2) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def compare(
    originals: Sequence[Detections], others: Sequence[Detections], confidence: float
) -> Agreement:
    """Compare the answers of two detectors to the same pictures.

    Args:
        originals: What is the measure, one a picture, decoded down to `SCORE_MARGIN` below the
            confidence.
        others: What is measured, likewise.
        confidence: The threshold.
    """
    found, added = [0] * len(LEAST_IOUS), [0] * len(LEAST_IOUS)
    expected = reported = 0
    differences: list[float] = []
    for original, other in zip(originals, others, strict=True):
        is_expected, is_reported = original.scores >= confidence, other.scores >= confidence
        expected += int(is_expected.sum())
        reported += int(is_reported.sum())
        pairs = _paired(original, other)
        for index, least_iou in enumerate(LEAST_IOUS):
            close = [(a, b) for a, b, iou in pairs if iou >= least_iou]
            found[index] += sum(bool(is_expected[a]) for a, _ in close)
            added[index] += int(is_reported.sum()) - sum(bool(is_reported[b]) for _, b in close)
        differences += [
            abs(float(original.scores[a]) - float(other.scores[b]))
            for a, b, _ in pairs
            if is_expected[a]
        ]
    return Agreement(
        pictures=len(originals),
        expected=expected,
        reported=reported,
        found=tuple(found),
        added=tuple(added),
        score_difference=float(np.mean(differences)) if differences else None,
    )


def _paired(original: Detections, other: Detections) -> list[tuple[int, int, float]]:
    """Return the pairs and their overlaps, the greatest first.

    What is paired at a low overlap and reaches a higher one is the pairing at the higher.
    """
    ious = overlaps(original.boxes_xyxy, other.boxes_xyxy)
    ious[original.class_ids[:, None] != other.class_ids[None]] = 0.0
    pairs: list[tuple[int, int, float]] = []
    while ious.size and (best := float(ious.max())) >= LEAST_IOUS[0]:
        a, b = (int(index) for index in np.unravel_index(int(ious.argmax()), ious.shape))
        pairs.append((a, b, best))
        ious[a, :], ious[:, b] = 0.0, 0.0
    return pairs
