from __future__ import annotations

import numpy as np
import pytest

from vidpipe.inference.decoders.anchors import AnchorGrid, grid_from_text


def test_the_grid_of_300_pixels_has_1917_anchors() -> None:
    assert AnchorGrid().anchors().shape == (1917, 4)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        # centre y, centre x, height, width
        (0, (0.5 / 19, 0.5 / 19, 0.1, 0.1)),
        (1, (0.5 / 19, 0.5 / 19, 0.2 / 2**0.5, 0.2 * 2**0.5)),
        (2, (0.5 / 19, 0.5 / 19, 0.2 * 2**0.5, 0.2 / 2**0.5)),
        (3, (0.5 / 19, 1.5 / 19, 0.1, 0.1)),
        (3 * 19, (1.5 / 19, 0.5 / 19, 0.1, 0.1)),
        (1083, (0.05, 0.05, 0.35, 0.35)),
        (1083 + 5, (0.05, 0.05, (0.35 * 0.5) ** 0.5, (0.35 * 0.5) ** 0.5)),
        (1916, (0.5, 0.5, 0.95**0.5, 0.95**0.5)),
    ],
)
def test_anchors_follow_the_closed_form(index: int, expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(AnchorGrid().anchors()[index], expected)


def test_a_grid_survives_as_text() -> None:
    grid = AnchorGrid(maps=(4, 2), min_scale=0.3, max_scale=0.9, ratios=(1.0, 0.5))
    assert grid_from_text(grid.to_text()) == grid


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"maps": 3}', '{"maps": ["x"]}', "null"])
def test_other_text_is_no_grid(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        grid_from_text(text)
