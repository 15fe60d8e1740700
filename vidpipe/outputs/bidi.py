"""In which order the runs of a line of mixed scripts stand from left to right.

The shaping library orders the letters *within* a run; where one line needs several fonts, the runs
themselves have to be ordered too. This is the part of the Unicode Bidirectional Algorithm (UAX 9)
that a label needs: one paragraph without embeddings or isolates (rules P2, P3, W1 to W7 in a
short form, N1, N2, I1, I2 and L2).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

Item = TypeVar("Item")

_SEPARATORS = ("ES", "CS")
_SIGNS = ("ET",)


def levels_of(text: str) -> list[int]:
    """Return each character's embedding level: odd runs from right to left."""
    classes = [unicodedata.bidirectional(char) or "L" for char in text]
    if not any(kind in ("R", "AL", "AN") for kind in classes):
        return [0] * len(text)
    strong = next((kind for kind in classes if kind in ("L", "R", "AL")), "L")
    base = 0 if strong == "L" else 1
    directions = _neutrals(_numbers(classes, base), base)
    steps = {"L": base % 2, "R": 1 - base % 2, "N": 2 - base % 2}
    return [base + steps[direction] for direction in directions]


def _numbers(classes: list[str], base: int) -> list[str]:
    """Reduce the classes to L, R, N (a number) and empty (neutral)."""
    reduced: list[str] = []
    strong = "L" if base == 0 else "R"
    for index, kind in enumerate(classes):
        if kind in ("L", "R", "AL"):
            strong = "L" if kind == "L" else "R"
            reduced.append(strong)
        elif kind == "EN":
            reduced.append("L" if strong == "L" else "N")
        elif kind == "AN":
            reduced.append("N")
        elif kind == "NSM":
            reduced.append(reduced[-1] if reduced else "")
        elif kind in _SEPARATORS + _SIGNS and _touches_number(classes, index):
            reduced.append("L" if strong == "L" else "N")
        else:
            reduced.append("")
    return reduced


def _touches_number(classes: list[str], index: int) -> bool:
    """A sign beside a number, or a separator between two, belongs to it."""
    before = index > 0 and classes[index - 1] in ("EN", "AN")
    after = index + 1 < len(classes) and classes[index + 1] in ("EN", "AN")
    return (before or after) if classes[index] in _SIGNS else (before and after)


def _neutrals(reduced: list[str], base: int) -> list[str]:
    """Give each stretch of neutrals the direction of both its neighbours, or the line's."""
    line = "L" if base == 0 else "R"
    groups = [(kind, len(list(group))) for kind, group in groupby(reduced)]
    resolved: list[str] = []
    for index, (kind, length) in enumerate(groups):
        before = groups[index - 1][0] if index else line
        after = groups[index + 1][0] if index + 1 < len(groups) else line
        sides = {"R" if side == "N" else side for side in (before, after)}
        resolved += [kind or (sides.pop() if len(sides) == 1 else line)] * length
    return resolved


def visual_order(items: Sequence[Item], levels: Sequence[int]) -> list[Item]:
    """Return the items from left to right (rule L2): reverse from the highest level down."""
    ordered = list(zip(items, levels, strict=True))
    for level in range(max(levels, default=0), 0, -1):
        turned: list[tuple[Item, int]] = []
        for is_high, group in groupby(ordered, key=lambda pair: pair[1] >= level):
            stretch = list(group)
            turned += stretch[::-1] if is_high else stretch
        ordered = turned
    return [item for item, _ in ordered]
