"""The wall's socket on a real server, with real clients and the real gallery."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import cv2
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.galleries import moving, opened_gallery, seen
from tests.overviews import FakeOverview, make_report
from tests.threads import wait_until
from tests.wall_pages import PATIENCE_S, WallPage, bare_page, masked, wall_page
from vidpipe.config.schema import ServerConfig
from vidpipe.outputs.gallery import Easel, LocalGallery
from vidpipe.runtime.meters import StreamMeter
from vidpipe.server import websocket
from vidpipe.server.service import HttpServer
from vidpipe.shots import Exhibition
from vidpipe.types import StreamState

STREAMS = ("gate", "yard", "dock")


class Site:
    """A server, a run that stands still, and a gallery that is fed."""

    def __init__(self, server: HttpServer, gallery: LocalGallery, easels: list[Easel]) -> None:
        self.server = server
        self.gallery = gallery
        self.easels = easels
        self.overview = FakeOverview(
            meters={stream: StreamMeter() for stream in STREAMS},
            states={stream: make_report() for stream in STREAMS},
        )

    @property
    def url(self) -> str:
        return self.server.url

    def show(self) -> None:
        exhibition = Exhibition(self.gallery, 12.5, {"outside": ["gate", "yard"]})
        self.server.show(self.overview, pictures=exhibition)

    def wait_until_unwatched(self) -> None:
        wait_until(
            lambda: not any(easel.is_watched for easel in self.easels), "nobody watches any more"
        )


@pytest.fixture
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        gallery, easels = stack.enter_context(opened_gallery(*STREAMS))
        server = HttpServer(ServerConfig(port=0))
        server.start()
        stack.callback(server.stop)
        site = Site(server, gallery, easels)
        site.show()
        yield site


@pytest.fixture
def page(site: Site) -> Iterator[WallPage]:
    with wall_page(site.url) as page:
        yield page


def test_a_page_is_greeted_and_told_how_all_streams_stand(site: Site, page: WallPage) -> None:
    site.easels[0].take(seen(1))
    hello = page.until_text("hello")
    assert hello["role"] == "operator"
    assert hello["fps"] == 12.5
    assert hello["groups"] == {"outside": ["gate", "yard"]}
    assert hello["server_time"].endswith("Z")
    gate, yard, _ = page.until_text("streams", lambda text: text["streams"][0]["aspect"])["streams"]
    assert gate["id"] == "gate"
    assert gate["state"] == "live"
    assert gate["aspect"] == pytest.approx(320 / 180, abs=1e-4)
    assert gate["counts"] == {"person": 1}
    assert 0 <= gate["age_s"] < PATIENCE_S
    assert gate["last_frame"].endswith("Z")
    assert (yard["last_frame"], yard["age_s"], yard["aspect"], yard["counts"]) == (
        None, None, None, {},
    )  # fmt: skip


def test_a_change_of_state_is_told_at_once_and_the_rest_once_a_second(
    site: Site, page: WallPage
) -> None:
    page.until_text("streams")
    site.overview.states["gate"] = make_report(StreamState.BACKING_OFF, error="nothing came")
    changed_at = time.monotonic()
    told = page.until_text("streams", lambda text: text["streams"][0]["state"] == "backing-off")
    assert time.monotonic() - changed_at < 0.9
    assert told["streams"][0]["error"] == "nothing came"
    begun_at = time.monotonic()
    for _ in range(2):
        page.until_text("streams")
    assert 1.2 < time.monotonic() - begun_at < 3.0


def test_pictures_come_at_the_size_that_was_asked_for(site: Site, page: WallPage) -> None:
    with moving(site.easels):
        page.watch("gate", "yard", width=150, height=80)
        pictures = page.pictures(12)
    assert {one.header["stream"] for one in pictures} == {"gate", "yard"}
    for one in pictures:
        image = cv2.imdecode(np.frombuffer(one.jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        assert image.shape[:2] == (one.header["height"], one.header["width"])
        assert one.header["width"] in range(150, 183), "150x80, rounded up to be shared"
        assert one.header["counts"] == {"person": 1}
        assert one.header["replay"] is False
        assert 0 <= one.header["age_ms"] < 5000
    numbers = [one.header["seq"] for one in pictures if one.header["stream"] == "gate"]
    assert numbers == sorted(set(numbers))


def test_the_rate_is_what_the_page_asked_for(site: Site, page: WallPage) -> None:
    with moving(site.easels, rate_fps=50):
        page.watch("gate", fps=10)
        page.pictures(5)
        begun_at = time.monotonic()
        page.pictures(20)
        assert 1.5 < time.monotonic() - begun_at < 3.0


def test_without_acknowledgements_two_come_and_afterwards_the_newest(
    site: Site, page: WallPage
) -> None:
    with moving(site.easels, rate_fps=50):
        page.watch("gate")
        first = page.quiet_pictures(1.0)
        assert len(first) == 2
        page.ack(first[-1])
        [following] = page.pictures(1)
    assert following.header["seq"] > first[-1].header["seq"] + 10
    assert following.header["age_ms"] < 500


def test_a_slow_page_gets_fewer_pictures_and_never_old_ones(site: Site, page: WallPage) -> None:
    pause = threading.Event()
    with moving(site.easels, rate_fps=60):
        page.watch("gate", fps=60)
        page.pictures(1)
        pictures = []
        for _ in range(15):
            pause.wait(0.1)  # it draws slowly
            pictures += page.pictures(1)
    numbers = [one.header["seq"] for one in pictures]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] - numbers[0] > 2 * len(numbers)
    assert max(one.header["age_ms"] for one in pictures) < 1000


def test_a_hidden_page_and_one_that_left_cost_nothing(site: Site) -> None:
    with wall_page(site.url) as page:
        page.watch("gate")
        with moving(site.easels):
            page.pictures(2)
        page.say(type="watch", tiles={})
        site.wait_until_unwatched()
        page.watch("gate", "dock")
        wait_until(lambda: site.easels[2].is_watched, "the third is watched, too")
    site.wait_until_unwatched()


def test_a_page_that_never_acknowledges_is_closed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidpipe.server.wall.STALLED_S", 0.5)
    with wall_page(site.url) as page, moving(site.easels):
        page.watch("gate")
        with pytest.raises(ConnectionClosed) as closed:
            page.quiet_pictures(PATIENCE_S)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4008, "stalled")
    site.wait_until_unwatched()


def test_a_page_that_reads_nothing_is_cut_off_and_costs_the_others_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidpipe.server.wall.STALLED_S", 0.5)
    monkeypatch.setattr("vidpipe.server.websocket.STALL_S", 0.5)
    with bare_page(site.url) as dead, wall_page(site.url) as page, moving(site.easels):
        tiles = ", ".join(f'"{s}": {{"width": 320, "height": 180, "fps": 30}}' for s in STREAMS)
        dead.sendall(masked(f'{{"type": "watch", "tiles": {{{tiles}}}}}'))
        page.watch(*STREAMS, fps=20)
        page.pictures(3)
        begun_at = time.monotonic()
        page.pictures(60)
        assert time.monotonic() - begun_at < 2.5
        page.say(type="watch", tiles={})
        site.wait_until_unwatched()


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"type": "sing"}',
        '{"type": "ack", "stream": "gate", "seq": "one"}',
        '{"type": "watch", "tiles": {"GATE!": {"width": 9, "height": 9, "fps": 1}}}',
    ],
)
def test_a_message_that_no_page_sends_closes_with_the_reason(page: WallPage, text: str) -> None:
    page.socket.send(text)
    with pytest.raises(ConnectionClosed) as closed:
        page.quiet_pictures(PATIENCE_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert closed.value.rcvd.reason


@pytest.mark.parametrize(("message", "code"), [(b"\x00\x01", 1008), ("x" * 70_000, 1009)])
def test_bytes_and_what_is_too_large_close(page: WallPage, message: str | bytes, code: int) -> None:
    page.socket.send(message)
    with pytest.raises(ConnectionClosed) as closed:
        page.quiet_pictures(PATIENCE_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


def test_a_page_that_asks_without_end_is_closed(page: WallPage) -> None:
    def ask_without_end() -> None:
        for _ in range(2000):
            page.say(type="history", stream="gate")
        page.quiet_pictures(PATIENCE_S)

    with pytest.raises(ConnectionClosed) as closed:
        ask_without_end()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.reason == "too many messages"


def test_a_page_that_floods_is_read_no_faster_than_its_share(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "SHARE", 1e-6)
    monkeypatch.setattr(websocket, "_BURST_S", 0.0)
    flood = masked('{"type":"ack","stream":"gate","seq":1}') * 100_000
    with bare_page(site.url) as client:
        monkeypatch.undo()
        client.settimeout(1.0)
        with pytest.raises(TimeoutError):
            client.sendall(flood * 5)
        with wall_page(site.url) as page, moving(site.easels):
            page.watch("gate")
            page.pictures(5)


def test_a_failure_of_the_run_is_no_end_of_the_news(
    site: Site, page: WallPage, log_lines: list[str]
) -> None:
    page.until_text("streams", lambda text: len(text["streams"]) == 3)
    site.overview.failure = ValueError("unforeseen")
    wait_until(lambda: any("the wall can't say" in line for line in log_lines), "it was said")
    site.overview.failure = None
    site.overview.states["yard"] = make_report(StreamState.STALLED)
    page.until_text("streams", lambda text: text["streams"][1]["state"] == "stalled")


def test_streams_that_are_not_there_are_no_reason_to_close(site: Site, page: WallPage) -> None:
    page.watch("gone", "gate")
    page.say(type="ack", stream="gone", seq=5)
    page.say(type="history", stream="gone")
    assert page.until_text("history")["seconds"] == []
    page.say(type="replay", stream="gone")
    assert page.until_text("replay")["count"] == 0
    with moving(site.easels):
        page.pictures(1)


def test_the_layout_is_reckoned_for_the_pages_own_screen(page: WallPage) -> None:
    aspects = [["gate", 16 / 9], ["yard", 16 / 9], ["dock", 9 / 16]]
    page.say(type="layout", request=7, width=1200, height=800, aspects=aspects, spotlight=None,
             page=0)  # fmt: skip
    answer = page.until_text("layout")
    assert answer["request"] == 7
    assert answer["page"] == 0
    assert answer["pages"] >= 1
    assert {tile["id"] for tile in answer["tiles"]} <= {"gate", "yard", "dock"}
    for tile in answer["tiles"]:
        assert 0 <= tile["x"] <= tile["x"] + tile["width"] <= 1200
        assert 0 <= tile["y"] <= tile["y"] + tile["height"] <= 800


def test_the_last_minute_and_the_last_pictures_are_told(site: Site, page: WallPage) -> None:
    with moving(site.easels):
        page.watch("gate")
        live = page.pictures(10)
    page.say(type="watch", tiles={})
    page.say(type="history", stream="gate")
    history = page.until_text("history")
    assert history["stream"] == "gate"
    assert history["seconds"][-1]["counts"] == {"person": 1}
    page.say(type="replay", stream="gate")
    count = page.until_text("replay")["count"]
    again = [one for one in page.pictures(count, acks=False) if one.header["replay"]]
    assert len(again) == count
    numbers = [one.header["seq"] for one in again]
    assert numbers == sorted(numbers)
    assert {one.jpeg for one in again} >= {live[0].jpeg}


def test_many_pages_share_what_is_encoded(site: Site) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(wall_page(site.url)) for _ in range(8)]
        for page in pages:
            page.watch("gate", width=150)
        with moving(site.easels):
            seen_by = [{one.header["seq"]: one.jpeg for one in page.pictures(5)} for page in pages]
    common = set.intersection(*(set(numbers) for numbers in seen_by))
    for seq in common:
        assert len({numbers[seq] for numbers in seen_by}) == 1


def test_too_many_pages_are_told_to_come_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidpipe.server.wall.MOST_PAGES", 1)
    with wall_page(site.url) as first, wall_page(site.url) as second:
        with pytest.raises(ConnectionClosed) as closed:
            second.quiet_pictures(PATIENCE_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013
        first.until_text("streams")


def test_a_page_waits_for_the_run_and_is_greeted_again_once_it_is_there() -> None:
    with opened_gallery(*STREAMS) as (gallery, easels):
        server = HttpServer(ServerConfig(port=0))
        server.start()
        try:
            with wall_page(server.url) as page:
                assert page.until_text("hello")["groups"] == {}
                news = page.until_text("streams")
                assert (news["streams"], news["loading"]) == ([], True)
                page.watch("gate")
                Site(server, gallery, easels).show()
                assert page.until_text("hello")["fps"] == 12.5
                assert not page.until_text("streams", lambda text: text["streams"])["loading"]
                with moving(easels):
                    page.pictures(2)
        finally:
            server.stop()


def test_the_server_stops_in_time_while_pages_are_open(site: Site) -> None:
    with bare_page(site.url), wall_page(site.url) as page, moving(site.easels):
        page.watch(*STREAMS)
        page.pictures(2)
        begun_at = time.monotonic()
        site.server.stop()
        assert time.monotonic() - begun_at < 2.0
        with pytest.raises(ConnectionClosed):
            page.quiet_pictures(PATIENCE_S)


def test_a_token_is_needed_where_there_are_some() -> None:
    tokens = [{"role": "viewer", "token": "look"}]
    server = HttpServer(ServerConfig.model_validate({"port": 0, "tokens": tokens}))
    server.start()
    try:
        with pytest.raises(InvalidStatus) as refused, wall_page(server.url):
            pass
        assert refused.value.response.status_code == 401
        with wall_page(server.url, authorization="Bearer look") as page:
            assert page.until_text("hello")["role"] == "viewer"
    finally:
        server.stop()


def test_a_page_of_another_site_is_refused(site: Site) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        wall_page(site.url, origin="http://evil.example"),
    ):
        pass
    assert refused.value.response.status_code == 403
