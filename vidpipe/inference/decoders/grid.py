"""Cells of detectors that look at a picture through grids: which strides they have, and where.

A map of stride s has ``ceil(h / s)`` rows of ``ceil(w / s)`` cells (convolutions pad), row by row,
the finest map first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import InferenceError

Strides: TypeAlias = tuple[int, ...]

_FINEST, _COARSEST = 2, 7
"""Exponents of 2: strides lie between 4 and 128."""

_FINE = 16

STANDARD: tuple[Strides, ...] = ((8, 16, 32), (8, 16, 32, 64))
"""The maps of nearly all detectors, and of those for large pictures (P6)."""

_OTHERS: tuple[Strides, ...] = tuple(
    strides
    for count in range(5, 0, -1)
    for first in range(_FINEST, _COARSEST + 2 - count)
    if (strides := tuple(2**exponent for exponent in range(first, first + count))) not in STANDARD
)


def cell_count(picture_wh: tuple[int, int], strides: Strides) -> int:
    """Return how many cells maps of these strides have in all."""
    width, height = picture_wh
    return sum(-(-width // stride) * -(-height // stride) for stride in strides)


def is_open(rows: int | None, picture_wh: tuple[int | None, int | None]) -> bool:
    """Return True where rows and cells can't be compared yet."""
    return rows is None or None in picture_wh


def stride_of(rows: int | None, picture_wh: tuple[int | None, int | None]) -> int | None:
    """Return the stride of the one map that has so many cells; None if there is none."""
    width, height = picture_wh
    if rows is None or width is None or height is None:
        return None
    single = [(2**exponent,) for exponent in range(_FINEST, _COARSEST + 1)]
    return next((s[0] for s in single if cell_count((width, height), s) == rows), None)


def strides_of(
    rows: int | None, picture_wh: tuple[int | None, int | None], boxes_a_cell: int = 1
) -> Strides | None:
    """Return the strides whose cells account for a number of rows exactly; None if none do.

    Runs of powers of two are tried, the usual ones first; none is coarser than the picture.
    """
    width, height = picture_wh
    if rows is None or width is None or height is None:
        return None
    for strides in (*STANDARD, *_OTHERS):
        is_within = strides in STANDARD or strides[-1] <= max(width, height)
        if is_within and boxes_a_cell * cell_count((width, height), strides) == rows:
            return strides
    return None


def likely_strides(
    rows: int | None,
    columns: int,
    picture_wh: tuple[int | None, int | None],
    boxes_a_cell: int = 1,
) -> Strides | None:
    """Return the strides of a table of boxes if they are no chance; None otherwise.

    The usual maps are none. Others must be several, begin finely, and have more rows than columns:
    short lists of finished rows have the size of some coarse map by chance.
    """
    strides = strides_of(rows, picture_wh, boxes_a_cell)
    if strides is None or rows is None or strides in STANDARD:
        return strides
    is_likely = len(strides) > 1 and strides[0] <= _FINE and rows > columns
    return strides if is_likely else None


@dataclass(frozen=True, slots=True)
class Grid:
    """All cells.

    Attributes:
        corners_px: (N, 2) x and y of each cell's top left corner in the input.
        strides_px: (N, 1) a cell's side.
    """

    corners_px: NDArray[np.float64]
    strides_px: NDArray[np.float64]


@lru_cache(maxsize=64)
def grid_of(picture_wh: tuple[int, int], strides: Strides) -> Grid:
    """Return the cells of maps of these strides; made once."""
    width, height = picture_wh
    corners, sides = [], []
    for stride in strides:
        y, x = np.mgrid[0 : -(-height // stride), 0 : -(-width // stride)]
        corners.append(np.stack([x.ravel(), y.ravel()], axis=1) * float(stride))
        sides.append(np.full((x.size, 1), float(stride)))
    return Grid(np.concatenate(corners), np.concatenate(sides))


@lru_cache(maxsize=64)
def grid_of_rows(picture_wh: tuple[int, int], rows: int) -> Grid:
    """Return the cells that account for a number of rows; made once.

    Raises:
        InferenceError: None do.
    """
    strides = strides_of(rows, picture_wh)
    if strides is None:
        raise InferenceError(f"the model answered {rows} boxes: {not_cells(rows, picture_wh)}")
    return grid_of(picture_wh, strides)


def not_cells(rows: int | None, picture_wh: tuple[int | None, int | None]) -> str:
    """Return in words that rows are not the cells of an input."""
    width, height = picture_wh
    return f"{rows} is not the number of cells of an input of {width}x{height} pixels"
