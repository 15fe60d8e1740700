"""The planes that a sink draws on: its own buffer, never the decoder's.

A picture is copied once, plane by plane (turned upright and scaled on the way), and everything is
then painted straight on the 4:2:0 planes: no full-size conversion of colours happens at all.

All coordinates are those of the upright picture. They are rounded to even numbers, since two by
two pixels share their colour: an edge between them would bleed. Nothing is painted outside.

One thread uses a canvas at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import cv2
import numpy as np

from vidpipe.outputs.palette import Bgr
from vidpipe.pixels import upright, yuv_from_bgr
from vidpipe.types import ColorMatrix, Picture, Pixels

Yuv: TypeAlias = tuple[int, int, int]

_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


@lru_cache(maxsize=512)
def _yuv(color: Bgr, matrix: ColorMatrix, is_full_range: bool) -> Yuv:  # noqa: FBT001 - a cache key
    """Convert once: a picture of ten boxes asks sixty times for few colours."""
    return yuv_from_bgr(color, matrix, is_full_range=is_full_range)


@dataclass(frozen=True, slots=True)
class Patch:
    """A small opaque picture, ready to be pasted: (H, W) luma and (H/2, W/2) chroma, even sizes."""

    y: Pixels
    u: Pixels
    v: Pixels

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.y.shape
        return width, height


@dataclass(frozen=True, slots=True)
class CanvasFormat:
    """What stays the same from picture to picture within one video.

    Attributes:
        size_wh: The planes' size: even numbers.
        content_wh: The part that shows the picture; a last odd row or column beyond it is padding.
        matrix: How the colours were made.
        is_full_range: True for 0..255, False for 16..235.
    """

    size_wh: tuple[int, int]
    content_wh: tuple[int, int]
    matrix: ColorMatrix = ColorMatrix.BT601
    is_full_range: bool = False


@dataclass(frozen=True, slots=True)
class Canvas:
    """Writable planes of even size.

    Attributes:
        y: (H, W) uint8; rows may be further apart than W, by an even number of bytes.
        u: (H/2, W/2) uint8.
        v: The same shape as ``u``.
        format: Size, content and colours.
    """

    y: Pixels
    u: Pixels
    v: Pixels
    format: CanvasFormat

    @property
    def content_wh(self) -> tuple[int, int]:
        """Width and height of the part that shows the picture."""
        return self.format.content_wh

    def yuv(self, color: Bgr) -> Yuv:
        """Return what a colour is on these planes."""
        return _yuv(color, self.format.matrix, self.format.is_full_range)

    def fill(self, left: int, top: int, right: int, bottom: int, color: Yuv) -> None:
        """Paint a rectangle, as far as it lies inside; right and bottom are exclusive."""
        height, width = self.y.shape
        x1, y1 = max(0, left) // 2, max(0, top) // 2
        x2, y2 = (min(width, right) + 1) // 2, (min(height, bottom) + 1) // 2
        if x1 < x2 and y1 < y2:
            self.y[2 * y1 : 2 * y2, 2 * x1 : 2 * x2] = color[0]
            self.u[y1:y2, x1:x2] = color[1]
            self.v[y1:y2, x1:x2] = color[2]

    def outline(self, box_ltrb: tuple[int, int, int, int], thickness_px: int, color: Yuv) -> None:
        """Paint a frame of an even thickness just inside a box."""
        left, top, right, bottom = box_ltrb
        right, bottom = max(right, left + 2), max(bottom, top + 2)
        if min(right - left, bottom - top) <= 2 * thickness_px:
            self.fill(left, top, right, bottom, color)
            return
        self.fill(left, top, right, top + thickness_px, color)
        self.fill(left, bottom - thickness_px, right, bottom, color)
        for x in range(0, thickness_px, 2):
            self._fill_column(left + x, top, bottom, color)
            self._fill_column(right - thickness_px + x, top, bottom, color)

    def _fill_column(self, left: int, top: int, bottom: int, color: Yuv) -> None:
        """Paint two columns as one of 16-bit numbers: five times as fast as a narrow rectangle."""
        height, width = self.y.shape
        x, y1, y2 = left // 2, max(0, top) // 2, (min(height, bottom) + 1) // 2
        if 0 <= x < width // 2 and y1 < y2:
            self.y.view(np.uint16)[2 * y1 : 2 * y2, x] = 257 * color[0]
            self.u[y1:y2, x] = color[1]
            self.v[y1:y2, x] = color[2]

    def paste(self, patch: Patch, left: int, top: int) -> None:
        """Copy a patch to an even place at or before the one given; what lies outside is cut."""
        height, width = self.y.shape
        x, y = max(0, left) // 2, max(0, top) // 2
        w = min(patch.u.shape[1], width // 2 - x)
        h = min(patch.u.shape[0], height // 2 - y)
        if w > 0 and h > 0:
            self.y[2 * y : 2 * (y + h), 2 * x : 2 * (x + w)] = patch.y[: 2 * h, : 2 * w]
            self.u[y : y + h, x : x + w] = patch.u[:h, :w]
            self.v[y : y + h, x : x + w] = patch.v[:h, :w]


def format_for(
    picture: Picture, *, scale: float | None = None, fit_wh: tuple[int, int] | None = None
) -> CanvasFormat:
    """Return the format in which a picture is drawn; it is never enlarged, but for padding.

    Unscaled, an odd size is padded, so that no content is lost; scaled, it is rounded.

    Args:
        picture: The pixels.
        scale: A factor above 0 and at most 1, or None.
        fit_wh: A size to fit into, keeping the aspect, or None; it wins over the factor.
    """
    width, height = picture.size_wh
    factor = 1.0 if scale is None else scale
    if fit_wh is not None:
        factor = min(1.0, fit_wh[0] / width, fit_wh[1] / height)
    if factor < 1:
        size_wh = max(2, 2 * round(width * factor / 2)), max(2, 2 * round(height * factor / 2))
        return CanvasFormat(size_wh, size_wh, picture.matrix, picture.is_full_range)
    padded_wh = width + width % 2, height + height % 2
    return CanvasFormat(padded_wh, (width, height), picture.matrix, picture.is_full_range)


def new_canvas(wanted: CanvasFormat) -> Canvas:
    """Return a canvas with planes of its own; its pixels are undefined."""
    width, height = wanted.size_wh
    chroma = np.empty((2, height // 2, width // 2), np.uint8)
    return Canvas(np.empty((height, width), np.uint8), chroma[0], chroma[1], wanted)


def paint_picture(canvas: Canvas, picture: Picture) -> None:
    """Copy a picture onto a canvas: upright, and stretched where their sizes differ."""
    width, height = canvas.content_wh
    turn = picture.rotation_deg
    half_w, half_h = (width + 1) // 2, (height + 1) // 2
    _copy_plane(picture.y, canvas.y[:height, :width], turn)
    _copy_plane(picture.u, canvas.u[:half_h, :half_w], turn)
    _copy_plane(picture.v, canvas.v[:half_h, :half_w], turn)
    canvas.y[:height, width:] = canvas.y[:height, width - 1 : width]
    canvas.y[height:] = canvas.y[height - 1]


def _copy_plane(source: Pixels, target: Pixels, rotation_deg: int) -> None:
    """Copy one plane, smaller and turned as needed; the large source is read once."""
    is_sideways = rotation_deg in (90, 270)
    height, width = target.shape[::-1] if is_sideways else target.shape
    if source.shape == (height, width):
        if rotation_deg:
            cv2.rotate(source, _TURNS[rotation_deg], dst=target)
        else:
            np.copyto(target, source)
        return
    # Halving by exact averages first: a bilinear step of more than two would skip pixels.
    while source.shape[0] >= 4 * height and source.shape[1] >= 4 * width:
        half_wh = (source.shape[1] // 2, source.shape[0] // 2)
        source = np.asarray(cv2.resize(source, half_wh, interpolation=cv2.INTER_AREA), np.uint8)
    if rotation_deg:
        small = cv2.resize(source, (width, height), interpolation=cv2.INTER_LINEAR)
        np.copyto(target, upright(np.asarray(small, np.uint8), rotation_deg))
    else:
        cv2.resize(source, (width, height), dst=target, interpolation=cv2.INTER_LINEAR)
