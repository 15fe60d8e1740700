"""Pictures that no two of are alike, to a detector either: the same at every start."""

from __future__ import annotations

import numpy as np

from vidpipe.types import Pixels

_BLOCKS = 12
_NOISE = 20.0


def testcard(number: int, size_wh: tuple[int, int]) -> Pixels:
    """Return the numbered picture, (H, W, 3) uint8: a slope of colours, blocks on it, and noise.

    Slope and blocks differ in what a detector looks for, noise in every pixel.
    """
    width, height = size_wh
    chance = np.random.default_rng(number)
    begin, end = chance.uniform(0, 255, (2, 1, 1, 3))
    angle = chance.uniform(0, 2 * np.pi)
    across, down = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    slope = (across * np.cos(angle) + down * np.sin(angle) + np.sqrt(2)) / np.sqrt(8)
    card = begin + (end - begin) * slope[:, :, None]
    for _ in range(_BLOCKS):
        left, right = np.sort(chance.integers(0, width + 1, 2))
        top, bottom = np.sort(chance.integers(0, height + 1, 2))
        card[top:bottom, left:right] = chance.uniform(0, 255, 3)
    card += chance.normal(0, _NOISE, card.shape)
    return np.asarray(np.clip(card, 0, 255), np.uint8)
