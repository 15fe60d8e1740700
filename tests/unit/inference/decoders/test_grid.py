from __future__ import annotations

import numpy as np
import pytest

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.grid import (
    cell_count,
    grid_of,
    grid_of_rows,
    likely_strides,
    stride_of,
    strides_of,
)


@pytest.mark.parametrize(
    ("rows", "picture_wh", "boxes", "strides"),
    [
        (8400, (640, 640), 1, (8, 16, 32)),
        (3549, (416, 416), 1, (8, 16, 32)),
        (25200, (640, 640), 3, (8, 16, 32)),
        (8500, (640, 640), 1, (8, 16, 32, 64)),
        (34000, (640, 640), 1, (4, 8, 16, 32)),
        (2000, (640, 640), 1, (16, 32)),
        (3598, (416, 416), 1, (8, 16, 32, 64)),
        (5040, (640, 384), 1, (8, 16, 32)),
        # Odd sizes are rounded up: 13 * 5 + 7 * 3 + 4 * 2.
        (94, (100, 40), 1, (8, 16, 32)),
        (300, (640, 640), 1, None),
        (8401, (640, 640), 1, None),
        (None, (640, 640), 1, None),
        (8400, (None, 640), 1, None),
    ],
)
def test_the_number_of_rows_proves_the_strides(
    rows: int | None,
    picture_wh: tuple[int | None, int | None],
    boxes: int,
    strides: tuple[int, ...] | None,
) -> None:
    assert strides_of(rows, picture_wh, boxes) == strides


@pytest.mark.parametrize(
    ("rows", "columns", "picture_wh", "is_likely"),
    [
        (8400, 85, (640, 640), True),
        (21, 85, (32, 32), True),  # the usual maps, though the picture is tiny
        (300, 6, (320, 192), True),  # strides 16 and 32
        (300, 6, (640, 480), False),  # stride 32 alone
        (100, 6, (320, 320), False),
        (20, 84, (64, 64), False),  # a table on its side
        (5, 6, (64, 64), False),  # strides 32 and 64 of a tiny picture
    ],
)
def test_a_coarse_map_may_be_a_chance(
    rows: int,
    columns: int,
    picture_wh: tuple[int, int],
    is_likely: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert strides_of(rows, picture_wh) is not None
    assert (likely_strides(rows, columns, picture_wh) is not None) == is_likely


def test_cells_come_row_by_row_the_finest_map_first() -> None:
    grid = grid_of((40, 20), (8, 16))
    assert len(grid.corners_px) == cell_count((40, 20), (8, 16)) == 5 * 3 + 3 * 2
    np.testing.assert_array_equal(grid.corners_px[:6, 0], [0, 8, 16, 24, 32, 0])
    np.testing.assert_array_equal(grid.corners_px[:6, 1], [0, 0, 0, 0, 0, 8])
    np.testing.assert_array_equal(
        grid.corners_px[15:], [[0, 0], [16, 0], [32, 0], [0, 16], [16, 16], [32, 16]]
    )
    np.testing.assert_array_equal(grid.strides_px[:, 0], [8] * 15 + [16] * 6)


def test_one_map_has_one_stride() -> None:
    assert [stride_of(rows, (320, 320)) for rows in (1600, 400, 100, 99)] == [8, 16, 32, None]


def test_rows_that_are_no_cells_are_an_inference_error() -> None:
    with pytest.raises(InferenceError, match="300 is not the number of cells of an input of 640x"):
        grid_of_rows((640, 640), 300)
