"""A result as a small picture with its boxes: planes made smaller, drawn on, then encoded.

Lines and letters are those of the small picture's own size, so that they read on a small tile.
Pure, but for what an annotator remembers of its text.

JPEG is full-range BT.601 whatever the planes are, so the small picture goes through BGR once. Of
480x270, in CPU milliseconds side by side on a busy machine: 0.26 for that (half of it for BT.601 in
limited range, of which OpenCV knows) and 0.32 for OpenCV's encoder (libjpeg-turbo, 4:2:0); FFmpeg's
takes 0.49 for planes that are full-range already; libjpeg-turbo given planes, with their range
mapped, 0.36, for which it would need a package more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.canvas import Canvas, CanvasFormat, format_for, paint_picture
from vidpipe.outputs.glyphs import Typesetter, line_height_px
from vidpipe.pixels import bgr_from_picture
from vidpipe.shots import ShotSize
from vidpipe.types import ColorMatrix, FrameResult, Picture, Pixels

MOST_SIZES = 6
"""So many pictures of a frame are encoded at most: beyond, sizes that are near share one."""

_INK = 208
"""How bright text on black is, of 255."""
_LARGEST_FONT_PX, _SMALLEST_FONT_PX = 28, 11


@dataclass(frozen=True, slots=True)
class Tile:
    """An encoded picture.

    Attributes:
        jpeg: Its bytes.
        size_wh: Its width and height in pixels.
    """

    jpeg: bytes
    size_wh: tuple[int, int]


def fitted_wh(source_wh: tuple[int, int], size: ShotSize) -> tuple[int, int]:
    """Return the size of a picture that fits into another one's: aspect kept, never enlarged.

    A picture that is made smaller has even sides, at least two pixels long.
    """
    width, height = source_wh
    factor = min(1.0, size.width / width, size.height / height)
    if factor >= 1.0:
        return source_wh
    return max(2, 2 * round(width * factor / 2)), max(2, 2 * round(height * factor / 2))


def plan_tiles(
    source_wh: tuple[int, int], sizes: Collection[ShotSize]
) -> dict[ShotSize, list[ShotSize]]:
    """Return which sizes are encoded, and for which of those that were asked for each one is.

    At most ``MOST_SIZES`` are: where more were asked for, they are rounded up to steps that grow.
    """
    step = 1
    while True:
        plan: dict[ShotSize, list[ShotSize]] = {}
        for size in sizes:
            room = ShotSize(_up(size.width, step), _up(size.height, step), size.has_captions)
            width, height = fitted_wh(source_wh, room)
            plan.setdefault(ShotSize(width, height, size.has_captions), []).append(size)
        if len(plan) <= MOST_SIZES:
            return plan
        step *= 2


def encode_tile(
    result: FrameResult, size_wh: tuple[int, int], annotator: Annotator, *, quality: int
) -> Tile:
    """Draw and encode a result.

    Args:
        result: The frame, its pixels and what was found.
        size_wh: The size that ``fitted_wh`` says.
        annotator: Draws; one thread at a time.
        quality: Of the JPEG, 1 to 100.
    """
    picture = result.frame.picture
    canvas, packed = _packed_canvas(_format(picture, size_wh))
    paint_picture(canvas, picture)
    annotator.draw(canvas, result)
    return Tile(_jpeg(_bgr(canvas, packed), quality), canvas.content_wh)


def encode_placard(
    size_wh: tuple[int, int], lines: Sequence[str], typesetter: Typesetter, *, quality: int
) -> bytes:
    """Return a JPEG of text on black, in the middle; what doesn't fit is elided or left out."""
    width, height = size_wh
    paper = np.zeros((height, width), np.uint8)
    font = max(_SMALLEST_FONT_PX, min(_LARGEST_FONT_PX, min(size_wh) // 14))
    line_px = line_height_px(font)
    shown = lines[: max(1, height // line_px)]
    top = max(0, (height - line_px * len(shown)) // 2)
    for line in shown:
        mask = typesetter.mask(line, font, max(2, width - 2 * font))[: height - top]
        left = max(0, (width - mask.shape[1]) // 2)
        part = paper[top : top + mask.shape[0], left : left + mask.shape[1]]
        part[:] = mask[:, : part.shape[1]].astype(np.uint16) * _INK // 255
        top += line_px
    return _jpeg(paper, quality)


def counts_of(labels: Sequence[str]) -> Mapping[str, int]:
    """Return how many objects there are of each label, in the order of their first."""
    counts: dict[str, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return counts


def _up(length: int, step: int) -> int:
    return -(-length // step) * step


def _format(picture: Picture, size_wh: tuple[int, int]) -> CanvasFormat:
    if size_wh == picture.size_wh:
        return format_for(picture)
    return CanvasFormat(size_wh, size_wh, picture.matrix, picture.is_full_range)


def _packed_canvas(wanted: CanvasFormat) -> tuple[Canvas, Pixels]:
    """Return a canvas, and its planes one behind the other as OpenCV's I420, (1.5 H, W) uint8."""
    width, height = wanted.size_wh
    packed = np.empty((height * 3 // 2, width), np.uint8)
    chroma = packed[height:].reshape(2, height // 2, width // 2)
    return Canvas(packed[:height], chroma[0], chroma[1], wanted), packed


def _bgr(canvas: Canvas, packed: Pixels) -> Pixels:
    """Return a canvas without its padding as BGR, (H, W, 3) uint8."""
    width, height = canvas.content_wh
    if canvas.format.matrix is ColorMatrix.BT601 and not canvas.format.is_full_range:
        whole = np.asarray(cv2.cvtColor(packed, cv2.COLOR_YUV2BGR_I420), np.uint8)
        return whole[:height, :width]
    half_w, half_h = (width + 1) // 2, (height + 1) // 2
    planes = canvas.y[:height, :width], canvas.u[:half_h, :half_w], canvas.v[:half_h, :half_w]
    return bgr_from_picture(Picture(*planes, canvas.format.matrix, canvas.format.is_full_range))


def _jpeg(pixels: Pixels, quality: int) -> bytes:
    """Encode BGR or grey pixels."""
    options = [
        cv2.IMWRITE_JPEG_QUALITY,
        quality,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
    ]
    _, data = cv2.imencode(".jpg", pixels, options)
    return data.tobytes()
