"""A sheet of small pictures in a grid, each with two lines of text, below a title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from vidpipe.apps.batch.formats.pictures import typesetter
from vidpipe.outputs.glyphs import line_height_px
from vidpipe.outputs.palette import Bgr
from vidpipe.types import Pixels

WIDTH_PX = 1840
_MARGIN_PX = 24
_GAP_PX = 16
_TITLE_PX, _TEXT_PX, _SMALL_PX = 30, 18, 15
_LONGEST_TITLE = 76
_PAPER: Bgr = (26, 23, 20)
_INK: Bgr = (236, 233, 230)
_SOFT: Bgr = (181, 171, 162)
_PANEL: Bgr = (40, 35, 30)
_TALLEST, _WIDEST = 2.0, 4.0
"""Cells follow the picture's aspect within these: a panorama gets a strip, no hair's breadth."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the cells stand.

    Attributes:
        columns: Cells a row.
        rows: Rows.
        cell_wh: Each cell's picture, in pixels.
    """

    columns: int
    rows: int
    cell_wh: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell.

    Attributes:
        picture: BGR (H, W, 3) uint8, no larger than the cell; None where there is none.
        head: The first line below it.
        words: The second one.
    """

    picture: Pixels | None
    head: str
    words: str


def grid_of(size_wh: tuple[int, int] | None, count: int) -> Grid:
    """Return the grid for so many pictures of a size."""
    width, height = size_wh if size_wh and min(size_wh) > 0 else (16, 9)
    aspect = min(_WIDEST, max(1 / _TALLEST, width / height))
    columns = 6 if aspect < 0.9 else 4 if aspect < 2.4 else 2
    columns = min(columns, max(count, 2))
    room = WIDTH_PX - 2 * _MARGIN_PX - (columns - 1) * _GAP_PX
    cell_width = room // columns // 2 * 2
    return Grid(columns, -(-count // columns), (cell_width, round(cell_width / aspect / 2) * 2))


def compose(title: str, about: str, grid: Grid, cells: Sequence[Cell]) -> Pixels:
    """Return the sheet, BGR (H, W, 3) uint8.

    Args:
        title: A name; of a long path the end.
        about: The line below it.
        grid: For at least so many cells.
        cells: In their order.
    """
    cell_w, cell_h = grid.cell_wh
    title_h, text_h, small_h = map(line_height_px, (_TITLE_PX, _TEXT_PX, _SMALL_PX))
    head_h = _MARGIN_PX + title_h + text_h + _GAP_PX
    step_h = cell_h + text_h + small_h + _GAP_PX
    sheet = np.full((head_h + grid.rows * step_h + _MARGIN_PX, WIDTH_PX, 3), _PAPER, np.uint8)
    room = WIDTH_PX - 2 * _MARGIN_PX
    pen = _Pen(sheet)
    pen.write(_fitting(title), (_MARGIN_PX, _MARGIN_PX), _TITLE_PX, room, _INK)
    pen.write(about, (_MARGIN_PX, _MARGIN_PX + title_h), _TEXT_PX, room, _SOFT)
    for index, cell in enumerate(cells):
        row, column = divmod(index, grid.columns)
        left = _MARGIN_PX + column * (cell_w + _GAP_PX)
        top = head_h + row * step_h
        sheet[top : top + cell_h, left : left + cell_w] = _PANEL
        if cell.picture is None:
            pen.write("no picture", (left + 12, top + 12), _TEXT_PX, cell_w - 24, _SOFT)
        else:
            height, width = cell.picture.shape[:2]
            at_x, at_y = left + (cell_w - width) // 2, top + (cell_h - height) // 2
            sheet[at_y : at_y + height, at_x : at_x + width] = cell.picture
        pen.write(cell.head, (left, top + cell_h + 2), _TEXT_PX, cell_w, _INK)
        pen.write(cell.words, (left, top + cell_h + text_h), _SMALL_PX, cell_w, _SOFT)
    return sheet


class _Pen:
    """Writes lines of text on a picture."""

    def __init__(self, sheet: Pixels) -> None:
        self._sheet = sheet
        self._typesetter = typesetter()

    def write(
        self, text: str, at_xy: tuple[int, int], size_px: int, room_px: int, ink: Bgr
    ) -> None:
        """Write a line, elided where it is longer than its room."""
        mask = self._typesetter.mask(text, size_px, room_px)
        height, width = mask.shape
        if not width:
            return
        left, top = at_xy
        paper = self._sheet[top : top + height, left : left + width]
        alpha = mask[: paper.shape[0], : paper.shape[1], None].astype(np.float32) / 255
        mixed = paper + (np.array(ink, np.float32) - paper) * alpha
        np.copyto(paper, np.rint(mixed).astype(np.uint8))


def _fitting(name: str) -> str:
    """Return a long path without its first folders: the file's own name says most."""
    if len(name) <= _LONGEST_TITLE:
        return name
    own = PurePosixPath(name).name
    return f"…/{own}" if len(own) < _LONGEST_TITLE else own
