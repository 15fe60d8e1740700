"""What an image file is and how large, from its first bytes alone: nothing is decoded.

Some kilobytes can promise a picture that fills the memory, and a text can be taken for a list of
addresses to open: so both are looked at before any decoder is.
"""

from __future__ import annotations

import struct
from enum import StrEnum

_PNG, _BMP = b"\x89PNG\r\n\x1a\n", b"BM"
_SHORT_BMP_HEAD = 12
_MARKERS_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Starts of frame; the others of that range hold tables (ITU-T T.81, table B.1)."""
_LOSSY_START = b"\x9d\x01\x2a"


class ImageKind(StrEnum):
    """The kinds that are taken, by the names of FFmpeg's decoders."""

    JPEG = "mjpeg"
    PNG = "png"
    WEBP = "webp"
    BMP = "bmp"


def image_kind(data: bytes) -> ImageKind | None:
    """Return what a file is, or None if it is nothing of that."""
    if data.startswith(b"\xff\xd8\xff"):
        return ImageKind.JPEG
    if data.startswith(_PNG):
        return ImageKind.PNG
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ImageKind.WEBP
    return ImageKind.BMP if data.startswith(_BMP) else None


def image_size_wh(data: bytes, kind: ImageKind) -> tuple[int, int]:
    """Return a file's size in pixels, as it is stored.

    Raises:
        ValueError: It breaks off before it says its size, or says none.
    """
    read = {
        ImageKind.JPEG: _jpeg_wh,
        ImageKind.PNG: _png_wh,
        ImageKind.WEBP: _webp_wh,
        ImageKind.BMP: _bmp_wh,
    }[kind]
    try:
        width, height = read(data)
    except (struct.error, IndexError):
        raise ValueError("it breaks off before it says its size") from None
    if width <= 0 or height <= 0:
        raise ValueError(f"it says that it is {width}x{height} pixels")
    return width, height


def _jpeg_wh(data: bytes) -> tuple[int, int]:
    place = 2
    while True:
        while data[place] == 0xFF and data[place + 1] == 0xFF:
            place += 1  # padding
        if data[place] != 0xFF:
            raise ValueError("it is damaged before it says its size")
        marker = data[place + 1]
        place += 2
        if marker in _SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", data, place + 3)
            return width, height
        if marker not in _MARKERS_WITHOUT_LENGTH:
            (length,) = struct.unpack_from(">H", data, place)
            place += max(2, length)


def _png_wh(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise ValueError("it doesn't say its size")
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _bmp_wh(data: bytes) -> tuple[int, int]:
    (head,) = struct.unpack_from("<I", data, 14)
    if head == _SHORT_BMP_HEAD:
        width, height = struct.unpack_from("<HH", data, 18)
    else:
        width, height = struct.unpack_from("<ii", data, 18)
    return width, abs(height)  # negative where the rows begin at the top


def _webp_wh(data: bytes) -> tuple[int, int]:
    chunk = data[12:16]
    if chunk == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        if len(data) < 30:
            raise IndexError
        return width, height
    if chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 " and data[23:26] == _LOSSY_START:
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("it doesn't say its size")
