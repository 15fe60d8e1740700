"""Events through the command line: a real broker, a real web server, kills and restarts."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.broker import Broker, broker, free_port, has_mosquitto, subscriber
from tests.certificates import has_openssl, make_certificates
from tests.command import ended, started, vidpipe, write_config
from tests.graphs import saved, ssd_rows
from tests.hooks import serving_hooks
from tests.rtsp import has_rtsp_server, rtsp_server
from tests.threads import wait_until

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
USER, WORD = "vidpipe", "p@ss:w/rd#%-ü"
needs_broker = pytest.mark.skipif(not has_mosquitto(), reason="needs mosquitto")


def document(
    folder: Path, *outputs: dict[str, Any], quiet_s: float = 1.0, **sources: str
) -> dict[str, Any]:
    """Return a configuration whose every frame holds one person."""
    model = saved(ssd_rows([ROW]), folder)
    streams = sources or {"gate": "synthetic:people?size=64x48&fps=25&seconds=4"}
    connect = {"open_timeout_s": 4, "read_timeout_s": 2, "backoff_s": [0.2, 0.5]}
    return {
        "models": {"tiny": {"path": str(model), "labels": ["nothing", "person"]}},
        "defaults": {"outputs": list(outputs), "connect": connect},
        "streams": [
            {"id": name, "source": url} for name, url in sources.items() or streams.items()
        ],
        "events": {"quiet_s": quiet_s},
        "outbox": {"path": "out/outbox.db"},
    }


def mqtt(place: Broker, **more: Any) -> dict[str, Any]:
    return {"type": "mqtt", "url": place.url, "timeout_s": 2, **more}


def waiting(folder: Path) -> int:
    """Count the deliveries that an outbox holds."""
    store = sqlite3.connect(f"file:{folder / 'out' / 'outbox.db'}?mode=ro", uri=True)
    try:
        return int(store.execute("SELECT count(*) FROM pending").fetchone()[0])
    finally:
        store.close()


@pytest.mark.mqtt
@needs_broker
def test_a_person_in_a_file_is_one_event_over_tls_with_a_password(tmp_path: Path) -> None:
    if not has_openssl():
        pytest.skip("needs the program openssl")
    files = make_certificates(tmp_path)
    with broker(tmp_path, USER, WORD, files) as place, subscriber(place) as heard:
        output = mqtt(
            place, username=USER, password=WORD, tls={"ca": "ca.pem"}, topic="site/{stream}/events"
        )
        config = write_config(tmp_path, document(tmp_path, output, quiet_s=30))
        done = vidpipe("run", config, cwd=tmp_path)
        assert done.code == 0, done.err
        wait_until(lambda: len(heard.messages) == 1, "it arrives")
    ((topic, payload, _),) = heard.messages
    event = json.loads(payload)
    assert topic == "site/gate/events"
    assert (event["kind"], event["stream"], event["label"]) == ("detection", "gate", "person")
    assert (event["frame"], event["pts"]) == (0, 0.0)
    assert event["box"] == [16.0, 12.0, 32.0, 36.0]
    assert "events: 1 delivered" in done.err
    assert WORD not in done.out + done.err


@pytest.mark.mqtt
@needs_broker
def test_without_a_broker_a_run_is_whole_and_the_next_one_delivers(tmp_path: Path) -> None:
    place = {"type": "mqtt", "url": f"mqtt://{USER}:secret-word@127.0.0.1:{free_port()}"}
    config = write_config(tmp_path, document(tmp_path, place, quiet_s=0))
    done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "100 deliveries wait in out/outbox.db for the next start" in done.err
    assert "secret-word" not in done.err
    with broker(tmp_path) as there, subscriber(there) as heard:
        config = write_config(tmp_path, document(tmp_path, mqtt(there), quiet_s=1000))
        done = vidpipe("run", config, cwd=tmp_path)
        assert done.code == 0, done.err
        wait_until(lambda: len(heard.events) == 101, "all arrive")
    assert [event["frame"] for event in heard.events] == [*range(100), 0]
    assert waiting(tmp_path) == 0


@pytest.mark.mqtt
@needs_broker
def test_a_kill_9_costs_no_event_that_was_stored(tmp_path: Path) -> None:
    endless = {"gate": "synthetic:people?size=64x48&fps=25"}
    with broker(tmp_path) as place, subscriber(place) as heard:
        output = mqtt(place, topic="x/{stream}/events")
        config = write_config(tmp_path, document(tmp_path, output, quiet_s=0, **endless))
        with started("run", config, cwd=tmp_path) as process:
            wait_until(lambda: len(heard.events) > 10, "events come")
            place.freeze()
            wait_until(lambda: waiting(tmp_path) > 50, "events gather")
            process.kill()
            process.wait()
        place.thaw()
        stored = waiting(tmp_path)
        arrived = len(heard.events)
        config = write_config(tmp_path, document(tmp_path, output, quiet_s=1000))
        done = vidpipe("run", config, cwd=tmp_path)
        assert done.code == 0, done.err
        wait_until(lambda: waiting(tmp_path) == 0, "the next start delivers them")
    frames = [event["frame"] for event in heard.events][:-1]
    assert frames == list(range(len(frames)))
    assert len(frames) >= stored > 50
    assert arrived > 10


def test_a_webhook_gets_events_and_its_refusal_is_a_failure(tmp_path: Path) -> None:
    with serving_hooks() as server:
        server.answers = [503, 200, 400]
        output = {"type": "webhook", "url": f"{server.url}/a b?key=secret-key", "token": "word-1"}
        config = write_config(tmp_path, document(tmp_path, output, quiet_s=0.04))
        done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 1, done.err
    assert len(server.posts) == 101
    assert server.posts[0].body == server.posts[1].body
    assert server.posts[0].path == "/a%20b?key=secret-key"
    assert server.posts[0].headers["Authorization"] == "Bearer word-1"
    assert "gate webhook: events were refused, the first one: HTTP 400" in done.err
    assert "99 delivered, 1 refused" in done.err
    assert "secret-key" not in done.err
    assert "word-1" not in done.err


def test_two_processes_share_one_outbox(tmp_path: Path) -> None:
    with serving_hooks() as server:
        output = {"type": "webhook", "url": server.url}
        source = "synthetic:people?size=64x48&fps=25&seconds=4"
        made = document(tmp_path, output, quiet_s=0, gate=source, yard=source)
        done = vidpipe("run", write_config(tmp_path, {**made, "workers": 2}), cwd=tmp_path)
    assert done.code == 0, done.err
    for stream in ("gate", "yard"):
        frames = [p.body["frame"] for p in server.posts if p.body["stream"] == stream]
        assert frames == list(range(100))
    assert waiting(tmp_path) == 0


def test_a_damaged_outbox_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "outbox.db").write_bytes(b"no database" * 1000)
    with serving_hooks() as server:
        config = write_config(tmp_path, document(tmp_path, {"type": "webhook", "url": server.url}))
        done = vidpipe("run", config, cwd=tmp_path)
    assert done.code == 0, done.err
    assert len(server.posts) == 1
    assert "it was moved to outbox.db.damaged-" in done.err


def test_a_certificate_that_is_not_there_refuses_the_start(tmp_path: Path) -> None:
    output = {"type": "mqtt", "url": "mqtts://h", "tls": {"ca": "nowhere.pem"}}
    done = vidpipe("run", write_config(tmp_path, document(tmp_path, output)), cwd=tmp_path)
    assert done.code == 2
    assert "stream gate: outputs: mqtt: tls: nowhere.pem: No such file or directory" in done.err


@pytest.mark.rtsp
@pytest.mark.timeout(180)
@pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server")
def test_a_camera_s_end_and_return_are_told(tmp_path: Path) -> None:
    with serving_hooks() as server:

        def kinds() -> list[str]:
            return [post.body["kind"] for post in server.posts]

        output = {"type": "webhook", "url": server.url}
        with rtsp_server() as camera:
            nobody = f"rtsp://u:secret-word@127.0.0.1:{free_port()}/x"
            made = document(tmp_path, output, quiet_s=1000, gate=camera.url(), gone=nobody)
            with started("run", write_config(tmp_path, made), cwd=tmp_path) as process:
                wait_until(lambda: kinds().count("camera-up") == 1, "it is up", 40)
                wait_until(lambda: kinds().count("camera-down") == 1, "the other is down", 40)
                wait_until(lambda: kinds().count("detection") == 1, "somebody is seen", 40)
                camera.kill()
                wait_until(lambda: kinds().count("camera-down") == 2, "it is down", 40)
                with rtsp_server(port=camera.port):
                    wait_until(lambda: kinds().count("camera-up") == 2, "it is back", 40)
                    process.send_signal(signal.SIGTERM)
                    done = ended(process)
    assert done.code == 1  # the camera that never came up
    assert len(server.posts) == 5, "the stop itself is nobody's news"
    down = [post.body for post in server.posts if post.body["kind"] == "camera-down"]
    assert {one["stream"] for one in down} == {"gate", "gone"}
    assert all(one["detail"] and "secret-word" not in one["detail"] for one in down)
    assert down[0]["label"] is down[0]["box"] is down[0]["frame"] is None
