from __future__ import annotations

import itertools

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import make_picture
from vidpipe.pixels import (
    bgr_from_picture,
    bgr_resized,
    picture_from_bgr,
    upright,
    yuv_from_bgr,
)
from vidpipe.types import ColorMatrix, Picture, Pixels

RANGES = list(itertools.product(ColorMatrix, (False, True)))


def bgr_by_the_book(
    yuv: NDArray[np.float64], matrix: ColorMatrix, *, is_full_range: bool
) -> NDArray[np.float64]:
    """Return BGR by the equations of BT.709-6, items 3.2 to 3.4, one sample a row."""
    kr, kb = matrix.value
    y, cb, cr = yuv.T
    if is_full_range:
        luma, blue, red = y / 255, (cb - 128) / 255, (cr - 128) / 255
    else:
        luma, blue, red = (y - 16) / 219, (cb - 128) / 224, (cr - 128) / 224
    r = luma + 2 * (1 - kr) * red
    b = luma + 2 * (1 - kb) * blue
    g = (luma - kr * r - kb * b) / (1 - kr - kb)
    colours: NDArray[np.float64] = np.clip(np.stack([b, g, r], axis=1) * 255, 0, 255)
    return colours


def even_picture(
    yuv: tuple[float, float, float], matrix: ColorMatrix, *, is_full_range: bool
) -> Picture:
    y, u, v = (np.full(size, level, np.uint8) for size, level in zip((2, 1, 1), yuv, strict=True))
    return Picture(y[None, :], u[None, :], v[None, :], matrix, is_full_range)


def random_picture(width: int, height: int, rotation_deg: int = 0) -> Picture:
    rng = np.random.default_rng(width * 1000 + height)
    half = ((height + 1) // 2, (width + 1) // 2)
    y = rng.integers(16, 236, (height, width), np.uint8)
    u, v = (rng.integers(64, 192, half, np.uint8) for _ in range(2))
    for plane in (y, u, v):
        plane.flags.writeable = False
    return Picture(y, u, v, rotation_deg=rotation_deg)


@pytest.mark.parametrize(("matrix", "is_full_range"), RANGES)
def test_colours_are_those_of_the_standards(
    matrix: ColorMatrix,
    is_full_range: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    rng = np.random.default_rng(5)
    samples = rng.integers(0, 256, (200, 3)).astype(np.float64)
    expected = bgr_by_the_book(samples, matrix, is_full_range=is_full_range)
    for (y, u, v), colour in zip(samples, expected, strict=True):
        bgr = bgr_from_picture(even_picture((y, u, v), matrix, is_full_range=is_full_range))
        assert np.abs(bgr[0, 0] - colour).max() <= 0.6


@pytest.mark.parametrize(("matrix", "is_full_range"), RANGES)
@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (0, 0, 255), (40, 180, 220)])
def test_a_colour_painted_on_planes_comes_back(
    matrix: ColorMatrix,
    is_full_range: bool,  # noqa: FBT001 - a parameter of the test
    colour: tuple[int, int, int],
) -> None:
    yuv = yuv_from_bgr(colour, matrix, is_full_range=is_full_range)
    bgr = bgr_from_picture(even_picture(yuv, matrix, is_full_range=is_full_range))
    assert np.abs(bgr.astype(int) - colour).max() <= 3


@pytest.mark.parametrize(("is_full_range", "black", "white"), [(False, 16, 235), (True, 0, 255)])
def test_black_and_white_are_at_the_ends_of_the_range(
    is_full_range: bool,  # noqa: FBT001 - a parameter of the test
    black: int,
    white: int,
) -> None:
    for luma, level in ((black, 0), (white, 255)):
        picture = make_picture(luma=luma, is_full_range=is_full_range)
        assert np.unique(bgr_from_picture(picture)).tolist() == [level]


@pytest.mark.parametrize("size_wh", [(64, 48), (63, 47), (1, 1), (2, 1), (1, 9), (641, 3)])
@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
def test_the_full_size_is_that_of_the_display(size_wh: tuple[int, int], rotation_deg: int) -> None:
    picture = random_picture(*size_wh, rotation_deg)
    bgr = bgr_from_picture(picture)
    assert bgr.dtype == np.uint8
    assert (bgr.shape[1], bgr.shape[0]) == picture.size_wh
    assert bgr.shape[2] == 3


