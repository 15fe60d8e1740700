"""How far two answers of a model are apart, whether they are maps of numbers or lists of objects.

Numbers of low precision differ a little with the way they are added up, and lists with the order
of what scores alike; neither makes another answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.decoders.family import Output

_LONGEST_LIST = 1000
"""Rows beyond which an output is a map: detectors list hundreds of objects at most."""

_MOST_NUMBERS = 20_000_000
"""What comparing each row of a list with each of another may take."""

_ENDLESS = 1e30
_DETECTION_ROW = 7
_SCORE = 2


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a kind of arithmetic may change.

    Attributes:
        noise: The relative distance that any two answers may have.
        share: How far one may be from its like, relative to another picture's answer.
        row: How far a row's numbers may be from its like's, relative to their range.
    """

    noise: float
    share: float
    row: float


EXACT = Tolerance(noise=1e-4, share=0.02, row=0.01)
"""Single precision."""
COARSE = Tolerance(noise=1e-2, share=0.2, row=0.05)
"""Half precision, bfloat16 and eight bits."""

_OTHER_ROWS = 0.1
"""The share of a list that may differ, by weight: what scores alike is cut off at random."""


def is_alike(answer: Output, own: Output, other: Output, tolerance: Tolerance) -> bool:
    """Return True if an answer is that of its own picture, as far as can be told.

    Args:
        answer: One output.
        own: What it should be.
        other: The same output for another picture.
        tolerance: What the arithmetic may change.
    """
    if answer.shape == own.shape:
        apart = _distance(answer, own)
        if apart <= max(tolerance.noise, tolerance.share * _distance(own, other)):
            return True
    pair = _rows(answer), _rows(own)
    return _is_list(*pair) and _list_distance(*pair, tolerance) <= _OTHER_ROWS


def is_telling(own: Output, other: Output, tolerance: Tolerance) -> bool:
    """Return True if the answers to two pictures differ, so that one can't be taken for the other.

    Args:
        own: One output for a picture.
        other: The same for another picture.
        tolerance: What the arithmetic may change.
    """
    pair = _rows(own), _rows(other)
    if _is_list(*pair):
        return _list_distance(*pair, tolerance) > 2 * _OTHER_ROWS
    return own.shape != other.shape or _distance(own, other) > 2 * tolerance.noise


def _distance(one: Output, other: Output) -> float:
    """Return the relative distance of two arrays of one shape, or 0 to 1 if it can't be told."""
    if one.shape != other.shape:
        return 1.0
    a, b = (_numbers(array).ravel() for array in (one, other))
    scale = max(float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    return float(np.linalg.norm(a - b)) / scale if scale else 0.0


def _numbers(output: Output) -> NDArray[np.float64]:
    """Return what can be reckoned with: nothing for what is no number, and nothing endless."""
    return np.clip(np.nan_to_num(np.asarray(output, np.float64)), -_ENDLESS, _ENDLESS)


def _rows(output: Output) -> NDArray[np.float64]:
    columns = output.shape[-1] if output.ndim else 1
    return _numbers(output).reshape(-1, columns)


def _is_list(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return (
        one.shape[1] == other.shape[1]
        and max(len(one), len(other)) <= _LONGEST_LIST
        and len(one) * len(other) * one.shape[1] <= _MOST_NUMBERS
    )


def _list_distance(
    one: NDArray[np.float64], other: NDArray[np.float64], tolerance: Tolerance
) -> float:
    """Return the share of two lists' rows that have no like in the other, 0 to 1."""
    if not len(one) or not len(other):
        return float(len(one) != len(other))
    both = np.concatenate([one, other])
    # Where all rows say much the same, their noise is no difference.
    least = np.maximum(10 * tolerance.noise * np.abs(both).max(0), 1e-9)
    span = np.maximum(both.max(0) - both.min(0), least)
    gap = np.abs(one[:, None] - other[None]) / span
    is_same = gap.max(2) <= tolerance.row
    return max(_unmatched(one, is_same.any(1)), _unmatched(other, is_same.any(0)))


def _unmatched(rows: NDArray[np.float64], is_matched: NDArray[np.bool_]) -> float:
    weights = np.ones(len(rows))
    if rows.shape[1] == _DETECTION_ROW:  # an SSD's long tail of low scores says little
        weights = np.maximum(rows[:, _SCORE], 1e-9)
    return float(weights[~is_matched].sum() / weights.sum())
