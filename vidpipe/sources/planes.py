"""Decoded frames as pictures: read-only views of the decoder's planes, converted only if need be.

Frames are described by what is asked of them, so that the decoder's library is imported in
``video`` alone. Any thread may call, one at a time for frames of one decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from vidpipe.sources.coloring import Coloring, coloring_of
from vidpipe.types import ColorMatrix, Picture, Pixels

_COLORSPACES = {
    ColorMatrix.BT601: "ITU601",
    ColorMatrix.BT709: "ITU709",
    ColorMatrix.BT2020: "BT2020",
}
"""swscale's names."""


class PixelFormat(Protocol):
    """A pixel format by its name."""

    @property
    def name(self) -> str:
        """FFmpeg's name, such as ``yuv420p``."""


class FramePlane(Protocol):
    """One plane: a buffer of ``height`` rows of ``line_size`` bytes."""

    @property
    def line_size(self) -> int:
        """Bytes from row to row; negative where rows are stored from the bottom up."""

    @property
    def width(self) -> int:
        """Samples a row."""

    @property
    def height(self) -> int:
        """Rows."""


class DecodedFrame(Protocol):
    """What is asked of a frame of PyAV."""

    @property
    def format(self) -> PixelFormat:
        """Its pixel format."""

    @property
    def colorspace(self) -> int:
        """Matrix coefficients, as H.273 numbers them."""

    @property
    def color_range(self) -> int:
        """0 unspecified, 1 limited, 2 full."""

    @property
    def rotation(self) -> int:
        """Degrees by which its display matrix turns it counterclockwise."""

    @property
    def planes(self) -> Sequence[Any]:
        """Its planes, as ``FramePlane`` with the buffer protocol."""

    def reformat(self, *args: Any, **kwargs: Any) -> Any:
        """Convert by swscale."""


def picture_of(frame: DecodedFrame) -> Picture:
    """Return a frame's picture: without a copy where it is 8-bit 4:2:0 or grey.

    Raises whatever the library raises for a pixel format that can't be converted.
    """
    name = frame.format.name
    coloring = coloring_of(name, frame.colorspace, frame.color_range)
    is_ready = coloring.is_planar or name == "gray"
    planes = (frame if is_ready else _converted(frame, coloring)).planes
    y = view_of(planes[0])
    if coloring.is_grey:
        u = v = _neutral_chroma((y.shape[0] + 1) // 2, (y.shape[1] + 1) // 2)
    else:
        u, v = view_of(planes[1]), view_of(planes[2])
    return Picture(y, u, v, coloring.matrix, coloring.is_full_range, clockwise_deg(frame))


def clockwise_deg(frame: DecodedFrame) -> int:
    """Return the clockwise quarter turns that bring a frame upright, in degrees.

    FFmpeg tells by how much its matrix turns counterclockwise, so this is the other way round.
    """
    return -round(frame.rotation / 90) * 90 % 360


def view_of(plane: Any) -> Pixels:
    """Return a ``FramePlane``'s pixels; the view keeps the decoder's buffer alive."""
    stride: int = plane.line_size
    height: int = plane.height
    view: Pixels = np.ndarray(
        (height, plane.width),
        np.uint8,
        buffer=plane,
        offset=0 if stride >= 0 else (height - 1) * -stride,
        strides=(stride, 1),
    )
    view.setflags(write=False)
    return view


def _converted(frame: DecodedFrame, coloring: Coloring) -> DecodedFrame:
    colorspace = _COLORSPACES[coloring.matrix]
    color_range = "JPEG" if coloring.is_full_range else "MPEG"
    converted: DecodedFrame = frame.reformat(
        format="gray" if coloring.is_grey else "yuv420p",
        src_colorspace=colorspace,
        dst_colorspace=colorspace,
        src_color_range="JPEG" if coloring.is_rgb else color_range,
        dst_color_range=color_range,
        threads=1,
    )
    return converted


@lru_cache(maxsize=16)
def _neutral_chroma(height: int, width: int) -> Pixels:
    plane = np.full((height, width), 128, np.uint8)
    plane.flags.writeable = False
    return plane
