from __future__ import annotations

import numpy as np
import pytest

from vidpipe.inference.agreement import compare, overlaps
from vidpipe.types import NO_DETECTIONS, Detections

BOX = (0.0, 0.0, 10.0, 10.0)
HALF = (0.0, 0.0, 10.0, 6.0)  # IoU 0.6 with BOX
CLOSE = (0.0, 0.0, 10.0, 9.0)  # 0.9
FAR = (50.0, 50.0, 60.0, 60.0)


def found(*objects: tuple[tuple[float, ...], float, int]) -> Detections:
    return Detections(
        boxes_xyxy=np.array([box for box, _, _ in objects], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _ in objects], np.float32),
        class_ids=np.array([class_id for _, _, class_id in objects], np.int32),
        labels=tuple(f"class-{class_id}" for _, _, class_id in objects),
    )


def test_overlaps_are_the_shared_part_of_the_union() -> None:
    a = np.array([BOX, FAR, (1, 1, 1, 1)], np.float32)
    b = np.array([HALF, (5, 0, 15, 10), (1, 1, 1, 1)], np.float32)
    expected = np.array([[0.6, 1 / 3, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(overlaps(a, b), expected, rtol=1e-6)


def test_the_same_answers_agree_wholly() -> None:
    same = found((BOX, 0.9, 1), (FAR, 0.5, 2))
    agreement = compare([same, NO_DETECTIONS], [same, NO_DETECTIONS], 0.4)
    assert (agreement.pictures, agreement.expected, agreement.reported) == (2, 2, 2)
    assert (agreement.found, agreement.added) == ((2, 2), (0, 0))
    assert agreement.score_difference == 0
    assert agreement.found_share(0) == 1
    assert agreement.added_share(1) == 0


def test_a_box_that_overlaps_roughly_is_found_at_the_lower_overlap_only() -> None:
    agreement = compare([found((BOX, 0.9, 1))], [found((HALF, 0.7, 1))], 0.4)
    assert (agreement.found, agreement.added) == ((1, 0), (0, 1))
    assert agreement.score_difference == pytest.approx(0.2)


def test_another_class_is_another_object() -> None:
    agreement = compare([found((BOX, 0.9, 1))], [found((BOX, 0.9, 2))], 0.4)
    assert (agreement.found, agreement.added) == ((0, 0), (1, 1))
    assert agreement.score_difference is None


def test_two_boxes_in_one_place_are_no_partner_of_the_same_object() -> None:
    agreement = compare(
        [found((BOX, 0.9, 1))], [found((BOX, 0.9, 1), (CLOSE, 0.8, 1), (FAR, 0.7, 1))], 0.4
    )
    assert (agreement.found, agreement.added) == ((1, 1), (2, 2))
    assert agreement.added_share(0) == pytest.approx(2 / 3)


def test_the_closest_boxes_are_paired_first() -> None:
    originals = found((HALF, 0.9, 1), (BOX, 0.8, 1))
    others = found((CLOSE, 0.9, 1), (HALF, 0.8, 1))
    agreement = compare([originals], [others], 0.4)
    assert agreement.found == (2, 2)
    assert agreement.score_difference == pytest.approx(0.1)


@pytest.mark.parametrize(("original", "other"), [(0.41, 0.38), (0.38, 0.41)])
def test_a_box_that_only_crossed_the_threshold_is_no_disagreement(
    original: float, other: float
) -> None:
    agreement = compare([found((BOX, original, 1))], [found((BOX, other, 1))], 0.4)
    assert agreement.found[0] == agreement.expected
    assert agreement.added == (0, 0)


def test_where_nothing_is_seen_there_is_no_share() -> None:
    agreement = compare([NO_DETECTIONS], [NO_DETECTIONS], 0.4)
    assert agreement.found_share(0) is None
    assert agreement.added_share(0) is None
    assert agreement.score_difference is None
