"""How a decoded picture's colours are to be read, from the numbers of ITU-T H.273.

Pure: which pixel formats pass as they are, which are converted, and what matrix and range they have
then. Unspecified is BT.601 in limited range, as swscale and OpenCV take it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from vidpipe.types import ColorMatrix

_MATRICES = {
    1: ColorMatrix.BT709,
    7: ColorMatrix.BT709,  # SMPTE 240M: (0.212, 0.087), nearest to BT.709
    9: ColorMatrix.BT2020,
    10: ColorMatrix.BT2020,
}
"""By matrix coefficients (H.273 table 4); all others are BT.601 or nearest to it."""

_FULL_RANGE = 2
"""FFmpeg's AVCOL_RANGE_JPEG."""

_PLANAR = frozenset({"yuv420p", "yuvj420p", "yuva420p"})
_RGB_PREFIXES = ("rgb", "bgr", "gbr", "argb", "abgr", "0rgb", "0bgr", "x2rgb", "x2bgr", "pal8")
_RGB_OTHERS = ("bayer", "mono", "xyz")


@dataclass(frozen=True, slots=True)
class Coloring:
    """What to do with a pixel format, and what its planes mean afterwards.

    Attributes:
        matrix: The matrix of the planes.
        is_full_range: Whether they use 0..255.
        is_planar: The first three planes are 8-bit 4:2:0 already.
        is_grey: There is no colour: only luma is taken, as 8 bits.
        is_rgb: The source has no matrix of its own: the conversion chooses it.
    """

    matrix: ColorMatrix
    is_full_range: bool
    is_planar: bool
    is_grey: bool
    is_rgb: bool


@lru_cache(maxsize=256)
def coloring_of(pixel_format: str, matrix_code: int, range_code: int) -> Coloring:
    """Return how to read a picture.

    Args:
        pixel_format: FFmpeg's name, such as ``yuv420p``.
        matrix_code: Matrix coefficients as H.273 numbers them; 2 is unspecified.
        range_code: 0 unspecified, 1 limited, 2 full.
    """
    is_rgb = pixel_format.startswith(_RGB_PREFIXES) or pixel_format.startswith(_RGB_OTHERS)
    # swscale reads all grey as full range, whatever the tag says; so do its callers.
    is_any_grey = pixel_format.startswith(("gray", "ya8", "ya16"))
    is_full = range_code == _FULL_RANGE or pixel_format.startswith("yuvj") or is_any_grey
    return Coloring(
        matrix=ColorMatrix.BT601
        if is_rgb or is_any_grey
        else _MATRICES.get(matrix_code, ColorMatrix.BT601),
        is_full_range=is_full and not is_rgb,
        is_planar=pixel_format in _PLANAR,
        is_grey=is_any_grey,
        is_rgb=is_rgb,
    )
