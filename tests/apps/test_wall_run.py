"""`vidpipe run` with somebody who looks on: real cameras (clips), one process and two."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.apps.test_server import document, serving, stopped, wait_ready
from tests.processes import children_of
from tests.threads import wait_until
from tests.wall_pages import Drawn, WallPage, wall_page
from tests.web import ask

PATIENCE_S = 150.0


def shown(page: WallPage, streams: set[str]) -> list[Drawn]:
    """Return pictures until each of these streams has shown five."""
    found: list[Drawn] = []
    while any(sum(p.header["stream"] == s for p in found) < 5 for s in streams):
        found += page.pictures(1)
    return found


def has_moved(pictures: list[Drawn], stream: str) -> bool:
    """Tell whether a stream's pictures differ from one another."""
    images = [
        cv2.imdecode(np.frombuffer(one.jpeg, np.uint8), cv2.IMREAD_COLOR)
        for one in pictures
        if one.header["stream"] == stream
    ]
    return len({image.tobytes() for image in images if image is not None}) > 1


def test_a_wall_shows_all_cameras_and_their_objects(tmp_path: Path) -> None:
    with serving(tmp_path, document(tmp_path, wall={"fps": 8, "groups": {"all": ["gate"]}})) as (
        process,
        url,
    ):
        wait_ready(url)
        with wall_page(url) as page:
            hello = page.until_text("hello", lambda text: text["groups"])
            assert (hello["fps"], hello["groups"]) == (8, {"all": ["gate"]})
            page.watch("gate", "dock", width=64, height=48)
            pictures = shown(page, {"gate", "dock"})
            assert has_moved(pictures, "gate")
            assert has_moved(pictures, "dock")
            assert all(sum(one.header["counts"].values()) == 1 for one in pictures)
            page.say(type="history", stream="gate")
            assert page.until_text("history")["seconds"]
        for stream in ("gate", "dock"):
            reply = ask(f"{url}/api/streams/{stream}/snapshot.jpg")
            assert reply.status == 200, reply.text
            assert reply.body.startswith(b"\xff\xd8")
        assert stopped(process).code == 0


@pytest.mark.timeout(4 * PATIENCE_S)
def test_with_several_workers_one_wall_shows_all_also_after_one_has_died(tmp_path: Path) -> None:
    config: dict[str, Any] = document(tmp_path, workers=2)
    with serving(tmp_path, config) as (process, url):
        wait_until(lambda: ask(f"{url}/readyz").status == 200, "it is ready", PATIENCE_S)
        with wall_page(url) as page:
            page.watch("gate", "dock", width=64, height=48)
            pictures = shown(page, {"gate", "dock"})
            assert has_moved(pictures, "gate")
            told = page.until_text(
                "streams", lambda text: all(one["aspect"] for one in text["streams"])
            )
            assert all(sum(one["counts"].values()) == 1 for one in told["streams"])
            before = max(one.header["seq"] for one in pictures if one.header["stream"] == "gate")
            os.kill(children_of(process.pid)[0], signal.SIGKILL)
            page.until_text("streams", lambda text: any(not one["up"] for one in text["streams"]))
            page.until_text(
                "streams", lambda text: all(one["up"] for one in text["streams"]), PATIENCE_S
            )
            again = shown(page, {"gate", "dock"})
            assert all(
                one.header["seq"] > before for one in again if one.header["stream"] == "gate"
            )
            page.say(type="history", stream="dock")
            assert page.until_text("history")["seconds"]
        assert ask(f"{url}/api/streams/gate/snapshot.jpg").status == 200
        assert stopped(process).code == 0
