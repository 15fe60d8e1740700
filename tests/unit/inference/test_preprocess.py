from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.builders import make_picture
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.settings import Anchor, InputRecipe, Resize
from vidpipe.pixels import bgr_resized
from vidpipe.types import Picture

LETTERBOX = InputRecipe(resize=Resize.LETTERBOX, pad=7)


def noise(width: int, height: int, rotation_deg: int = 0, seed: int = 0) -> Picture:
    rng = np.random.default_rng(seed)
    half = ((height + 1) // 2, (width + 1) // 2)
    y, u, v = (rng.integers(0, 256, shape, np.uint8) for shape in ((height, width), half, half))
    return Picture(y, u, v, rotation_deg=rotation_deg)


@pytest.mark.parametrize("rotation_deg", [0, 90, 180, 270])
@pytest.mark.parametrize("size", [(64, 48), (33, 77), (2, 2), (1, 1), (640, 2)])
def test_a_stretched_picture_fills_the_tensor(size: tuple[int, int], rotation_deg: int) -> None:
    picture = noise(*size, rotation_deg)
    tensor = np.empty((24, 32, 3), np.uint8)
    geometry = InputFiller((32, 24), InputRecipe()).fill(picture, tensor)
    np.testing.assert_array_equal(tensor, bgr_resized(picture, (32, 24)))
    assert (geometry.frame_w, geometry.frame_h) == picture.size_wh


@pytest.mark.parametrize("size", [(64, 32), (32, 64), (77, 33), (500, 2), (2, 500)])
@pytest.mark.parametrize("anchor", list(Anchor))
def test_a_letterboxed_picture_is_surrounded_by_padding(
    size: tuple[int, int], anchor: Anchor
) -> None:
    picture = noise(*size)
    tensor = np.zeros((32, 32, 3), np.uint8)
    recipe = InputRecipe(resize=Resize.LETTERBOX, anchor=anchor, pad=7)
    g = InputFiller((32, 32), recipe).fill(picture, tensor)
    expected = np.full((32, 32, 3), 7, np.uint8)
    expected[g.pad_y : g.pad_y + g.inner_h, g.pad_x : g.pad_x + g.inner_w] = bgr_resized(
        picture, (g.inner_w, g.inner_h)
    )
    np.testing.assert_array_equal(tensor, expected)
    if anchor is Anchor.CORNER:
        assert (g.pad_x, g.pad_y) == (0, 0)


def test_a_picture_of_another_shape_leaves_nothing_of_the_last_one() -> None:
    filler = InputFiller((32, 32), LETTERBOX)
    tensor = np.zeros((32, 32, 3), np.uint8)
    fresh = np.zeros((32, 32, 3), np.uint8)
    last = None
    for size in [(64, 32), (64, 32), (32, 64), (64, 64), (64, 32), (640, 320)]:
        picture = noise(*size)
        last = filler.fill(picture, tensor, last)
        assert last == filler.fill(picture, fresh)
        np.testing.assert_array_equal(tensor, fresh)


def test_tensors_may_be_filled_by_many_threads_at_once() -> None:
    filler = InputFiller((32, 24), LETTERBOX)
    pictures = [noise(60 + seed, 40, seed=seed) for seed in range(64)]

    def filled(picture: Picture) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        tensor = np.empty((24, 32, 3), np.uint8)
        filler.fill(picture, tensor)
        return tensor

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(filled, pictures))
    for alone, tensor in zip(map(filled, pictures), together, strict=True):
        np.testing.assert_array_equal(alone, tensor)


def test_an_even_picture_stays_even() -> None:
    tensor = np.empty((24, 32, 3), np.uint8)
    InputFiller((32, 24), InputRecipe()).fill(make_picture(luma=126), tensor)
    assert np.ptp(tensor) == 0
