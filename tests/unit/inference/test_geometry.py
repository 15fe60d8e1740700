from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.settings import Anchor, InputRecipe, Resize

STRETCH = InputRecipe(resize=Resize.STRETCH)
CENTRE = InputRecipe(resize=Resize.LETTERBOX, anchor=Anchor.CENTRE)
CORNER = InputRecipe(resize=Resize.LETTERBOX, anchor=Anchor.CORNER)


@pytest.mark.parametrize(
    ("recipe", "box", "expected"),
    [
        (STRETCH, [30, 30, 60, 60], [192, 108, 384, 216]),
        # 1920x1080 in 300x300 is 300x169, with 65 rows above it when centred.
        (CENTRE, [0, 65, 300, 234], [0, 0, 1920, 1080]),
        (CORNER, [0, 0, 300, 169], [0, 0, 1920, 1080]),
        (CENTRE, [-50, -50, 400, 400], [0, 0, 1920, 1080]),
    ],
)
def test_boxes_of_the_input_come_back_to_the_frame(
    recipe: InputRecipe, box: list[float], expected: list[float]
) -> None:
    geometry = geometry_of((1920, 1080), (300, 300), recipe)
    np.testing.assert_allclose(geometry.boxes_to_frame(np.array([box], float)), [expected])


@given(
    st.tuples(st.integers(1, 9000), st.integers(1, 9000)),
    st.tuples(st.integers(1, 1300), st.integers(1, 1300)),
    st.sampled_from([STRETCH, CENTRE, CORNER]),
)
def test_the_picture_lies_within_the_input_and_covers_the_frame(
    frame_wh: tuple[int, int], input_wh: tuple[int, int], recipe: InputRecipe
) -> None:
    g = geometry_of(frame_wh, input_wh, recipe)
    assert g.pad_x >= 0
    assert g.pad_y >= 0
    assert 1 <= g.inner_w <= input_wh[0] - g.pad_x
    assert 1 <= g.inner_h <= input_wh[1] - g.pad_y
    inner = [[g.pad_x, g.pad_y, g.pad_x + g.inner_w, g.pad_y + g.inner_h]]
    np.testing.assert_allclose(g.boxes_to_frame(np.array(inner, float)), [[0, 0, *frame_wh]])
