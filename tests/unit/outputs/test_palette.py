from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vidpipe.outputs.palette import BLACK, WHITE, color_of, ink_on

ROOT = Path(__file__).parents[3]
COMMON = ("person", "car", "truck", "bus", "bicycle", "motorcycle")


def test_common_classes_have_colours_of_their_own() -> None:
    assert len({color_of(label) for label in COMMON}) == len(COMMON)


def test_a_label_has_the_same_colour_in_every_process() -> None:
    program = (
        "import sys; from vidpipe.outputs.palette import color_of; "
        "sys.stdout.write(repr(color_of('شخص')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert run.stdout == repr(color_of("شخص"))


@pytest.mark.parametrize("label", ["", "人物", "a" * 10_000, "\udc80"])
def test_any_label_has_a_colour(label: str) -> None:
    assert all(0 <= part <= 255 for part in color_of(label))


def test_ink_contrasts_with_its_paper() -> None:
    assert ink_on((0, 255, 255)) == BLACK
    assert ink_on((120, 0, 0)) == WHITE
