"""Text as masks, in any script: shaped by raqm where Pillow has it, each run in a font that has it.

A line is cleaned (control characters and line breaks become spaces), cut into runs of one font and
one direction, and the runs are set from left to right in their visual order on one baseline. What
does not fit is elided; what no font has is a box. Masks are kept in a bounded cache.

Any thread may call; drawing is done by one at a time.
"""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from dataclasses import dataclass
from itertools import groupby
from threading import Lock

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vidpipe.outputs.bidi import levels_of, visual_order
from vidpipe.outputs.fonts import Font, FontShelf
from vidpipe.types import Pixels

MAX_CHARS = 80
"""A longer line is elided before it is shaped: names come from files and may be of any length."""

_ELLIPSIS = "…"
_CACHED_MASKS = 1024
_INVISIBLE = {"\u200e", "\u200f", "\u061c", "\ufe0e", "\ufe0f", "\ufeff"} | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Marks of direction and of emoji style: a label has one paragraph and one ink."""
_JOINERS = {"\u200c", "\u200d"}


def cleaned(text: str) -> str:
    """Return a text as one line without control characters, elided to ``MAX_CHARS``."""
    visible = (
        " " if char.isspace() or unicodedata.category(char) == "Cc" else char
        for char in text[: 8 * MAX_CHARS]
        if char not in _INVISIBLE
    )
    line = " ".join("".join(visible).split())
    line = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in line)
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + _ELLIPSIS


def line_height_px(size_px: int) -> int:
    """Return the even height of every mask of a font size, for all scripts alike."""
    return 2 * round(size_px * 0.72)


@dataclass(frozen=True, slots=True)
class _Run:
    text: str
    font: Font
    level: int


class Typesetter:
    """Sets lines of text as masks; shared by all sinks of a process."""

    def __init__(self, shelf: FontShelf | None = None) -> None:
        """Take the fonts to use; None looks for the system's."""
        self._shelf = shelf or FontShelf()
        self._lock = Lock()
        self._masks: OrderedDict[tuple[str, int, int], Pixels] = OrderedDict()

    def mask(self, text: str, size_px: int, max_width_px: int) -> Pixels:
        """Return how much ink each pixel gets, (line_height_px(size_px), W <= max) uint8.

        Read-only, and of even width; of width 0 for a text without anything to show.
        """
        key = (text, size_px, max_width_px)
        with self._lock:
            mask = self._masks.get(key)
            if mask is None:
                mask = self._masks[key] = self._set(cleaned(text), size_px, max_width_px)
                if len(self._masks) > _CACHED_MASKS:
                    self._masks.popitem(last=False)
            else:
                self._masks.move_to_end(key)
            return mask

    def _set(self, line: str, size_px: int, max_width_px: int) -> Pixels:
        runs = self._runs(line)
        width = self._width(runs, size_px)
        if width > max_width_px and line:
            runs, width = self._elided(line, size_px, max_width_px)
        width = max(0, min(width, max_width_px))
        image = Image.new("L", (max(width, 1), line_height_px(size_px)))
        self._draw(image, runs, size_px)
        even = width + width % 2 if width < max_width_px else width - width % 2
        mask = np.zeros((image.height, max(0, even)), np.uint8)
        drawn = np.asarray(image)[:, : mask.shape[1]]
        mask[:, : drawn.shape[1]] = drawn
        mask.flags.writeable = False
        return mask

    def _draw(self, image: Image.Image, runs: list[_Run], size_px: int) -> None:
        draw = ImageDraw.Draw(image)
        baseline = round(size_px * 1.08)
        at_x = 0.0
        for run in runs:
            font = run.font.at(size_px)
            if font is None:
                continue
            text, direction = _directed(run, font)
            draw.text((at_x, baseline), text, fill=255, font=font, anchor="ls", direction=direction)
            at_x += font.getlength(text, direction=direction)

    def _width(self, runs: list[_Run], size_px: int) -> int:
        total = 0.0
        for run in runs:
            font = run.font.at(size_px)
            if font is not None:
                text, direction = _directed(run, font)
                total += font.getlength(text, direction=direction)
        return int(np.ceil(total))

    def _elided(self, line: str, size_px: int, max_width_px: int) -> tuple[list[_Run], int]:
        """Return the longest beginning that fits with an ellipsis, by halving."""
        fits, too_long = 0, len(line)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            runs = self._runs(line[:middle].rstrip() + _ELLIPSIS)
            if self._width(runs, size_px) <= max_width_px:
                fits = middle
            else:
                too_long = middle
        runs = self._runs(line[:fits].rstrip() + _ELLIPSIS)
        width = self._width(runs, size_px)
        return (runs, width) if width <= max_width_px else ([], 0)

    def _runs(self, line: str) -> list[_Run]:
        """Cut a line into runs of one font and one level, in visual order."""
        fonts = self._fonts_of(line)
        pieces = zip(line, fonts, levels_of(line), strict=True)
        runs = [
            _Run("".join(char for char, _, _ in group), font, level)
            for (font, level), group in groupby(pieces, key=lambda piece: (piece[1], piece[2]))
        ]
        return visual_order(runs, [run.level for run in runs])

    def _fonts_of(self, line: str) -> list[Font]:
        """Choose each character's font; marks, joiners and spaces stay with what they follow."""
        chosen: list[Font] = []
        for char in line:
            is_tied = char.isspace() or char in _JOINERS or unicodedata.category(char)[0] == "M"
            if chosen and (is_tied or (_is_shared(char) and chosen[-1].has(char))):
                chosen.append(chosen[-1])
            else:
                chosen.append(self._shelf.font_for(char) or self._shelf.fallback)
        return chosen


def _directed(run: _Run, font: ImageFont.FreeTypeFont) -> tuple[str, str | None]:
    """Return a run's text and direction as a font's layout takes them."""
    is_leftward = run.level % 2 == 1
    if font.layout_engine == ImageFont.Layout.RAQM:
        return run.text, "rtl" if is_leftward else "ltr"
    return (run.text[::-1] if is_leftward else run.text), None  # unshaped, but in its order


def _is_shared(char: str) -> bool:
    """Digits and punctuation look right in the font of whatever script they stand in."""
    return unicodedata.category(char)[0] in "NPSZ"
