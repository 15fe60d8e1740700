from __future__ import annotations

import pytest

from vidpipe.sources.coloring import coloring_of
from vidpipe.types import ColorMatrix


@pytest.mark.parametrize(
    ("code", "matrix"),
    [
        (1, ColorMatrix.BT709),
        (2, ColorMatrix.BT601),  # unspecified
        (3, ColorMatrix.BT601),  # reserved
        (5, ColorMatrix.BT601),
        (6, ColorMatrix.BT601),
        (7, ColorMatrix.BT709),
        (9, ColorMatrix.BT2020),
        (10, ColorMatrix.BT2020),
    ],
)
def test_the_matrix_follows_the_stream(code: int, matrix: ColorMatrix) -> None:
    assert coloring_of("yuv420p", code, 1).matrix is matrix


@pytest.mark.parametrize(
    ("pixel_format", "code", "is_full_range"),
    [
        ("yuv420p", 0, False),
        ("yuv420p", 1, False),
        ("yuv420p", 2, True),
        ("yuvj420p", 0, True),
        ("yuvj444p", 1, True),
        ("gray", 0, True),
        ("rgb24", 2, False),
    ],
)
def test_the_range_follows_the_stream_or_the_format(
    pixel_format: str,
    code: int,
    is_full_range: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert coloring_of(pixel_format, 2, code).is_full_range is is_full_range


def test_only_8_bit_420_passes_as_it_is() -> None:
    names = ("yuv420p", "yuvj420p", "yuva420p", "yuv420p10le", "yuv422p", "nv12", "rgb24", "gray")
    assert [name for name in names if coloring_of(name, 1, 1).is_planar] == [
        "yuv420p",
        "yuvj420p",
        "yuva420p",
    ]


@pytest.mark.parametrize("name", ["rgb24", "bgra", "gbrp10le", "pal8", "0rgb", "monow"])
def test_rgb_takes_the_matrix_that_the_conversion_chooses(name: str) -> None:
    coloring = coloring_of(name, 1, 2)
    assert coloring.is_rgb
    assert coloring.matrix is ColorMatrix.BT601
