"""An input of the streams' own shape: no arithmetic is spent on the grey beside a picture.

A picture of 16:9 that is letterboxed into a square leaves 44 percent of it grey. A convolutional
detector can be given another input: as wide or as high as its own, at the same scale of pixels, and
in the other direction just as long as the picture is, rounded up to the model's stride.
"""

from __future__ import annotations

from math import ceil

from vidpipe.errors import ModelError
from vidpipe.inference.decoders.family import Signature
from vidpipe.inference.decoders.grid import STANDARD, stride_of, strides_of
from vidpipe.inference.settings import InputRecipe, Resize

_USUAL_STRIDE = 32
_BOXES_A_CELL = (1, 3)
_TABLE_RANK = 3


def fitted_wh(own_wh: tuple[int, int], aspect: float, stride: int) -> tuple[int, int]:
    """Return the least input in which a picture of an aspect has the scale that it has now.

    Args:
        own_wh: The model's input in pixels.
        aspect: The pictures' displayed width by their height.
        stride: Both sides are multiples of this, unless the model's own side is none.
    """
    width, height = own_wh
    if aspect >= width / height:
        return width, _rounded_up(width / aspect, stride, height)
    return _rounded_up(height * aspect, stride, width), height


def scale_beside_square(aspect: float, of_aspect: float) -> float:
    """Return the scale of a picture in an input of another shape, by that in the whole square.

    The input is a square model's, fitted to ``of_aspect``; rounding it up to the stride, which
    isn't reckoned with, can only add to the scale.

    Args:
        aspect: The picture's displayed width by its height.
        of_aspect: The same of the pictures that the input is fitted to.
    """
    width, height = min(1.0, aspect), min(1.0, 1 / aspect)
    room_w, room_h = min(1.0, of_aspect), min(1.0, 1 / of_aspect)
    return min(1.0, room_w / width, room_h / height)


def coarsest_stride(signature: Signature) -> int:
    """Return the stride of a model's coarsest map, as its outputs show it, or the usual one."""
    found = [_USUAL_STRIDE]
    for spec in signature.outputs:
        if spec.shape is None or len(spec.shape) != _TABLE_RANK:
            continue
        for count in spec.shape[1:]:
            single = stride_of(count, signature.picture_wh)
            if single is not None:
                found.append(single)
            for boxes in _BOXES_A_CELL:
                strides = strides_of(count, signature.picture_wh, boxes)
                if strides in STANDARD:
                    found.append(strides[-1])
    return max(found)


def require_letterbox(recipe: InputRecipe, model: str) -> None:
    """Refuse a model into which pictures are stretched: there is no grey to save.

    Raises:
        ModelError: It is such a one.
    """
    if recipe.resize is Resize.STRETCH:
        raise ModelError(
            f"model {model}: input.fit: streams is for models that see their pictures letterboxed;"
            " this one was trained on stretched ones, which fill its input whatever their shape;"
            " leave the key out (input.size sets another input)"
        )


def _rounded_up(side: float, stride: int, most: int) -> int:
    # A hair less, so that 16:9 in whole pixels doesn't round to one stride more.
    return min(most, max(1, ceil(side / stride - 1e-3)) * stride)
