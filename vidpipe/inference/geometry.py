"""Where a frame lies in the model's input, and the way back.

Source of the formulas: `cv2.resize` maps pixel *edges* to pixel edges, so edge coordinates (and
boxes are such) scale by the plain quotient of the sizes, with no half pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.settings import Anchor, InputRecipe, Resize


@dataclass(frozen=True, slots=True)
class Geometry:
    """The map from model-input pixels to pixels of the displayed frame.

    ``frame_x = (input_x - pad_x) * scale_x``, and likewise for y.

    Attributes:
        scale_x: Frame pixels for each input pixel, across.
        scale_y: The same, down.
        pad_x: Input pixels left of the picture.
        pad_y: Input pixels above the picture.
        frame_w: Displayed width of the frame in pixels.
        frame_h: Displayed height.
        inner_w: Width of the picture within the input, in input pixels.
        inner_h: Its height.
    """

    scale_x: float
    scale_y: float
    pad_x: int
    pad_y: int
    frame_w: int
    frame_h: int
    inner_w: int
    inner_h: int

    def boxes_to_frame(self, boxes_xyxy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (N, 4) boxes of input pixels in frame pixels, clipped to the frame; NaN stays."""
        offset = (self.pad_x, self.pad_y, self.pad_x, self.pad_y)
        scale = (self.scale_x, self.scale_y, self.scale_x, self.scale_y)
        limit = (self.frame_w, self.frame_h, self.frame_w, self.frame_h)
        moved: NDArray[np.float64] = (boxes_xyxy - offset) * scale
        np.maximum(moved, 0.0, out=moved)
        np.minimum(moved, limit, out=moved)
        return moved


def geometry_of(
    frame_wh: tuple[int, int], input_wh: tuple[int, int], recipe: InputRecipe
) -> Geometry:
    """Return where a frame of that size lies in an input of that size.

    A letterboxed picture keeps at least one pixel in each direction, however thin it is.
    """
    frame_w, frame_h = frame_wh
    input_w, input_h = input_wh
    if recipe.resize is Resize.STRETCH:
        return Geometry(
            frame_w / input_w, frame_h / input_h, 0, 0, frame_w, frame_h, input_w, input_h
        )
    ratio = min(input_w / frame_w, input_h / frame_h)
    inner_w = min(input_w, max(1, round(frame_w * ratio)))
    inner_h = min(input_h, max(1, round(frame_h * ratio)))
    is_centred = recipe.anchor is Anchor.CENTRE
    return Geometry(
        scale_x=frame_w / inner_w,
        scale_y=frame_h / inner_h,
        pad_x=(input_w - inner_w) // 2 if is_centred else 0,
        pad_y=(input_h - inner_h) // 2 if is_centred else 0,
        frame_w=frame_w,
        frame_h=frame_h,
        inner_w=inner_w,
        inner_h=inner_h,
    )
