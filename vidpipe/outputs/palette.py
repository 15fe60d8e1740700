"""The colour of a class: the same in every stream, every run and every process.

The colours are told apart on dark and on bright scenes; which one a label gets depends on the
label's text alone.
"""

from __future__ import annotations

import zlib
from typing import TypeAlias

Bgr: TypeAlias = tuple[int, int, int]

WHITE: Bgr = (255, 255, 255)
BLACK: Bgr = (0, 0, 0)
SHADE: Bgr = (32, 32, 32)
"""Behind captions that belong to no object."""
ALARM: Bgr = (40, 40, 200)
"""Behind the mark of a frame that got no answer."""

_COLORS_RGB = (
    0xFF3B30, 0x34C759, 0x2F7DFF, 0xFFCC00, 0xAF52DE, 0x00C7D9, 0xFF8A00, 0xFF5FA8,
    0x9BE22D, 0x7A5CFF, 0x00A37A, 0xD9A066, 0x8FD3FF, 0xC2185B, 0xFFF176, 0x5D8C3A,
    0xE0B0FF, 0xA0522D, 0x3F51B5, 0xFFB3A7,
)  # fmt: skip
_SALT = b"127111"
"""Chosen so that the classes that cameras see most (people, vehicles) differ from one another."""


def color_of(label: str) -> Bgr:
    """Return the colour of a class."""
    hashed = zlib.crc32(_SALT + label.encode("utf-8", "backslashreplace"))
    rgb = _COLORS_RGB[hashed % len(_COLORS_RGB)]
    return rgb & 0xFF, rgb >> 8 & 0xFF, rgb >> 16


def ink_on(background: Bgr) -> Bgr:
    """Return black or white, whichever reads better on a colour (luma of ITU-R BT.601)."""
    blue, green, red = background
    return BLACK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else WHITE
