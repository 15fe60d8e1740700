from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidpipe.outputs.fonts import FontShelf, find_fonts
from vidpipe.outputs.glyphs import MAX_CHARS, Typesetter, cleaned, line_height_px

BARE = Typesetter(FontShelf([]))


def test_text_leaves_ink_on_a_mask_of_even_size() -> None:
    mask = BARE.mask("person", 24, 400)
    assert mask.shape[0] == line_height_px(24)
    assert mask.shape[1] % 2 == 0
    assert mask.max() == 255
    assert not mask.flags.writeable


def test_a_mask_is_set_once() -> None:
    assert BARE.mask("person", 24, 400) is BARE.mask("person", 24, 400)


def test_the_cache_is_bounded() -> None:
    setter = Typesetter(FontShelf([]))
    first = setter.mask("0", 11, 100)
    for number in range(1, 1100):
        setter.mask(str(number), 11, 100)
    again = setter.mask("0", 11, 100)
    assert again is not first
    assert (again == first).all()


@pytest.mark.parametrize("width", [0, 1, 2, 10, 33, 100])
def test_a_long_text_is_elided_to_its_room(width: int) -> None:
    assert BARE.mask("a very long label " * 50, 20, width).shape[1] <= width


def test_an_elided_text_uses_most_of_its_room() -> None:
    assert BARE.mask("m" * 70, 20, 300).shape[1] > 250


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two\nlines\r\n\tand\x00more", "two lines and more"),
        ("  ", ""),
        ("\u202egate\u202c", "gate"),
        ("a\udc80b", "a\ufffdb"),
    ],
)
def test_a_label_is_one_clean_line(text: str, expected: str) -> None:
    assert cleaned(text) == expected


def test_a_text_of_any_length_is_cut() -> None:
    assert len(cleaned("x" * 1_000_000)) == MAX_CHARS


def test_unknown_characters_are_boxes_and_take_room() -> None:
    assert BARE.mask("人物", 24, 400).max() > 0


def test_nothing_to_show_is_a_mask_of_no_width() -> None:
    assert BARE.mask("\n", 24, 400).shape[1] == 0


@given(st.text(max_size=40), st.integers(8, 40), st.integers(0, 200))
def test_any_text_can_be_set(text: str, size_px: int, room: int) -> None:
    mask = BARE.mask(text, size_px, room)
    assert mask.shape[1] <= room
    assert mask.shape[1] % 2 == 0


@pytest.mark.parametrize(
    "text", ["شخص", "व्यक्ति", "人物", "人 שער 3", "คนเดินเท้า", "자동차", "Front · المدخل"]
)
def test_every_script_is_shaped_from_installed_fonts(text: str, log_lines: list[str]) -> None:
    paths = find_fonts()
    if not any("CJK" in path.stem for path in paths):
        pytest.skip("needs fonts-noto-core and fonts-noto-cjk")
    mask = Typesetter(FontShelf(paths)).mask(text, 32, 600)
    assert (mask > 128).sum() > 40
    assert not [line for line in log_lines if "no installed font" in line]


def test_arabic_letters_are_joined() -> None:
    paths = find_fonts()
    if not any("Arabic" in path.stem for path in paths):
        pytest.skip("needs fonts-noto-core")
    setter = Typesetter(FontShelf(paths))
    apart = sum(setter.mask(char, 32, 600).shape[1] for char in "شخص")
    joined = setter.mask("شخص", 32, 600)
    assert joined.shape[1] < apart
    columns = np.flatnonzero(joined.max(axis=0))
    assert (np.diff(columns) <= 2).all(), "letters stand apart"
