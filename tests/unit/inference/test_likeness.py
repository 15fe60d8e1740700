from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vidpipe.inference.likeness import COARSE, EXACT, Tolerance, is_alike, is_telling

Floats = NDArray[np.float32]


def noise(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def boxes(seed: int, count: int = 40) -> Floats:
    """Return an SSD's rows, by falling score."""
    chance = np.random.default_rng(seed)
    rows = chance.uniform(0, 1, (count, 7)).astype(np.float32)
    rows[:, 0] = 0
    rows[:, 1] = chance.integers(0, 3, count)
    rows[:, 2] = np.sort(rows[:, 2])[::-1]
    return rows[None, None]


@pytest.mark.parametrize(("tolerance", "error"), [(EXACT, 1e-5), (COARSE, 5e-3)])
def test_a_map_is_alike_within_what_the_arithmetic_changes(
    tolerance: Tolerance, error: float
) -> None:
    own, other = noise(0, 1, 2000, 9), noise(1, 1, 2000, 9)
    answer = own + error * noise(2, 1, 2000, 9)
    assert is_alike(answer, own, other, tolerance)
    assert is_alike(own, own, other, EXACT)
    assert not is_alike(other, own, other, tolerance)
    assert not is_alike(0.5 * own + 0.5 * other, own, other, tolerance)


def test_exact_arithmetic_forgives_less() -> None:
    own, other = noise(0, 1, 2000, 9), noise(1, 1, 2000, 9)
    answer = own + 0.08 * noise(2, 1, 2000, 9)
    assert is_alike(answer, own, other, COARSE)
    assert not is_alike(answer, own, other, EXACT)


def test_a_map_that_differs_little_between_pictures_must_still_be_its_own() -> None:
    # As boxes in pixels, of which most is the place of the cell.
    common = 100 * noise(0, 1, 2000, 4)
    own, other = common + 5 * noise(1, 1, 2000, 4), common + 5 * noise(2, 1, 2000, 4)
    assert is_telling(own, other, COARSE)
    assert not is_alike(other, own, other, COARSE)
    assert is_alike(own + 0.3 * noise(3, 1, 2000, 4), own, other, COARSE)


def test_a_list_is_alike_in_another_order_and_with_another_tail() -> None:
    own, other = boxes(0), boxes(1)
    answer = own[:, :, [1, 0, *range(2, 36)]]
    assert is_alike(answer, own, other, COARSE)
    assert is_alike(answer, own, other, EXACT)
    assert not is_alike(other, own, other, COARSE)


@pytest.mark.parametrize("kept", [0, 10, 20])
def test_a_list_that_lacks_much_is_another(kept: int) -> None:
    own, other = boxes(0), boxes(1)
    assert not is_alike(own[:, :, :kept], own, other, COARSE)


def test_the_same_for_every_picture_tells_nothing() -> None:
    for own in (noise(0, 1, 2000, 9), boxes(0), boxes(0, 0), noise(0, 1)):
        assert not is_telling(own, own, EXACT)
        assert is_alike(own, own, own, EXACT)


def test_a_list_of_one_row_may_have_noise() -> None:
    own = np.array([[[[0, 1, 0.9, 0.1, 0.1, 0.5, 0.5]]]], np.float32)
    other = np.array([[[[0, 1, 0.9, 0.1, 0.1, 0.6, 0.5]]]], np.float32)
    assert is_alike(own * np.float32(1 + 1e-6), own, other, EXACT)
    assert is_telling(own, other, EXACT)
    assert not is_telling(own, own * np.float32(1 + 1e-6), EXACT)


def test_numbers_that_are_none_are_compared_as_well() -> None:
    own, other = noise(0, 1, 2000, 9), noise(1, 1, 2000, 9)
    own[0, 3] = np.nan
    assert is_alike(own, own, other, EXACT)
    assert not is_alike(np.full_like(own, np.nan), own, other, COARSE)
    assert not is_alike(np.full_like(own, np.inf), own, other, COARSE)


@pytest.mark.parametrize("shape", [(1,), (1, 5), (1, 3000), (1, 4, 8, 8)])
def test_any_shape_can_be_compared(shape: tuple[int, ...]) -> None:
    own, other = noise(0, *shape), noise(1, *shape)
    assert is_alike(own, own, other, EXACT)
    assert not is_alike(other, own, other, EXACT)
    assert is_telling(own, other, EXACT)
