"""``vidpipe run`` and ``check`` with cameras: a real RTSP server that goes away and comes back."""

from __future__ import annotations

import json
import signal
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import pytest

from tests.certificates import make_certificates
from tests.command import ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.rtsp import has_rtsp_server, rtsp_server
from tests.threads import wait_until

pytestmark = [
    pytest.mark.rtsp,
    pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
]

PASSWORD = "p@ss/w:rd#1 ü"


def cameras(folder: Path, *urls: str, **stream: Any) -> dict[str, Any]:
    """Return a configuration of cameras, a quick one to come back."""
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
    outputs = [
        {"type": "jsonl", "path": "out/{stream}.jsonl"},
        {"type": "video", "path": "out/{stream}-{n}.mp4", "segment_s": 2},
    ]
    connect = {
        "open_timeout_s": 4,
        "read_timeout_s": 2,
        "backoff_s": [0.2, 0.5],
        "username": "viewer",
        "password": PASSWORD,
    }
    return {
        "models": {"tiny": {"path": str(model)}},
        "defaults": {"outputs": outputs, "connect": connect, **stream},
        "streams": [{"id": f"c{n}", "source": url} for n, url in enumerate(urls)],
    }


def lines(folder: Path, stream: str) -> list[dict[str, Any]]:
    """Return the lines that are whole so far."""
    path = folder / "out" / f"{stream}.jsonl"
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.timeout(180)
def test_a_camera_that_goes_away_comes_back_and_harms_no_other(tmp_path: Path) -> None:
    with rtsp_server("viewer", PASSWORD) as steady, rtsp_server("viewer", PASSWORD) as first:
        config = write_config(tmp_path, cameras(tmp_path, steady.url(), first.url()))
        with started("run", config, cwd=tmp_path) as process:
            wait_until(lambda: len(lines(tmp_path, "c0")) > 25, "the steady camera", 40)
            wait_until(lambda: len(lines(tmp_path, "c1")) > 25, "the other camera", 40)
            first.kill()
            before = len(lines(tmp_path, "c0"))
            wait_until(lambda: len(lines(tmp_path, "c0")) > before + 75, "the steady one", 40)
            count = len(lines(tmp_path, "c1"))
            with rtsp_server("viewer", PASSWORD, port=first.port):
                wait_until(lambda: len(lines(tmp_path, "c1")) > count + 25, "its return", 40)
                process.send_signal(signal.SIGTERM)
                done = ended(process)

    assert done.code == 0, done.err
    moments = [datetime.fromisoformat(line["time"]) for line in lines(tmp_path, "c0")]
    longest = max(later - earlier for earlier, later in pairwise(moments))
    assert longest < timedelta(seconds=1.5), "the steady camera was held up"
    back = lines(tmp_path, "c1")
    numbers = [line["frame"] for line in back]
    assert numbers == sorted(set(numbers))
    assert all(line["time"].endswith("Z") for line in back)
    segments = sorted((tmp_path / "out").glob("c0-*.mp4"))
    assert len(segments) >= 2
    for segment in segments:
        with av.open(str(segment)) as container:
            assert next(container.decode(video=0)).pts == 0
    for text in (done.err, done.out, (tmp_path / "out" / "c0.jsonl").read_text("utf-8")):
        assert PASSWORD not in text
        assert "p%40ss" not in text
        assert "viewer" not in text


def test_check_tells_cameras_that_answer_from_those_that_do_not(tmp_path: Path) -> None:
    with rtsp_server("viewer", PASSWORD) as server, rtsp_server("viewer", "other") as stranger:
        urls = [
            server.url(),
            server.url("nowhere"),
            stranger.url(),
            "rtsp://127.0.0.1:1/cam",
            "rtsp://no-such-host.invalid/cam",
            "synthetic:people?size=320x240",
        ]
        config = write_config(tmp_path, cameras(tmp_path, *urls))
        done = vidpipe("check", config, "--json", cwd=tmp_path)

    assert done.code == 1
    report = json.loads(done.out)
    assert [stream["cause"] for stream in report["streams"]] == [
        None,
        "not found",
        "authentication",
        "refused",
        "name resolution",
        None,
    ]
    camera = report["streams"][0]
    assert (camera["codec"], camera["width"], camera["height"]) == ("h264", 320, 240)
    assert camera["measured_fps"] == pytest.approx(25, rel=0.2)
    assert camera["first_frame_s"] > 0
    assert PASSWORD not in done.out + done.err
    assert "viewer" not in done.out + done.err


def test_a_run_may_insist_that_every_camera_is_up(tmp_path: Path) -> None:
    with rtsp_server("viewer", PASSWORD) as server:
        up = write_config(tmp_path, cameras(tmp_path, server.url()))
        done = vidpipe("run", up, "--require-all", "--duration", "6", cwd=tmp_path)
        assert done.code == 0, done.err
        both = write_config(tmp_path, cameras(tmp_path, server.url(), server.url("nowhere")))
        refused = vidpipe("run", both, "--require-all", "--duration", "30", cwd=tmp_path)
    assert refused.code == 2, refused.err
    assert "c1: " in refused.err
    assert "not this path" in refused.err


def test_a_camera_may_speak_tls_and_has_to_prove_who_it_is_only_if_asked(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    pem = tmp_path / "both.pem"
    pem.write_bytes(made.cert.read_bytes() + made.key.read_bytes())
    with rtsp_server("viewer", PASSWORD, tls=pem) as server:
        config = cameras(tmp_path, *[server.url()] * 3)
        secure = config["defaults"]["connect"]
        for stream, tls in zip(
            config["streams"],
            ({}, {"verify": True}, {"verify": True, "ca": str(made.ca)}),
            strict=True,
        ):
            stream["connect"] = {**secure, "tls": tls}
        done = vidpipe("check", write_config(tmp_path, config), "--json", cwd=tmp_path)
    causes = [stream["cause"] for stream in json.loads(done.out)["streams"]]
    assert causes == [None, "lost", None]
