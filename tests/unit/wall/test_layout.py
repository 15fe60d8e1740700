from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vidpipe.wall.layout import GAP, MOST_TILES, WIDEST, Layout, Tile, arrange

WIDE, TALL, OLD = 16 / 9, 9 / 16, 4 / 3
ANYHOW = 1
"""A readable width that makes no second page."""

aspects = st.lists(st.sampled_from([WIDE, OLD, TALL, 1.0, 32 / 9, 0.75]), min_size=1, max_size=64)
screens = st.tuples(st.integers(320, 4096), st.integers(240, 4096))


def named(shapes: Sequence[float]) -> list[tuple[str, float]]:
    return [(f"s{index}", aspect) for index, aspect in enumerate(shapes)]


def wall(shapes: Sequence[float], screen: tuple[int, int], readable: int = ANYHOW) -> Layout:
    return arrange(named(shapes), screen, readable_width=readable)


def smallest(layout: Layout) -> float:
    return min(tile.width * tile.height for tile in layout.tiles)


def check_places(tiles: Sequence[Tile], screen: tuple[int, int]) -> None:
    for tile in tiles:
        assert tile.width >= 1
        assert tile.height >= 1
        assert 0 <= tile.x <= tile.x + tile.width <= screen[0]
        assert 0 <= tile.y <= tile.y + tile.height <= screen[1]
    for one, other in itertools.combinations(tiles, 2):
        is_beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        is_below = one.y + one.height <= other.y or other.y + other.height <= one.y
        assert is_beside or is_below, (one, other)


def best_grid_area(shapes: Sequence[float], screen: tuple[int, int]) -> float:
    """Return the area of the smallest tile in the best grid of equal cells."""
    best = 0.0
    for columns in range(1, len(shapes) + 1):
        rows = math.ceil(len(shapes) / columns)
        cell_w = (screen[0] - GAP * (columns - 1)) / columns
        cell_h = (screen[1] - GAP * (rows - 1)) / rows
        if cell_w <= 0 or cell_h <= 0:
            continue
        sizes = [(min(cell_w, cell_h * a), min(cell_h, cell_w / a)) for a in shapes]
        best = max(best, min(width * height for width, height in sizes))
    return best


@settings(max_examples=150, deadline=None)
@given(aspects, screens)
@example([WIDE] * 64, (1920, 1080))
@example([TALL] * 64, (320, 4096))
@example([WIDE] * 63 + [TALL], (1080, 1920))
def test_tiles_lie_inside_without_overlap_keep_their_aspect_and_beat_every_grid(
    shapes: list[float], screen: tuple[int, int]
) -> None:
    layout = wall(shapes, screen)
    assert [tile.id for tile in layout.tiles] == [name for name, _ in named(shapes)]
    check_places(layout.tiles, screen)
    for tile, aspect in zip(layout.tiles, shapes, strict=True):
        # whole pixels: each side is up to one too short
        assert tile.width - 1e-6 <= (tile.height + 1) * aspect
        assert tile.height - 1e-6 <= (tile.width + 1) / aspect
    rounding = max(tile.width + tile.height for tile in layout.tiles)
    assert smallest(layout) + rounding >= best_grid_area(shapes, screen)


@settings(max_examples=60, deadline=None)
@given(aspects, screens, st.integers(0, 70), st.integers(0, 5))
def test_with_a_spotlight_too_and_the_spotlight_is_the_largest(
    shapes: list[float], screen: tuple[int, int], chosen: int, page: int
) -> None:
    chosen %= len(shapes)
    layout = arrange(named(shapes), screen, spotlight=f"s{chosen}", page=page)
    check_places(layout.tiles, screen)
    first, *rest = layout.tiles
    assert first.id == f"s{chosen}"
    order = [int(tile.id[1:]) for tile in rest]
    assert order == sorted(order)
    assert 0 <= layout.page < layout.pages
    if shapes[chosen] == WIDE and screen[0] >= screen[1]:
        assert all(tile.width * tile.height <= first.width * first.height for tile in rest)


@settings(max_examples=40, deadline=None)
@given(aspects, screens, st.integers(100, 600))
def test_every_stream_is_on_exactly_one_page_and_a_page_with_several_is_readable(
    shapes: list[float], screen: tuple[int, int], readable: int
) -> None:
    first = wall(shapes, screen, readable)
    pages = [
        arrange(named(shapes), screen, page=page, readable_width=readable)
        for page in range(first.pages)
    ]
    shown = [tile.id for page in pages for tile in page.tiles]
    assert shown == [name for name, _ in named(shapes)]
    for page in pages:
        if len(page.tiles) > 1:
            # a tile of this width in 16:9, less the rounding to whole pixels
            least = readable * readable * 9 / 16
            assert smallest(page) >= least - 2 * readable


