from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tests.fakes import FakeClock
from tests.galleries import opened_gallery, seen
from tests.overviews import FakeOverview, busy_meter, make_report
from tests.threads import wait_until
from vidpipe.apps.wallscreen import PAGE_S, WallScreen
from vidpipe.outputs.gallery import Easel
from vidpipe.shots import Exhibition
from vidpipe.types import Pixels, StreamState

SIZE = (1280, 720)
QUARTERS = {"gate": (100, 100), "dock": (740, 100), "yard": (100, 460), "hall": (740, 460)}


@contextmanager
def standing(*streams: str) -> Iterator[tuple[WallScreen, dict[str, Easel], FakeOverview]]:
    """Yield the wall of these streams, all of them live."""
    overview = FakeOverview(
        meters={stream: busy_meter(1) for stream in streams},
        states={stream: make_report() for stream in streams},
    )
    with opened_gallery(*streams) as (gallery, easels):
        wall = WallScreen(Exhibition(gallery, 30.0), overview)
        try:
            yield wall, dict(zip(streams, easels, strict=True)), overview
        finally:
            wall.close()


def level(picture: Pixels, corner: tuple[int, int]) -> float:
    """Return how bright the lower part of a tile is, where no caption stands."""
    x, y = corner
    return float(picture[y + 40 : y + 120, x + 300 : x + 400].mean())


def fed(wall: WallScreen, easels: dict[str, Easel], number: int) -> None:
    for stream, easel in easels.items():
        easel.take(seen(number, stream=stream))


def test_every_live_stream_has_its_picture_in_its_place() -> None:
    with standing(*QUARTERS) as (wall, easels, _):
        wall.picture(SIZE)

        def all_shown() -> bool:
            fed(wall, easels, 10)
            picture = wall.picture(SIZE)
            assert picture.shape == (720, 1280, 3)
            return all(level(picture, corner) > 50 for corner in QUARTERS.values())

        wait_until(all_shown, "all tiles are shown")


def test_a_stream_that_dies_is_words_on_black_and_the_others_go_on() -> None:
    with standing(*QUARTERS) as (wall, easels, overview):
        wall.picture(SIZE)

        def shown() -> bool:
            fed(wall, easels, 10)
            return level(wall.picture(SIZE), QUARTERS["dock"]) > 50

        wait_until(shown, "the dock is shown")
        overview.states["dock"] = make_report(StreamState.BACKING_OFF, error="the cable is out")
        x, y = QUARTERS["dock"]
        picture = wall.picture(SIZE)
        tile = picture[y - 90 : y + 250, x - 90 : x + 530]
        assert 0 < (tile > 100).mean() < 0.1, "words on black"
        assert level(picture, QUARTERS["gate"]) > 50


def test_a_late_picture_is_marked_and_an_old_one_is_taken_away() -> None:
    clock = FakeClock()
    overview = FakeOverview()
    with opened_gallery("gate") as (gallery, [easel]):
        wall = WallScreen(Exhibition(gallery, 30.0), overview, clock)
        try:
            wall.picture(SIZE)

            def shown() -> bool:
                easel.take(seen(10, captured_at=clock()))
                return bool(wall.picture(SIZE)[300:400, 300:900].mean() > 50)

            wait_until(shown, "the picture is shown")
            edge = wall.picture(SIZE)[0, 640].copy()
            clock.advance(5.0)
            late = wall.picture(SIZE)
            assert late[300:400, 300:900].mean() > 50
            assert not np.array_equal(late[0, 640], edge), "it has a border"
            clock.advance(60.0)
            gone = wall.picture(SIZE)
            assert (gone > 100).mean() < 0.1, "words on black"
        finally:
            wall.close()


def test_a_spotlight_is_large_and_the_same_number_puts_it_back() -> None:
    with standing(*QUARTERS) as (wall, _, _overview):
        wall.picture(SIZE)
        before = {tile.id: tile.width for tile in wall._layout.tiles}
        wall.toggle_spotlight(2)
        wall.picture(SIZE)
        first, *rest = wall._layout.tiles
        assert first.id == "dock"
        assert all(first.width > 2 * tile.width for tile in rest)
        wall.toggle_spotlight(2)
        wall.picture(SIZE)
        assert {tile.id: tile.width for tile in wall._layout.tiles} == before
        wall.toggle_spotlight(9)  # there is none


def test_a_small_screen_turns_its_pages() -> None:
    clock = FakeClock()
    streams = [f"s{number}" for number in range(8)]
    overview = FakeOverview(
        meters={stream: busy_meter(1) for stream in streams},
        states={stream: make_report() for stream in streams},
    )
    with opened_gallery(*streams) as (gallery, _):
        wall = WallScreen(Exhibition(gallery), overview, clock)
        try:
            pages = []
            for _ in range(wall._layout.pages + 4):
                wall.picture((420, 240))
                pages.append([tile.id for tile in wall._layout.tiles])
                clock.advance(PAGE_S)
            assert {stream for page in pages for stream in page} == set(streams)
        finally:
            wall.close()


def test_another_size_and_another_list_of_streams_make_another_wall() -> None:
    with standing(*QUARTERS) as (wall, _, overview):
        assert wall.picture((640, 360)).shape == (360, 640, 3)
        assert wall.picture((360, 640)).shape == (640, 360, 3)
        del overview.meters["hall"], overview.states["hall"]
        wall.picture((360, 640))
        assert {tile.id for tile in wall._layout.tiles} == {"gate", "dock", "yard"}