@pytest.mark.parametrize("size_wh", [(32, 24), (300, 300), (64, 48), (7, 5), (1, 1)])
@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
def test_a_turned_picture_is_the_upright_one_turned(
    size_wh: tuple[int, int], rotation_deg: int
) -> None:
    coded = random_picture(64, 48)
    turned = random_picture(64, 48, rotation_deg)
    coded_wh = size_wh if rotation_deg in (0, 180) else size_wh[::-1]
    expected = np.rot90(bgr_resized(coded, coded_wh), k=-rotation_deg // 90)
    assert np.array_equal(bgr_resized(turned, size_wh), expected)


def test_resizing_planes_is_like_resizing_the_picture() -> None:
    picture = random_picture(320, 240)
    y, u, v = (
        np.asarray(cv2.GaussianBlur(plane, (0, 0), 3), np.uint8)
        for plane in (picture.y, picture.u, picture.v)
    )
    smooth = Picture(y, u, v)
    small = bgr_resized(smooth, (160, 120)).astype(int)
    reference = cv2.resize(bgr_from_picture(smooth), (160, 120)).astype(int)
    assert np.abs(small - reference).mean() < 1.0


@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
@pytest.mark.parametrize("is_part", [True, False])
def test_it_writes_into_the_array_that_it_is_given(
    rotation_deg: int,
    is_part: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    picture = random_picture(64, 48, rotation_deg)
    canvas: Pixels = np.full((40, 60, 3), 7, np.uint8)
    out = canvas[5:25, 10:40] if is_part else np.zeros((20, 30, 3), np.uint8)
    result = bgr_resized(picture, (30, 20), out)
    assert result is out
    assert np.array_equal(out, bgr_resized(picture, (30, 20)))
    if is_part:
        canvas[5:25, 10:40] = 7
        assert np.unique(canvas).tolist() == [7], "wrote beside its part"


def strided(plane: Pixels) -> Pixels:
    wide = np.zeros((plane.shape[0], plane.shape[1] + 13), np.uint8)
    view = wide[:, : plane.shape[1]]
    view[:] = plane
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("size_wh", [(64, 48), (32, 24)])
def test_planes_with_a_stride_are_read_and_left_alone(size_wh: tuple[int, int]) -> None:
    dense = random_picture(64, 48)
    y, u, v = (strided(plane) for plane in (dense.y, dense.u, dense.v))
    assert np.array_equal(bgr_resized(Picture(y, u, v), size_wh), bgr_resized(dense, size_wh))
    assert np.array_equal(y, dense.y)
    assert np.array_equal(u, dense.u)


@pytest.mark.parametrize("size_wh", [(64, 48), (63, 47), (1, 1), (5, 2), (2, 5)])
def test_planes_made_of_bgr_have_their_size_and_are_read_only(size_wh: tuple[int, int]) -> None:
    width, height = size_wh
    bgr = np.full((height, width, 3), (30, 120, 200), np.uint8)
    picture = picture_from_bgr(bgr)
    assert picture.size_wh == size_wh
    assert picture.u.shape == picture.v.shape == ((height + 1) // 2, (width + 1) // 2)
    assert not any(plane.flags.writeable for plane in (picture.y, picture.u, picture.v))
    assert np.abs(bgr_from_picture(picture).astype(int) - bgr).max() <= 2


def test_planes_can_be_made_of_a_part_of_a_picture() -> None:
    rng = np.random.default_rng(2)
    large = rng.integers(0, 256, (50, 70, 3), np.uint8)
    part = large[3:33, 5:45]
    assert np.array_equal(picture_from_bgr(part).y, picture_from_bgr(part.copy()).y)


def test_nothing_is_copied_where_there_is_nothing_to_turn() -> None:
    plane = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert upright(plane, 0) is plane
    assert upright(plane, 90).tolist() == [[3, 0], [4, 1], [5, 2]]
