"""Which font has a character: those found on the system, and the bundled one as a last resort.

A font is known to lack a character when it draws the same shape as for a code point that no font
has: Pillow doesn't show a font's table of characters.
"""

from __future__ import annotations

import os
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from loguru import logger
from PIL import ImageFont

FONT_FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path("~/.local/share/fonts"),
    Path("~/.fonts"),
)

_FAVOURITES = ("NotoSans-Regular", "DejaVuSans", "LiberationSans-Regular")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH")
_SYMBOL_FONTS = ("symbol", "emoji", "math", "music", "dejavu", "unifont")
"""What may have a sign that the favourites lack: asking all would take a third of a second."""
_SUFFIXES = (".ttf", ".otf", ".ttc")
_STYLES = ("bold", "italic", "oblique", "black", "light", "thin", "medium", "condensed", "mono")
_NO_CHARACTER = "\U0010ffff"
_PROBE_PX = 32
_REMEMBERED = 8192
_CHINESE_FACE = 2
"""Noto Sans CJK's faces: 0 Japanese, 1 Korean, 2 simplified Chinese; each has every character."""


def find_fonts(folders: Iterable[Path] = FONT_FOLDERS) -> list[Path]:
    """Return the upright fonts of normal weight below some folders, the most useful ones first."""
    found: dict[str, Path] = {}
    for folder in folders:
        for place, _, names in os.walk(folder.expanduser()):
            for name in names:
                if name.lower().endswith(_SUFFIXES):
                    found.setdefault(name, Path(place, name))
    return sorted((path for path in found.values() if _is_plain(path)), key=_rank)


def _is_plain(path: Path) -> bool:
    """Leave out the styles that no label is set in."""
    return not any(style in path.stem.lower() for style in _STYLES)


def _rank(path: Path) -> tuple[int, bool, bool, str]:
    """Order fonts: favourites, then sans serif before all others."""
    stem = path.stem
    favour = _FAVOURITES.index(stem) if stem in _FAVOURITES else len(_FAVOURITES)
    return favour, "Noto" not in stem, "Sans" not in stem, str(path)


class Font:
    """One font file, opened when first asked; not safe for use by two threads at once."""

    def __init__(self, path: Path | None) -> None:
        """Take a file, or None for the font that Pillow brings along."""
        self._path = path
        self._sizes: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont | None] = {}
        self._missing: bytes | None = None
        self._has: dict[str, bool] = {}

    def at(self, size_px: int) -> ImageFont.FreeTypeFont | None:
        """Return the font at a size; None if the file can't be read as one."""
        if size_px not in self._sizes:
            self._sizes[size_px] = self._open(size_px)
        font = self._sizes[size_px]
        return font if isinstance(font, ImageFont.FreeTypeFont) else None

    def _open(self, size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont | None:
        if self._path is None:
            return ImageFont.load_default(size_px)
        index = _CHINESE_FACE if "CJK" in self._path.stem and self._path.suffix == ".ttc" else 0
        try:
            return ImageFont.truetype(str(self._path), size_px, index=index)
        except (OSError, ValueError):
            return None  # a broken or foreign file among the fonts: as if it weren't there

    def has(self, char: str) -> bool:
        """Tell whether the font draws a character as more than its mark for unknown ones."""
        if char not in self._has:
            if len(self._has) >= _REMEMBERED:
                self._has.clear()
            self._has[char] = self._draws(char)
        return self._has[char]

    def _draws(self, char: str) -> bool:
        font = self.at(_PROBE_PX)
        if font is None:
            return False
        try:
            if self._missing is None:
                self._missing = bytes(font.getmask(_NO_CHARACTER))
            return bytes(font.getmask(char)) != self._missing
        except (OSError, ValueError):
            return False


class FontShelf:
    """The fonts at hand, and which of them has a character. One thread at a time."""

    def __init__(self, paths: Sequence[Path] | None = None) -> None:
        """Take the font files in order of preference; None looks for the system's."""
        self._paths = list(find_fonts() if paths is None else paths)
        self._fonts: dict[Path | None, Font] = {None: Font(None)}
        self._known: OrderedDict[str, Font | None] = OrderedDict()
        self._lamented: set[str] = set()

    @property
    def fallback(self) -> Font:
        """The font whose mark stands for a character that no font has."""
        return self._font(self._paths[0]) if self._paths else self._font(None)

    def font_for(self, char: str) -> Font | None:
        """Return the first font that has a character, or None (said once for each script)."""
        if char in self._known:
            self._known.move_to_end(char)
            return self._known[char]
        script = _script_of(char)
        candidates = self._candidates(script)
        font = next(
            (font for path in [*candidates, None] if (font := self._font(path)).has(char)), None
        )
        if font is None:
            self._lament(char, script)
        self._known[char] = font
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return font

    def _font(self, path: Path | None) -> Font:
        return self._fonts.setdefault(path, Font(path))

    def _candidates(self, script: str) -> list[Path]:
        """Return the first favourite, then fonts whose name holds the script's, then all others."""
        if script == "SYMBOL":
            return [
                path
                for path in self._paths
                if path.stem in _FAVOURITES
                or any(word in path.stem.lower() for word in _SYMBOL_FONTS)
            ]
        return sorted(
            self._paths,
            key=lambda path: (
                path.stem != _FAVOURITES[0],
                script.lower() not in path.stem.lower(),
            ),
        )

    def _lament(self, char: str, script: str) -> None:
        if script in self._lamented:
            return
        self._lamented.add(script)  # bounded: there are fewer scripts than 200
        packages = {"CJK": "fonts-noto-cjk", "SYMBOL": "fonts-symbola"}
        logger.warning(
            "no installed font has U+{:04X} ({}): such characters are shown as boxes; "
            "on Debian and Ubuntu, install {}",
            ord(char),
            script.lower(),
            packages.get(script, "fonts-noto-core"),
        )


def _script_of(char: str) -> str:
    """Return the script's name as Unicode's character names begin with it."""
    word = unicodedata.name(char, "SYMBOL").split(" ")[0].split("-")[0]
    if word in _CJK:
        return "CJK"
    return word if unicodedata.category(char)[0] in "LM" else "SYMBOL"
