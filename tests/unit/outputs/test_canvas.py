from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.builders import make_picture
from vidpipe.outputs.canvas import Patch, format_for, new_canvas, paint_picture
from vidpipe.pixels import bgr_from_picture, bgr_resized, picture_from_bgr, upright
from vidpipe.types import ColorMatrix, Picture, Pixels

RED = (0, 0, 255)


def noise(width: int, height: int, seed: int = 0) -> Pixels:
    small = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    return np.asarray(cv2.resize(small, (width, height)), np.uint8)


def turned(picture: Picture, rotation_deg: int) -> Picture:
    return Picture(picture.y, picture.u, picture.v, rotation_deg=rotation_deg)


@pytest.mark.parametrize(
    ("size", "scale", "fit", "expected"),
    [
        ((1920, 1080), None, None, (1920, 1080)),
        ((1920, 1080), 1.0, None, (1920, 1080)),
        ((1920, 1080), 0.5, None, (960, 540)),
        ((641, 361), None, None, (642, 362)),
        ((641, 361), 0.5, None, (320, 180)),
        ((1920, 1080), None, (1280, 1280), (1280, 720)),
        ((320, 240), None, (1280, 720), (320, 240)),
        ((1, 1), None, None, (2, 2)),
        ((3, 1000), 0.01, None, (2, 10)),
    ],
)
def test_sizes_are_even_fitted_and_never_enlarged(
    size: tuple[int, int],
    scale: float | None,
    fit: tuple[int, int] | None,
    expected: tuple[int, int],
) -> None:
    wanted = format_for(make_picture(*size), scale=scale, fit_wh=fit)
    assert wanted.size_wh == expected


def test_an_odd_picture_is_padded_with_its_edge_and_not_cropped() -> None:
    picture = picture_from_bgr(noise(7, 5))
    canvas = new_canvas(format_for(picture))
    paint_picture(canvas, picture)
    assert canvas.y.shape == (6, 8)
    assert (canvas.y[:5, :7] == picture.y).all()
    assert (canvas.y[:5, 7] == picture.y[:, 6]).all()
    assert (canvas.y[5, :7] == picture.y[4]).all()
    assert (canvas.u == picture.u).all()


@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
@pytest.mark.parametrize("size", [(64, 48), (65, 47)])
def test_a_rotated_picture_is_drawn_upright(size: tuple[int, int], rotation_deg: int) -> None:
    picture = turned(picture_from_bgr(noise(*size)), rotation_deg)
    canvas = new_canvas(format_for(picture))
    paint_picture(canvas, picture)
    width, height = picture.size_wh
    assert (canvas.y[:height, :width] == upright(picture.y, rotation_deg)).all()
    assert (canvas.u == upright(picture.u, rotation_deg)).all()
    assert (canvas.v == upright(picture.v, rotation_deg)).all()


@pytest.mark.parametrize("rotation_deg", [0, 90])
@pytest.mark.parametrize("scale", [0.75, 0.5, 0.2])
def test_a_scaled_picture_shows_the_same(scale: float, rotation_deg: int) -> None:
    picture = turned(picture_from_bgr(noise(320, 200)), rotation_deg)
    wanted = format_for(picture, scale=scale)
    canvas = new_canvas(wanted)
    paint_picture(canvas, picture)
    painted = bgr_from_picture(Picture(canvas.y, canvas.u, canvas.v))
    expected = bgr_resized(picture, wanted.size_wh)
    assert np.abs(painted.astype(int) - expected.astype(int)).mean() < 3


def test_a_thin_line_survives_scaling_far_down() -> None:
    bgr = np.zeros((800, 800, 3), np.uint8)
    bgr[:, ::8] = 255
    picture = picture_from_bgr(bgr)
    canvas = new_canvas(format_for(picture, scale=0.1))
    paint_picture(canvas, picture)
    assert abs(float(canvas.y.mean()) - float(picture.y.mean())) < 3


def test_the_decoders_planes_stay_untouched() -> None:
    picture = make_picture(64, 48)
    canvas = new_canvas(format_for(picture))
    paint_picture(canvas, picture)
    canvas.fill(0, 0, 64, 48, canvas.yuv(RED))
    assert (picture.y == 128).all()
    assert (picture.u == 128).all()


@pytest.mark.parametrize("matrix", list(ColorMatrix))
@pytest.mark.parametrize("is_full_range", [False, True])
def test_a_colour_is_what_it_was_asked_to_be_in_any_matrix_and_range(
    matrix: ColorMatrix,
    is_full_range: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    picture = make_picture(16, 16, matrix=matrix, is_full_range=is_full_range)
    canvas = new_canvas(format_for(picture))
    canvas.fill(0, 0, 16, 16, canvas.yuv((40, 90, 200)))
    shown = bgr_from_picture(Picture(canvas.y, canvas.u, canvas.v, matrix, is_full_range))
    assert np.abs(shown.astype(int) - (40, 90, 200)).max() <= 4


@pytest.mark.parametrize(
    "box", [(-10, -10, 5, 5), (60, 40, 100, 100), (100, 100, 120, 120), (5, 5, 5, 5)]
)
def test_nothing_is_painted_outside_and_nothing_fails(box: tuple[int, int, int, int]) -> None:
    memory = np.zeros((52, 68), np.uint8)
    picture = make_picture(64, 48)
    canvas = new_canvas(format_for(picture))
    inner = type(canvas)(memory[2:50, 2:66], canvas.u, canvas.v, canvas.format)
    inner.fill(*box, (255, 1, 1))
    inner.outline(box, 4, (255, 1, 1))
    block = np.full((8, 8), 255, np.uint8)
    inner.paste(Patch(block, block[:4, :4], block[:4, :4]), box[0], box[1])
    memory[2:50, 2:66] = 0
    assert not memory.any()


def test_an_outline_is_hollow_and_its_colour_covers_its_lines() -> None:
    canvas = new_canvas(format_for(make_picture(64, 48)))
    for plane in (canvas.y, canvas.u, canvas.v):
        plane[:] = 0
    canvas.outline((10, 10, 40, 30), 2, (200, 100, 50))
    assert (canvas.y > 0).sum() == 30 * 20 - 26 * 16
    covered = np.kron(canvas.u > 0, np.ones((2, 2), bool))
    assert (covered == (canvas.y > 0)).all()
