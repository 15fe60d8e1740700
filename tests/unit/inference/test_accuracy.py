from __future__ import annotations

import numpy as np
import pytest

from vidpipe.inference.accuracy import mean_average_precision
from vidpipe.types import NO_DETECTIONS, Detections

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)


def seen(*objects: tuple[tuple[int, ...], float, str]) -> Detections:
    return Detections(
        boxes_xyxy=np.array([box for box, _, _ in objects], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _ in objects], np.float32),
        class_ids=np.zeros(len(objects), np.int32),
        labels=tuple(label for _, _, label in objects),
    )


def test_all_right_is_one_and_nothing_found_is_zero() -> None:
    truth = seen((A, 1, "cat"), (B, 1, "dog"))
    assert mean_average_precision([truth], [seen((A, 0.9, "cat"), (B, 0.2, "dog"))]) == 1
    assert mean_average_precision([truth], [NO_DETECTIONS]) == 0
    assert mean_average_precision([NO_DETECTIONS], [seen((A, 0.9, "cat"))]) == 0


def test_a_wrong_box_costs_more_the_surer_it_is() -> None:
    truth = seen((A, 1, "cat"), (B, 1, "cat"))
    # Right, wrong, right: precision 1 up to recall 1/2, then 2/3.
    middle = seen((A, 0.9, "cat"), (C, 0.8, "cat"), (B, 0.7, "cat"))
    assert mean_average_precision([truth], [middle]) == pytest.approx(0.5 + 0.5 * 2 / 3)
    # Wrong, right, right: the best precision from there on is 2/3 everywhere.
    first = seen((C, 0.9, "cat"), (A, 0.8, "cat"), (B, 0.7, "cat"))
    assert mean_average_precision([truth], [first]) == pytest.approx(2 / 3)


def test_a_second_box_on_the_same_object_is_wrong() -> None:
    twice = seen((A, 0.9, "cat"), (A, 0.8, "cat"), (B, 0.7, "cat"))
    truth = seen((A, 1, "cat"), (B, 1, "cat"))
    assert mean_average_precision([truth], [twice]) == pytest.approx(0.5 + 0.5 * 2 / 3)


def test_boxes_are_ranked_over_all_pictures() -> None:
    truths = [seen((A, 1, "cat")), NO_DETECTIONS]
    answers = [seen((A, 0.5, "cat")), seen((B, 0.9, "cat"))]
    assert mean_average_precision(truths, answers) == pytest.approx(0.5)


def test_classes_count_alike_and_only_those_that_are_labelled() -> None:
    truth = seen((A, 1, "Cat"), (B, 1, "dog"))
    answer = seen((C, 0.9, "boat"), (A, 0.8, "cat"))
    assert mean_average_precision([truth], [answer]) == pytest.approx(0.5)


def test_a_box_beside_its_object_is_wrong() -> None:
    beside = seen(((6, 0, 16, 10), 0.9, "cat"))
    assert mean_average_precision([seen((A, 1, "cat"))], [beside]) == 0
