from __future__ import annotations

import numpy as np
import pytest

from vidpipe.inference.decoders.boxes import (
    best_objects,
    best_of_columns,
    best_of_rows,
    corners_in_pixels,
    corners_of_centres,
    in_pixels,
)
from vidpipe.inference.decoders.family import Output


def plainly(scores: Output, confidence: float) -> list[tuple[int, int, float]]:
    """The definition, row by row."""
    return [
        (i, int(row.argmax()), float(row.max()))
        for i, row in enumerate(scores)
        if row.max() >= confidence
    ]


@pytest.mark.parametrize("classes", [1, 2, 80])
@pytest.mark.parametrize("confidence", [0.0, 0.7, 0.97, 1.0])
def test_the_best_class_of_each_box_is_that_of_the_definition(
    classes: int, confidence: float
) -> None:
    rng = np.random.default_rng(classes)
    scores = rng.random((200, classes)).astype(np.float32)
    expected = plainly(scores, confidence)
    joined = np.concatenate(
        [np.zeros((200, 4), np.float32), np.ones((200, 1), np.float32), scores], 1
    )
    for index, ids, best in (
        best_of_rows(scores, confidence),
        best_of_columns(np.ascontiguousarray(scores.T), confidence),
        best_objects(joined, classes, confidence),
    ):
        found = list(zip(index.tolist(), ids.tolist(), best.tolist(), strict=True))
        assert found == expected


def test_objectness_multiplies() -> None:
    rows = np.array([[0, 0, 0, 0, 0.5, 0.9, 0.2], [0, 0, 0, 0, 0.9, 0.3, 0.8]], np.float32)
    index, ids, best = best_objects(rows, 2, 0.5)
    assert (index.tolist(), ids.tolist()) == ([1], [1])
    assert best.tolist() == pytest.approx([0.72])


def test_no_boxes_and_no_classes_are_nothing() -> None:
    for shape in ((0, 3), (5, 0), (0, 0)):
        index, ids, best = best_of_rows(np.zeros(shape, np.float32), 0.0)
        assert len(index) == len(ids) == len(best) == 0
    assert len(best_of_columns(np.zeros((3, 0), np.float32), 0.0)[0]) == 0


def test_corners_lie_half_a_size_from_the_centre() -> None:
    np.testing.assert_array_equal(
        corners_of_centres(np.array([[10.0, 20, 4, 8]])), [[8, 16, 12, 24]]
    )


def test_fractions_become_pixels_only_if_all_boxes_are_such() -> None:
    box = np.array([[0.5, 0.5, 1.5, 1.0]], np.float32)
    far = np.array([[30, 0.5, 0.5, 1]], np.float32)
    np.testing.assert_allclose(in_pixels(box, (64, 32), lambda: box), [[32, 16, 96, 32]])
    np.testing.assert_allclose(in_pixels(box, (64, 32), lambda: far), box)
    np.testing.assert_allclose(in_pixels(far, (64, 32), lambda: box), far)


def test_the_places_of_boxes_tell_fractions_and_their_sizes_do_not() -> None:
    # In a small input, boxes without an object are several times as large as the picture.
    rows = np.array([[0.5, 0.5, 0.25, 0.5], [0.9, 0.9, 3.5, 0.1], [np.nan, 0, 0, 0]], np.float32)
    found = corners_in_pixels(rows[:1], (64, 32), lambda: rows[:, :2])
    np.testing.assert_allclose(found, [[24, 8, 40, 24]])
    found = corners_in_pixels(rows[1:2], (64, 32), lambda: rows[:, :2])
    np.testing.assert_allclose(found, [[-54.4, 27.2, 169.6, 30.4]], rtol=1e-5)