@pytest.mark.parametrize(
    ("count", "screen", "columns"),
    [
        (1, (1920, 1080), 1),
        (2, (1920, 1080), 2),
        (4, (1920, 1080), 2),
        (9, (1920, 1080), 3),
        (16, (1920, 1080), 4),
        (25, (1920, 1080), 5),
        (64, (3840, 2160), 8),
        (2, (1080, 1920), 1),
        (6, (1080, 1920), 1),
        (8, (1080, 1920), 2),
    ],
)
def test_cameras_of_one_shape_stand_in_a_grid_of_equal_tiles(
    count: int, screen: tuple[int, int], columns: int
) -> None:
    layout = wall([WIDE] * count, screen)
    assert len({(tile.width, tile.height) for tile in layout.tiles}) == 1
    assert len({tile.x for tile in layout.tiles}) == columns


def test_the_last_row_stands_in_the_middle() -> None:
    tiles = wall([WIDE] * 5, (1920, 1080)).tiles
    last = tiles[3:]
    assert [tile.y for tile in tiles] == [tiles[0].y] * 3 + [last[0].y] * 2
    left, right = last[0].x, 1920 - last[1].x - last[1].width
    assert abs(left - right) <= 2


def test_a_portrait_camera_is_no_smaller_than_the_others() -> None:
    layout = wall([WIDE] * 5 + [TALL], (1920, 1080))
    areas = [tile.width * tile.height for tile in layout.tiles]
    assert min(areas) >= 0.97 * areas[-1]
    # in the rows of equal height that galleries have it would have a third of their area
    assert smallest(layout) > best_grid_area([WIDE] * 5 + [TALL], (1920, 1080))


def test_low_tiles_grow_to_their_row_where_there_is_room() -> None:
    first, second = wall([WIDE, TALL], (1920, 1080)).tiles
    assert first.height == pytest.approx(second.height, abs=1) or first.width + second.width > 1900


def test_sixteen_of_a_hundred_cameras_a_page_are_spread_evenly() -> None:
    layout = wall([WIDE] * 100, (1280, 720), readable=300)
    counts = [
        len(arrange(named([WIDE] * 100), (1280, 720), page=page, readable_width=300).tiles)
        for page in range(layout.pages)
    ]
    assert sum(counts) == 100
    assert max(counts) <= 16
    assert max(counts) - min(counts) <= layout.pages


def test_a_page_past_the_end_is_the_last() -> None:
    streams = named([WIDE] * 40)
    last = arrange(streams, (800, 600), page=10**6)
    assert last.page == last.pages - 1
    assert last.tiles[-1].id == "s39"


@pytest.mark.parametrize("aspect", [math.nan, math.inf, 0.0, -1.0])
def test_an_aspect_that_says_nothing_is_taken_as_16_to_9(aspect: float) -> None:
    assert wall([aspect, WIDE], (1920, 1080)) == wall([WIDE, WIDE], (1920, 1080))


def test_an_absurd_aspect_takes_no_room_from_the_others() -> None:
    assert wall([1e9], (1920, 1080)).tiles == wall([WIDEST], (1920, 1080)).tiles


@pytest.mark.parametrize("screen", [(0, 0), (0, 500), (-5, 300), (0.5, 100)])
def test_nothing_is_shown_without_room(screen: tuple[float, float]) -> None:
    assert arrange(named([WIDE]), screen) == Layout(())
    assert arrange([], (1920, 1080)) == Layout(())


def test_a_tiny_screen_shows_one_camera_a_page() -> None:
    layout = arrange(named([WIDE] * 7), (90, 60))
    assert layout.pages == 7
    assert len(layout.tiles) == 1


def test_an_unknown_spotlight_is_none() -> None:
    streams = named([WIDE] * 4)
    assert arrange(streams, (1920, 1080), spotlight="x") == arrange(streams, (1920, 1080))


def test_the_strip_of_a_spotlight_is_readable_where_it_can_be() -> None:
    layout = arrange(named([WIDE] * 16), (1920, 1000), spotlight="s3", readable_width=200)
    assert layout.pages == 1
    assert min(tile.width for tile in layout.tiles) >= 199
    assert layout.tiles[0].width * layout.tiles[0].height > 0.5 * 1920 * 1000


def test_64_tiles_are_laid_out_while_nobody_notices() -> None:
    shapes = [(WIDE, OLD, TALL, 1.0)[index % 4] for index in range(64)]
    began = time.process_time()
    for _ in range(5):
        arrange(named(shapes), (1920, 1080))
    assert (time.process_time() - began) / 5 < 0.1


def test_a_thousand_are_bounded() -> None:
    began = time.process_time()
    layout = arrange(named([WIDE] * (MOST_TILES + 10)), (1920, 1080))
    assert time.process_time() - began < 3.0
    assert layout.pages > 1
