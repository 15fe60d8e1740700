"""Snapshots and MJPEG on a real server, with the real gallery."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.galleries import PATIENCE_S, Catcher, moving, opened_gallery
from tests.overviews import FakeOverview, make_report
from tests.threads import wait_until
from tests.web import ask, connected
from vidpipe.config.schema import ServerConfig
from vidpipe.outputs.gallery import Easel, LocalGallery
from vidpipe.server.service import HttpServer
from vidpipe.shots import Exhibition, ShotSize
from vidpipe.types import StreamState


class Site:
    """A server with one camera."""

    def __init__(self, server: HttpServer, gallery: LocalGallery, easel: Easel) -> None:
        self.gallery = gallery
        self.easel = easel
        self.overview = FakeOverview()
        self.base = f"{server.url}/api/streams/gate"
        self.url = server.url
        server.show(self.overview, pictures=Exhibition(gallery, 10.0))


@pytest.fixture
def site() -> Iterator[Site]:
    with ExitStack() as stack:
        gallery, [easel] = stack.enter_context(opened_gallery("gate"))
        server = HttpServer(ServerConfig(port=0))
        server.start()
        stack.callback(server.stop)
        yield Site(server, gallery, easel)


def decoded(jpeg: bytes) -> NDArray[np.uint8]:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image, np.uint8)


def test_a_snapshot_is_the_stream_as_it_is_now(site: Site) -> None:
    with moving([site.easel]):
        asked_at = time.time()
        reply = ask(f"{site.base}/snapshot.jpg")
    assert reply.status == 200
    assert reply.headers["content-type"] == "image/jpeg"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-disposition"].startswith('inline; filename="gate-20')
    captured = np.datetime64(reply.headers["x-capture-time"].removesuffix("Z"))
    assert captured.astype("datetime64[ms]").astype(int) / 1000 >= asked_at - 1
    assert decoded(reply.body).shape == (180, 320, 3)


@pytest.mark.parametrize(("width", "expected"), [("160", 160), ("100", 100), ("9999", 320)])
def test_a_snapshot_may_be_smaller_but_is_never_enlarged(
    site: Site, width: str, expected: int
) -> None:
    with moving([site.easel]):
        reply = ask(f"{site.base}/snapshot.jpg?width={width}")
    assert decoded(reply.body).shape[1] == expected


@pytest.mark.parametrize("query", ["width=0", "width=x", "width=1e9", "width=nan", "fps=0"])
def test_a_size_or_rate_that_is_none_is_refused(site: Site, query: str) -> None:
    page = "mjpeg" if "fps" in query else "snapshot.jpg"
    reply = ask(f"{site.base}/{page}?{query}")
    assert reply.status == 400
    assert reply.document["error"].startswith(query.partition("=")[0])


def test_a_stream_that_is_not_there_is_not_found(site: Site) -> None:
    for page in ("snapshot.jpg", "mjpeg"):
        assert ask(f"{site.url}/api/streams/nobody/{page}").status == 404


def test_before_the_run_there_is_no_picture() -> None:
    server = HttpServer(ServerConfig(port=0))
    server.start()
    try:
        reply = ask(f"{server.url}/api/streams/gate/snapshot.jpg")
    finally:
        server.stop()
    assert (reply.status, reply.document["error"]) == (503, "the models are being loaded")


def test_the_last_picture_of_a_dead_camera_is_never_served_as_if_live(site: Site) -> None:
    catcher = Catcher()
    visit = site.gallery.visit(catcher.take)
    visit.ask({"gate": {ShotSize(320, 180): 30.0}})
    with moving([site.easel]):
        shots = catcher.wait(2)
    visit.close()
    site.overview.states["gate"] = make_report(StreamState.BACKING_OFF, error="nothing came")
    reply = ask(f"{site.base}/snapshot.jpg")
    assert reply.status == 503
    assert reply.document["error"] == "gate is backing-off: nothing came"
    stale = ask(f"{site.base}/snapshot.jpg?stale=1")
    assert stale.status == 200
    assert stale.body in {shot.jpeg for shot in (*shots, catcher.shots[-1][0])}
    assert 0 <= float(stale.headers["x-age-seconds"]) < PATIENCE_S


def test_a_dead_camera_that_nobody_watched_has_no_last_picture(site: Site) -> None:
    site.overview.states["gate"] = make_report(StreamState.ENDED)
    reply = ask(f"{site.base}/snapshot.jpg?stale=1")
    assert reply.status == 503
    assert "nobody watched" in reply.document["error"]


def test_a_stream_that_is_up_and_shows_nothing_is_waited_for_no_longer_than_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidpipe.server.pictures.PATIENCE_S", 0.2)
    reply = ask(f"{site.base}/snapshot.jpg")
    assert (reply.status, reply.document["error"]) == (503, "no picture of gate came within 0.2 s")
    wait_until(lambda: not site.easel.is_watched, "nobody watches any more")


def begun(site: Site, query: str = "") -> socket.socket:
    client = connected(site.url)
    client.sendall(
        f"GET /api/streams/gate/mjpeg{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    )
    return client


def read_until(client: socket.socket, count: int) -> bytes:
    """Return what comes up to the beginning of so many pictures."""
    data = b""
    while data.count(b"\xff\xd8\xff") < count:
        part = client.recv(65536)
        assert part, data[:300]
        data += part
    return data


def test_mjpeg_is_one_picture_after_another(site: Site) -> None:
    with moving([site.easel]), begun(site, "?width=160&fps=20") as client:
        data = read_until(client, 4)
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"200 OK" in head
    assert b"multipart/x-mixed-replace; boundary=vidpipe-picture" in head
    first = body.index(b"\xff\xd8\xff")
    part_head = body[:first]
    length = int(part_head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    assert b"X-Capture-Time: 20" in part_head
    jpeg = body[first : first + length]
    assert decoded(jpeg).shape == (90, 160, 3)
    assert body[first + length :].startswith(b"\r\n--vidpipe-picture\r\n")


def test_who_leaves_mjpeg_is_forgotten(site: Site) -> None:
    with moving([site.easel]):
        with begun(site) as client:
            read_until(client, 2)
            assert site.easel.is_watched
        wait_until(lambda: not site.easel.is_watched, "nobody is encoded for any more")


def test_a_camera_that_dies_is_a_text_on_black_in_mjpeg(site: Site) -> None:
    with begun(site) as client:
        with moving([site.easel]):
            read_until(client, 2)
        site.overview.states["gate"] = make_report(StreamState.STALLED, detail="nothing comes")
        data, placard = b"", np.zeros((1, 1, 3), np.uint8)
        while placard.shape != (360, 640, 3):
            data += client.recv(65536)
            whole = [part for part in data.split(b"--vidpipe-picture")[:-1] if b"\xff\xd8" in part]
            if whole:
                placard = decoded(whole[-1][whole[-1].index(b"\xff\xd8") :])
        assert placard[0].max() < 30
        assert placard.max() > 150


def test_a_slow_reader_gets_fewer_pictures_never_older_ones(site: Site) -> None:
    catcher = Catcher()
    site.gallery.visit(catcher.take).ask({"gate": {ShotSize(320, 180): 60.0}})
    with moving([site.easel], rate_fps=60), begun(site, "?fps=60") as client:
        read_until(client, 1)
        catcher.wait(len(catcher.shots) + 60)  # a second in which the client reads nothing
        data = read_until(client, 2)
        times = [
            line.split(b": ")[1] for line in data.split(b"\r\n") if line.startswith(b"X-Capture")
        ]
        assert times == sorted(times)


def test_of_too_many_clients_the_last_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidpipe.server.pictures.MOST_AT_ONCE", 1)
    with moving([site.easel]), begun(site) as client:
        read_until(client, 1)
        reply = ask(f"{site.base}/mjpeg")
        assert reply.status == 503
        assert "1 clients" in reply.document["error"]


def test_head_of_mjpeg_has_no_end_to_wait_for(site: Site) -> None:
    reply = ask(f"{site.base}/mjpeg", method="HEAD")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("multipart/x-mixed-replace")
