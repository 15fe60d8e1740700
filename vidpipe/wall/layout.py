"""Where the tiles of a wall lie: sizes in, rectangles out.

The arrangement is the one of rows, in the order of the streams, whose smallest tile has the largest
area. It is exact: for a given area every tile's size is known, so a row's width and height are too,
and the rows of least height together are found by dynamic programming; the area is found by
bisection. Any plain grid is such an arrangement, so none is better.

Guarantees:
    * no tile overlaps another or leaves the viewport, and every tile keeps its aspect to a pixel;
    * where all aspects are the same, so are all sizes;
    * the same input gives the same output: nothing moves by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

GAP = 6
"""Pixels between tiles."""
READABLE_WIDTH = 200
"""A tile of 16:9 that is narrower shows nobody anything: the wall gets pages instead."""
MOST_TILES = 1024
"""More aren't arranged: what asks for more is no wall."""
WIDEST = 8.0
"""Aspects are taken as at most this, and at least its inverse."""

_ROUNDS = 32
"""Of the bisection: to a millionth of a pixel."""
_CALM_SHARE = 0.85
"""Of the best area: so much at least is left where fewer rows are calmer."""
_MOST_GROWTH = 1.25
"""Of a low tile's sides in a row with high ones: more, and it would seem to matter more."""
_STRIP_SHARE = (1 / 6, 1 / 5, 1 / 4, 3 / 10, 7 / 20)
"""Of the viewport, for the tiles beside a spotlight: the first that leaves them readable."""

