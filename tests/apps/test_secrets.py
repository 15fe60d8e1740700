"""Names and passwords of cameras: every character works, and none is ever shown."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.command import vidpipe, write_config
from tests.feeds import hls_camera
from tests.graphs import saved, ssd_rows
from tests.peers import babbling, closing, giving, peer, redirecting
from tests.rtsp import has_rtsp_server, rtsp_server

pytestmark = [
    pytest.mark.rtsp,
    pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
]

USER = "böb@x.örg"
PASSWORD = "p@s s/wö:rd#1%41.?&пароль"
DEAD_PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nnope.ts\n"
IS_PLAYLIST = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.apple.mpegurl\r\n\r\n"


def encoded(text: str) -> str:
    return quote(text, safe="")


def forms(secret: str) -> set[str]:
    """Return every way in which a library may print it."""
    raw = secret.encode()
    return {
        secret,
        encoded(secret),
        encoded(secret).lower(),
        quote(secret),
        quote_plus(secret),
        raw.decode("latin-1"),
        repr(raw)[2:-1],
        ascii(secret)[1:-1],
    }


def test_a_camera_may_have_any_password_and_nobody_is_told(tmp_path: Path) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), tmp_path)
    with ExitStack() as stack:
        good = stack.enter_context(rtsp_server(USER, PASSWORD))
        stranger = stack.enter_context(rtsp_server(USER, "other"))
        playlist = stack.enter_context(hls_camera(tmp_path))
        addresses = [good.url(), good.url("nowhere"), stranger.url(), "rtsp://nope.invalid/x"]
        addresses.append(playlist)
        for behave in (babbling, closing, redirecting, giving(IS_PLAYLIST, DEAD_PLAYLIST)):
            port = stack.enter_context(peer(behave))
            addresses += [f"{scheme}://127.0.0.1:{port}/x" for scheme in ("rtsp", "http", "rtmp")]
        connect = {"open_timeout_s": 2, "backoff_s": [0.2, 0.4]}
        given: dict[str, Any] = {**connect, "username": USER, "password": PASSWORD}
        streams: list[dict[str, Any]] = [
            {"id": f"c{n}", "source": url, "connect": given} for n, url in enumerate(addresses)
        ]
        inside = good.url(userinfo=f"{encoded(USER)}:{encoded(PASSWORD)}")
        streams.append({"id": "inside", "source": inside, "connect": connect})
        config = write_config(
            tmp_path,
            {
                "models": {"tiny": {"path": str(model)}},
                "defaults": {"outputs": [{"type": "jsonl", "path": "out/{stream}.jsonl"}]},
                "streams": streams,
                "telemetry": {
                    "log_level": "TRACE",
                    "log_file": "out/log.txt",
                    "manifest": "out/manifest.json",
                },
            },
        )
        done = vidpipe("run", config, "--duration", "6", cwd=tmp_path)
        checked = vidpipe("check", config, "--json", cwd=tmp_path)
    assert done.code == 1, done.err  # some never came up
    for stream in ("c0", "inside"):
        assert (tmp_path / "out" / f"{stream}.jsonl").stat().st_size > 0, done.err
    written = [path.read_text("utf-8", "replace") for path in (tmp_path / "out").iterdir()]
    told = "\n".join([done.out, done.err, checked.out, checked.err, *written])
    assert "not this path" in told
    assert "password was refused" in told
    for secret in (USER, PASSWORD):
        for form in forms(secret):
            assert form not in told, form
