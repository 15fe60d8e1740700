"""Boxes and best classes of the few rows that matter: steps that several families share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.decoders.family import Output, as_float64

Best: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp], Output]
"""(K,) indices of boxes, ascending, their best classes and these classes' scores."""

_LARGEST_FRACTION = 2.0
"""Boxes in fractions of the input may reach a little out of it; in pixels none is so small."""

_WORD = 8
"""Bytes, and so truth values, in a 64-bit word."""

MOST_GROWTH = 20.0
"""A box is never exp(20) times its cell; more would overflow."""


def best_of_columns(scores: Output, confidence: float) -> Best:
    """Return the boxes whose best class is above the confidence; for a column a box.

    The class is looked for only there: 8400 boxes of 80 classes take 0.15 ms, and 0.6 otherwise.

    Args:
        scores: (C, N), each class's scores side by side in memory.
        confidence: The least score.
    """
    best = scores.max(axis=0) if len(scores) > 1 else scores[0]
    index = np.flatnonzero(best >= confidence)
    ids = scores.take(index, axis=1).argmax(axis=0)
    return index, ids, best[index]


def best_of_rows(scores: Output, confidence: float) -> Best:
    """Return the boxes whose best class is above the confidence; for a row a box.

    Comparing all scores and looking at the rows that have one takes a third of the rows' maxima.

    Args:
        scores: (N, C).
        confidence: The least score.
    """
    index = rows_above(scores, confidence)
    if not len(index):
        return index, index, np.zeros(0, scores.dtype)
    return index, *best_classes(scores[index])


def rows_above(scores: Output, confidence: float) -> NDArray[np.intp]:
    """Return the rows, ascending, that have a score of at least the confidence in (N, C)."""
    columns = scores.shape[1]
    is_above = np.ascontiguousarray(scores >= confidence).reshape(-1)
    if columns % _WORD == 0:
        # Eight answers at a glance: few are true, and looking for them takes half of the time.
        is_above, columns = is_above.view(np.uint64) != 0, columns // _WORD
    hits = is_above.nonzero()[0]
    if len(hits):
        hits //= columns
        hits = hits[np.concatenate(([True], hits[1:] != hits[:-1]))]
    return hits


def best_classes(scores: Output) -> tuple[NDArray[np.intp], Output]:
    """Return each row's best class and its score, of (K, C)."""
    ids = scores.argmax(axis=1)
    return ids, scores[np.arange(len(ids)), ids]


def best_objects(rows: Output, class_count: int, confidence: float) -> Best:
    """Return the boxes whose objectness times best class is above the confidence.

    Args:
        rows: (N, 5 + C): four numbers, objectness and classes, both in 0..1.
        class_count: C; further columns are passed over.
        confidence: The least score.
    """
    near = np.flatnonzero(rows[:, 4] >= confidence)
    chosen = rows[near]
    classes = chosen[:, 5 : 5 + class_count]
    ids = classes.argmax(axis=1)
    best = classes[np.arange(len(near)), ids] * chosen[:, 4]
    index = np.flatnonzero(best >= confidence)
    return near[index], ids[index], best[index]


def corners_of_centres(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (K, 4) corners of (K, 4) centre x and y, width and height."""
    halves = boxes[:, 2:] / 2
    return np.concatenate([boxes[:, :2] - halves, boxes[:, :2] + halves], axis=1)


def in_pixels(
    boxes: Output, input_wh: tuple[int, int], all_places: Callable[[], Output]
) -> NDArray[np.float64]:
    """Return boxes (K, 4) in pixels, whether the model counts in pixels or in fractions.

    Exports to TensorFlow count in fractions of the input. They are told by all boxes of a picture,
    since one alone may be small: in pixels, some lie across the picture.

    Args:
        boxes: (K, 4), x and y in turn; a place first.
        input_wh: The model's input.
        all_places: Returns the places of all boxes, asked for only in doubt. No sizes: of boxes
            without an object these are many times the picture's.
    """
    given = as_float64(boxes)
    if (given[:, :2] > _LARGEST_FRACTION).any() or (all_places() > _LARGEST_FRACTION).any():
        return given
    return given * (*input_wh, *input_wh)


def corners_in_pixels(
    boxes: Output, input_wh: tuple[int, int], all_centres: Callable[[], Output]
) -> NDArray[np.float64]:
    """Return (K, 4) corners in pixels of boxes (K, 4) by centre and size; see `in_pixels`."""
    return corners_of_centres(in_pixels(boxes, input_wh, all_centres))