Aspect = tuple[str, float]
"""A stream's id, and the width of its picture by its height, as displayed."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile's place, in whole pixels from the viewport's upper left corner."""

    id: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The tiles of one page.

    Attributes:
        tiles: In the streams' order; with a spotlight, its tile is the first.
        page: Which page this is, from 0.
        pages: How many there are, at least 1.
    """

    tiles: tuple[Tile, ...]
    page: int = 0
    pages: int = 1


@dataclass(frozen=True, slots=True)
class _Area:
    x: float
    y: float
    width: float
    height: float


def arrange(
    aspects: Sequence[Aspect],
    viewport_wh: tuple[float, float],
    *,
    spotlight: str | None = None,
    page: int = 0,
    gap: int = GAP,
    readable_width: int = READABLE_WIDTH,
) -> Layout:
    """Return where the tiles of a page lie.

    Args:
        aspects: The streams in the order in which they are shown; an aspect that is no positive
            number is taken as 16:9.
        viewport_wh: The room for all tiles in pixels; nothing is shown in less than one.
        spotlight: The stream that is large, the others in a strip beside it; one that isn't among
            ``aspects`` is none.
        page: Which page to arrange; past the end the last one.
        gap: Pixels between tiles.
        readable_width: A page gets only as many tiles as are readable: no smaller in area than a
            tile of 16:9 of this width.
    """
    width, height = viewport_wh
    sane = [(name, _sane(aspect)) for name, aspect in aspects[:MOST_TILES]]
    if not sane or width < 1 or height < 1:
        return Layout(())
    room, least = _Area(0, 0, width, height), readable_width * readable_width * 9 / 16
    chosen = next((one for one in sane if one[0] == spotlight), None)
    large: tuple[Tile, ...] = ()
    if chosen is not None and len(sane) > 1:
        sane = [one for one in sane if one[0] != spotlight]
        stage, room = _split(chosen, sane, room, gap, least)
        large = _tiles([chosen], stage, gap, least)
    pages = _paged(sane, room, gap, least)
    page = min(max(page, 0), len(pages) - 1)
    return Layout(large + _tiles(pages[page], room, gap, least), page, len(pages))


def _sane(aspect: float) -> float:
    if not math.isfinite(aspect) or aspect <= 0:
        return 16 / 9
    return min(max(aspect, 1 / WIDEST), WIDEST)


# ---- Pages and spotlight -----------------------------------------------------------------------


def _paged(
    streams: Sequence[Aspect], room: _Area, gap: int, least_area: float
) -> list[Sequence[Aspect]]:
    """Return the streams of each page: as few pages as are readable, filled evenly."""
    count = len(streams)
    first = _most_readable(streams, room, gap, least_area)
    for pages in range(math.ceil(count / first), count):
        each = math.ceil(count / pages)
        parts = [streams[start : start + each] for start in range(0, count, each)]
        if all(_best(part, room, gap)[0] >= least_area for part in parts):
            return parts
    return [[one] for one in streams]


def _most_readable(streams: Sequence[Aspect], room: _Area, gap: int, least_area: float) -> int:
    """Return how many of the first streams one page takes, at least one."""
    low, high = 1, len(streams)
    while low < high:
        middle = (low + high + 1) // 2
        if _rows_within(streams[:middle], room, gap, least_area) is not None:
            low = middle
        else:
            high = middle - 1
    return low


def _split(
    chosen: Aspect, rest: Sequence[Aspect], room: _Area, gap: int, least_area: float
) -> tuple[_Area, _Area]:
    """Return the rooms of a spotlight and of its strip: on the side that leaves it larger."""
    best: tuple[tuple[bool, float], _Area, _Area] | None = None
    for is_beside in (True, False):
        for share in _STRIP_SHARE:
            stage, strip = _cut(room, gap, share, is_beside=is_beside)
            is_readable = _rows_within(rest, strip, gap, least_area) is not None
            if is_readable or share == _STRIP_SHARE[-1]:
                area = _best([chosen], stage, gap)[0]
                if best is None or (is_readable, area) > best[0]:
                    best = ((is_readable, area), stage, strip)
                break
    assert best is not None
    return best[1], best[2]


def _cut(room: _Area, gap: int, share: float, *, is_beside: bool) -> tuple[_Area, _Area]:
    if is_beside:
        width = max((room.width - gap) * (1 - share), 1.0)
        left = width + gap
        return (
            _Area(room.x, room.y, width, room.height),
            _Area(room.x + left, room.y, max(room.width - left, 1.0), room.height),
        )
    height = max((room.height - gap) * (1 - share), 1.0)
    top = height + gap
    return (
        _Area(room.x, room.y, room.width, height),
        _Area(room.x, room.y + top, room.width, max(room.height - top, 1.0)),
    )


# ---- Rows ----------------------------------------------------------------------------------------


def _best(streams: Sequence[Aspect], room: _Area, gap: int) -> tuple[float, list[int]]:
    """Return the largest area that every tile can have, and the length of each row for it."""
    low, high = 0.0, room.width * room.height
    rows = [1] * len(streams)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        found = _rows_within(streams, room, gap, middle)
        if found is None:
            high = middle
        else:
            low, rows = middle, found
    return low, rows


def _rows_within(streams: Sequence[Aspect], room: _Area, gap: int, area: float) -> list[int] | None:
    """Return the length of each row if tiles of this area fit into the room, else None.

    Of the ways to fit it is the one of least height; of several, the one whose first rows are full.
    """
    side = math.sqrt(area)
    widths = [side * math.sqrt(aspect) for _, aspect in streams]
    heights = [side / math.sqrt(aspect) for _, aspect in streams]
    count = len(streams)
    # least[i]: the height of the tiles from i on, with a gap above each row
    least = [math.inf] * count + [0.0]
    taken = [0] * count
    for start in range(count - 1, -1, -1):
        row_width, row_height = -float(gap), 0.0
        for end in range(start, count):
            row_width += widths[end] + gap
            if row_width > room.width:
                break
            row_height = max(row_height, heights[end])
            whole = row_height + gap + least[end + 1]
            if whole <= least[start] + 1e-9:
                least[start], taken[start] = whole, end + 1 - start
    if least[0] - gap > room.height:
        return None
    rows, start = [], 0
    while start < count:
        rows.append(taken[start])
        start += taken[start]
    return rows


def _calmer(
    streams: Sequence[Aspect], room: _Area, gap: int, least_area: float
) -> tuple[float, list[int]]:
    """Return the best area and rows, or fewer rows that cost next to nothing.

    Where aspects differ, the very largest tiles may lie in ragged rows. What is given up for fewer
    is a little, and never so much that a plain grid would be better.
    """
    area, lengths = _best(streams, room, gap)
    low = max(area * _CALM_SHARE, _grid_area(streams, room, gap), min(least_area, area))
    fewer = _rows_filled(streams, room, gap, low)
    if fewer is None or len(fewer) >= len(lengths):
        return area, lengths
    high = area
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        found = _rows_filled(streams, room, gap, middle)
        if found is None or len(found) > len(fewer):
            high = middle
        else:
            low, fewer = middle, found
    return low, fewer


def _grid_area(streams: Sequence[Aspect], room: _Area, gap: int) -> float:
    """Return the area of the smallest tile in the best grid of equal cells."""
    aspects = {aspect for _, aspect in streams}
    best = 0.0
    for columns in range(1, len(streams) + 1):
        rows = math.ceil(len(streams) / columns)
        width = (room.width - gap * (columns - 1)) / columns
        height = (room.height - gap * (rows - 1)) / rows
        if width > 0 and height > 0:
            sides = ((min(width, height * one), min(height, width / one)) for one in aspects)
            best = max(best, min(across * down for across, down in sides))
    return best


def _rows_filled(streams: Sequence[Aspect], room: _Area, gap: int, area: float) -> list[int] | None:
    """Return the fewest rows of tiles of this area, or None where they are too high together."""
    side = math.sqrt(area)
    lengths: list[int] = []
    used, across, height = -float(gap), math.inf, 0.0
    for _, aspect in streams:
        width = side * math.sqrt(aspect)
        if across + gap + width > room.width:
            used += height + gap
            across, height = -float(gap), 0.0
            lengths.append(0)
        across += gap + width
        height = max(height, side / math.sqrt(aspect))
        lengths[-1] += 1
        if across > room.width:
            return None
    return lengths if used + height <= room.height else None


def _evened(
    streams: Sequence[Aspect], room: _Area, gap: int, area: float, lengths: list[int]
) -> list[int]:
    """Return the length of each row where the tiles lie in as narrow a block as their area allows.

    So 25 that fit as 6, 6, 6, 6, 1 lie as five rows of five.
    """
    low, high = 0.0, room.width
    for _ in range(_ROUNDS // 2):
        middle = (low + high) / 2
        found = _rows_within(streams, replace(room, width=middle), gap, area)
        if found is None or len(found) > len(lengths):
            low = middle
        else:
            high, lengths = middle, found
    return lengths


def _tiles(streams: Sequence[Aspect], room: _Area, gap: int, least_area: float) -> tuple[Tile, ...]:
    """Return the best arrangement of one page, in the middle of its room."""
    area, lengths = _calmer(streams, room, gap, least_area)
    lengths = _evened(streams, room, gap, area, lengths)
    side, start = math.sqrt(area), 0
    rows: list[tuple[list[tuple[str, float, float]], float]] = []
    for length in lengths:
        row = streams[start : start + length]
        start += length
        tallest = max(side / math.sqrt(aspect) for _, aspect in row)
        floor = _level(row, side, tallest, room.width - gap * (length - 1))
        heights = [_grown(side / math.sqrt(aspect), floor) for _, aspect in row]
        rows.append(
            (
                [
                    (name, height * aspect, height)
                    for (name, aspect), height in zip(row, heights, strict=True)
                ],
                tallest,
            )
        )
    used = sum(tallest for _, tallest in rows) + gap * (len(rows) - 1)
    top = room.y + max(room.height - used, 0.0) / 2
    tiles: list[Tile] = []
    for row_tiles, tallest in rows:
        across = sum(width for _, width, _ in row_tiles) + gap * (len(row_tiles) - 1)
        left = room.x + max(room.width - across, 0.0) / 2
        for name, width, height in row_tiles:
            y = top + (tallest - height) / 2
            tiles.append(_snapped(name, left, y, width, height))
            left += width + gap
        top += tallest + gap
    return tuple(tiles)


def _grown(height: float, floor: float) -> float:
    return max(height, min(floor, height * _MOST_GROWTH))


def _level(row: Sequence[Aspect], side: float, tallest: float, width: float) -> float:
    """Return the height to which a row's lower tiles may grow: the tallest's, if there is room."""
    by_height = sorted(row, key=lambda one: -one[1])  # the widest are the lowest
    floor, wide = 0.0, 0.0
    others = sum(side * math.sqrt(aspect) for _, aspect in row)
    for index, (_, aspect) in enumerate(by_height):
        wide += aspect
        others -= side * math.sqrt(aspect)
        following = by_height[index + 1 :]
        limit = side / math.sqrt(following[0][1]) if following else tallest
        floor = min(limit, max((width - others) / wide, 0.0))
        if floor < limit:
            break
    return floor


def _snapped(name: str, x: float, y: float, width: float, height: float) -> Tile:
    """Return the tile in whole pixels, never beyond its place; sizes don't depend on where."""
    return Tile(
        name,
        math.floor(x + 1e-6),
        math.floor(y + 1e-6),
        max(math.floor(width + 1e-6), 1),
        max(math.floor(height + 1e-6), 1),
    )
