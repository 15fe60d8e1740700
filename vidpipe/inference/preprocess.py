"""Write a frame into a model's input tensor: resize in planes, convert the small picture, pad.

Colour order, mean, scale and layout are no work of the host: they are part of the graph. So the
tensor is always (H, W, 3) uint8 BGR, whatever the model was trained with.
"""

from __future__ import annotations

from vidpipe.inference.geometry import Geometry, geometry_of
from vidpipe.inference.settings import InputRecipe
from vidpipe.pixels import bgr_resized
from vidpipe.types import Picture, Pixels


class InputFiller:
    """Fills tensors of one model; immutable, so any number of threads may fill at once."""

    def __init__(self, input_wh: tuple[int, int], recipe: InputRecipe) -> None:
        self._input_wh = input_wh
        self._recipe = recipe

    @property
    def input_wh(self) -> tuple[int, int]:
        """Width and height of the model's input in pixels."""
        return self._input_wh

    def fill(self, picture: Picture, tensor: Pixels, last: Geometry | None = None) -> Geometry:
        """Write a picture into a tensor and return where it lies there.

        Args:
            picture: The frame's pixels.
            tensor: (H, W, 3) uint8, contiguous.
            last: The geometry that this very tensor was last filled with, or None; the padding is
                written only where it changed.
        """
        if last is not None and (last.frame_w, last.frame_h) == picture.size_wh:
            geometry = last
        else:
            geometry = geometry_of(picture.size_wh, self._input_wh, self._recipe)
        inner_wh = (geometry.inner_w, geometry.inner_h)
        if inner_wh == self._input_wh:
            bgr_resized(picture, inner_wh, tensor)
            return geometry
        if geometry != last:
            tensor.fill(self._recipe.pad)
        top, left = geometry.pad_y, geometry.pad_x
        inner = tensor[top : top + geometry.inner_h, left : left + geometry.inner_w]
        bgr_resized(picture, inner_wh, inner)
        return geometry
