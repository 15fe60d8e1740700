"""Conversions between planes and BGR: on the floor, since three stages need them.

A picture stays in its planes for as long as possible: resizing the planes and converting the small
picture costs a fraction of converting the large one. Every function is pure and may be called from
any thread.

Sources: ITU-R BT.601-7, BT.709-6 and BT.2020-2 for the coefficients, ITU-T H.273 for the ranges.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from vidpipe.types import ColorMatrix, Picture, Pixels

Affine: TypeAlias = NDArray[np.float32]

_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


@lru_cache(maxsize=16)
def _bgr_from_yuv(matrix: ColorMatrix, is_full_range: bool) -> Affine:  # noqa: FBT001 - a cache key
    """Return the (3, 4) affine map from YUV 0..255 to BGR 0..255."""
    kr, kb = matrix.value
    kg = 1.0 - kr - kb
    y_gain, c_gain, black = (1.0, 1.0, 0.0) if is_full_range else (255 / 219, 255 / 224, 16.0)
    rows = np.array(
        [
            [y_gain, 2 * (1 - kb) * c_gain, 0.0],
            [y_gain, -2 * (1 - kb) * kb / kg * c_gain, -2 * (1 - kr) * kr / kg * c_gain],
            [y_gain, 0.0, 2 * (1 - kr) * c_gain],
        ]
    )
    offset = rows @ np.array([-black, -128.0, -128.0])
    return np.concatenate([rows, offset[:, None]], axis=1).astype(np.float32)


@lru_cache(maxsize=16)
def _yuv_from_bgr(matrix: ColorMatrix, is_full_range: bool) -> Affine:  # noqa: FBT001 - a cache key
    """Return the (3, 4) affine map from BGR 0..255 to YUV 0..255: the inverse of the other."""
    forward = _bgr_from_yuv(matrix, is_full_range).astype(np.float64)
    inverse = np.linalg.inv(forward[:, :3])
    return np.concatenate([inverse, -inverse @ forward[:, 3:]], axis=1).astype(np.float32)


def yuv_from_bgr(
    color_bgr: tuple[int, int, int], matrix: ColorMatrix, *, is_full_range: bool
) -> tuple[int, int, int]:
    """Return the Y, U and V with which a colour is painted on planes of that matrix and range."""
    affine = _yuv_from_bgr(matrix, is_full_range)
    y, u, v = np.clip(np.rint(affine @ np.array([*color_bgr, 1.0])), 0, 255)
    return int(y), int(u), int(v)


def upright(pixels: Pixels, rotation_deg: int) -> Pixels:
    """Turn a plane or picture clockwise; the same array where there is nothing to turn."""
    return (
        pixels
        if rotation_deg == 0
        else np.asarray(cv2.rotate(pixels, _TURNS[rotation_deg]), np.uint8)
    )


def bgr_resized(picture: Picture, size_wh: tuple[int, int], out: Pixels | None = None) -> Pixels:
    """Return the displayed picture stretched to a size as BGR, (height, width, 3) uint8.

    Bilinear, plane by plane, then one conversion of the small picture.

    Args:
        picture: The pixels.
        size_wh: Width and height wanted, as displayed.
        out: Where to write; a (height, width, 3) view, which may be a part of a larger picture.
    """
    width, height = size_wh
    coded_wh = (height, width) if picture.rotation_deg in (90, 270) else (width, height)
    planes = [
        plane
        if plane.shape[::-1] == coded_wh
        else cv2.resize(plane, coded_wh, interpolation=cv2.INTER_LINEAR)
        for plane in (picture.y, picture.u, picture.v)
    ]
    affine = _bgr_from_yuv(picture.matrix, picture.is_full_range)
    if picture.rotation_deg == 0 and out is not None and out.flags.c_contiguous:
        cv2.transform(cv2.merge(planes), affine, dst=out)
        return out
    bgr = upright(
        np.asarray(cv2.transform(cv2.merge(planes), affine), np.uint8), picture.rotation_deg
    )
    if out is None:
        return bgr
    np.copyto(out, bgr)
    return out


def bgr_from_picture(picture: Picture) -> Pixels:
    """Return the displayed picture at full size as BGR, (H, W, 3) uint8: for who needs it."""
    return bgr_resized(picture, picture.size_wh)


def picture_from_bgr(bgr: Pixels) -> Picture:
    """Return a BGR picture, (H, W, 3) uint8 of any size, as planes (BT.601, limited range)."""
    height, width = bgr.shape[:2]
    even = cv2.copyMakeBorder(bgr, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
    packed = np.asarray(cv2.cvtColor(even, cv2.COLOR_BGR2YUV_I420), np.uint8)
    packed.flags.writeable = False
    rows, half_w = even.shape[0], even.shape[1] // 2
    chroma = packed[rows:].reshape(2, rows // 2, half_w)
    return Picture(packed[:height, :width], chroma[0], chroma[1])
