from __future__ import annotations

from itertools import groupby

import pytest

from vidpipe.outputs.bidi import levels_of, visual_order


def visible(text: str) -> str:
    """Order a text's characters as they are read from left to right."""
    return "".join(visual_order(text, levels_of(text)))


@pytest.mark.parametrize(
    ("logical", "expected"),
    [
        ("gate 12", "gate 12"),
        ("", ""),
        ("אבג", "גבא"),
        ("gate אבג 1", "gate 1 גבא"),
        ("gate אבג", "gate גבא"),
        ("אבג gate", "gate גבא"),
        ("אבג 12", "12 גבא"),
        ("אבג 1.5% דה", "הד 1.5% גבא"),
        ("a אב b גד c", "a בא b דג c"),
        ("!אב", "בא!"),
    ],
)
def test_mixed_directions_stand_in_reading_order(logical: str, expected: str) -> None:
    assert visible(logical) == expected


def test_a_number_keeps_its_digits_in_order() -> None:
    levels = levels_of("אב 123")
    assert [level for level, _ in groupby(levels)] == [1, 2]
