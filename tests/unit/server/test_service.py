"""The server as its clients have it: a real one, on a port of the loopback."""

from __future__ import annotations

import logging
import os
import re
import resource
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.browsers import Browser
from tests.certificates import has_openssl, make_certificates
from tests.overviews import FakeOverview, busy_meter, make_pool, make_report
from tests.threads import running, wait_until
from tests.web import ask, connected, read_all, sent
from vidpipe.config.schema import ServerConfig
from vidpipe.errors import UsageError
from vidpipe.runtime.logs import register_secret
from vidpipe.server import certificate, connection
from vidpipe.server.service import HttpServer, serving
from vidpipe.types import StreamState

TOKENS = [{"role": "viewer", "token": "look"}, {"role": "operator", "token": "change"}]


@contextmanager
def served(overview: FakeOverview | None = None, **keys: Any) -> Iterator[str]:
    """Serve a run, and yield the server's address."""
    server = HttpServer(ServerConfig.model_validate({"port": 0, **keys}))
    server.start()
    try:
        if overview is not None:
            server.show(overview)
        yield server.url
    finally:
        server.stop()


@pytest.fixture
def url() -> Iterator[str]:
    """Yield the address of a server that shows one camera."""
    with served(FakeOverview()) as address:
        yield address


@pytest.fixture
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have slow clients be slow after a moment."""
    monkeypatch.setattr(connection, "REQUEST_S", 0.2)
    monkeypatch.setattr(connection, "STALL_S", 0.2)


def send_for_ever(client: socket.socket, data: bytes) -> None:
    """Send until something goes wrong."""
    while True:
        client.sendall(data)


def take_all_files(used: list[int]) -> None:
    """Open files until something goes wrong."""
    while True:
        used.append(os.dup(0))


# ---- Pages -----------------------------------------------------------------------------------


def test_health_is_the_process_alone() -> None:
    with served() as url:
        assert ask(f"{url}/healthz").status == 200


def test_before_there_is_a_run_it_is_not_ready_and_shows_none() -> None:
    with served() as url:
        reply = ask(f"{url}/readyz")
        assert reply.status == 503
        assert reply.document == {"ready": False, "missing": ["the models are being loaded"]}
        assert ask(f"{url}/api/streams").document == {"interval_s": None, "streams": []}
        names = {
            family.name for family in text_string_to_metric_families(ask(f"{url}/metrics").text)
        }
        assert "process_cpu_seconds" in names


def test_it_is_ready_with_every_pool_and_one_stream() -> None:
    overview = FakeOverview(
        meters={name: busy_meter(1) for name in ("gate", "dock")},
        states={"gate": make_report(StreamState.BACKING_OFF), "dock": make_report()},
    )
    with served(overview) as url:
        reply = ask(f"{url}/readyz")
        assert (reply.status, reply.document) == (200, {"ready": True, "missing": []})
        overview.pool_reports = [make_pool(), make_pool("face", is_ready=False)]
        overview.states["dock"] = make_report(StreamState.CONNECTING)
        reply = ask(f"{url}/readyz")
        assert reply.status == 503
        assert reply.document["missing"] == [
            "pool face is not ready",
            "no stream is up (1 backing-off, 1 connecting)",
        ]


@pytest.mark.skipif(not has_openssl(), reason="the program openssl makes certificates")
def test_a_certificate_that_has_expired_is_a_warning_and_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make_certificates(tmp_path)

    class Later(datetime):
        """A clock of another century."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # no Self
            return datetime(2199, 1, 1, tzinfo=tz)

    monkeypatch.setattr(certificate, "datetime", Later)
    context = ssl.create_default_context(cafile=str(files.ca))
    tls = {"cert": str(files.cert), "key": str(files.key)}
    with served(FakeOverview(), tls=tls) as url:
        reply = Browser(url, context).get("/readyz")
    assert reply.status == 200
    assert reply.document["ready"]
    [warning] = reply.document["warnings"]
    assert warning.startswith(f"server.tls.cert: {files.cert} has expired on ")


def test_streams_are_listed_in_order_with_all_that_is_known() -> None:
    overview = FakeOverview(
        meters={"gate": busy_meter(10), "dock": busy_meter(0)},
        states={
            "gate": make_report(is_live=False),
            "dock": make_report(StreamState.CONNECTING, detail="opening rtsp://u:pw@cam/x"),
        },
    )
    with served(overview) as url:
        gate, dock = ask(f"{url}/api/streams").document["streams"]
    assert (gate["id"], gate["name"], gate["state"], gate["up"]) == (
        "gate",
        "GATE",
        "playing",
        True,
    )
    assert gate["size"] == {"width": 64, "height": 48}
    assert gate["codec"] == "h264"
    assert (gate["captured"], gate["processed"], gate["detections"]) == (10, 10, 10)
    assert (dock["size"], dock["codec"], dock["up"]) == (None, None, False)
    assert dock["age_ms"] == {"p50": None, "p95": None, "p99": None}
    assert "pw" not in dock["detail"]


def test_rates_are_those_of_the_last_seconds() -> None:
    overview = FakeOverview(meters={"gate": busy_meter(1000, age_s=5.0)})
    with served(overview) as url:
        for _ in range(20):
            overview.meters["gate"].count_captured()
            overview.meters["gate"].count_processed(0.02, 0)
        document = ask(f"{url}/api/streams").document
        stream = document["streams"][0]
    assert stream["fps_in"] * document["interval_s"] == pytest.approx(20, rel=0.01)
    assert stream["captured"] == 1020
    assert stream["age_ms"]["p50"] == pytest.approx(20, rel=0.1)


def test_another_run_may_be_shown_in_place_of_one() -> None:
    server = HttpServer(ServerConfig(port=0))
    server.start()

    def shows(count: int) -> bool:
        (stream,) = ask(f"{server.url}/api/streams").document["streams"]
        return bool(stream["captured"] == count)

    try:
        for count in (3, 4):
            server.show(FakeOverview(meters={"gate": busy_meter(count)}))
            wait_until(partial(shows, count), "that run is shown")
    finally:
        server.stop()


def test_head_and_other_methods_and_pages(url: str) -> None:
    head = ask(f"{url}/metrics", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert ask(f"{url}/metrics", method="POST", body=b"x").status == 405
    missing = ask(f"{url}/no-such-page")
    assert (missing.status, missing.document) == (404, {"error": "there is no such page"})
    assert ask(f"{url}/healthz/").status == 404
    assert ask(f"{url}/healthz?x=%00%ff").status == 200


def test_every_answer_forbids_what_browsers_might_do(url: str) -> None:
    for path in ("/healthz", "/metrics", "/none", "/readyz"):
        headers = ask(url + path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


# ---- Access ----------------------------------------------------------------------------------


def test_with_tokens_all_but_health_needs_one() -> None:
    with served(FakeOverview(), tokens=TOKENS) as url:
        assert ask(f"{url}/healthz").status == 200
        for path in ("/metrics", "/readyz", "/api/streams", "/none", "//healthz", "/healthz/x"):
            refusal = ask(url + path)
            assert refusal.status == 401, path
            assert refusal.headers["www-authenticate"] == "Bearer"
            assert ask(url + path, authorization="Bearer wrong").status == 401
            assert ask(url + path, authorization="Bearer look").status != 401
        assert ask(f"{url}/metrics", authorization="Bearer change").status == 200


def test_a_token_is_not_said_again(log_lines: list[str]) -> None:
    register_secret("look")
    with served(FakeOverview(), tokens=TOKENS) as url:
        reply = ask(f"{url}/metrics", authorization="Bearer looking")
        assert "look" not in reply.text
    assert not any("Bearer" in line for line in log_lines)


@pytest.mark.parametrize("token", ["", "   "])
def test_an_empty_token_is_none(token: str) -> None:
    with served(FakeOverview(), tokens=[{"role": "operator", "token": token}]) as url:
        assert ask(f"{url}/metrics").status == 200
    with (
        pytest.raises(UsageError, match=r"server\.tokens"),
        served(host="0.0.0.0", tokens=[{"role": "operator", "token": token}]),
    ):
        pass


def test_a_server_for_all_addresses_says_one_that_a_browser_can_go_to(log_lines: list[str]) -> None:
    tokens = [{"role": "viewer", "token": "a-token-of-16-letters"}]
    with served(FakeOverview(), host="0.0.0.0", tokens=tokens) as url:
        assert url.startswith("http://127.0.0.1:")
        assert ask(f"{url}/healthz").status == 200
    assert any("every address of this machine" in line for line in log_lines)


def test_a_page_of_the_web_cannot_ask_by_a_name_of_its_own(url: str) -> None:
    assert ask(f"{url}/api/streams", host="evil.example").status == 421
    assert ask(f"{url}/api/streams", host="localhost:1234").status == 200
    assert ask(f"{url}/healthz", host="10.1.2.3").status == 200


# ---- Odd clients -----------------------------------------------------------------------------


def test_http_1_0_is_answered_and_closed(url: str) -> None:
    reply = sent(url, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(b"ok\n")


def test_requests_on_one_connection_are_answered_in_turn(url: str) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    reply = sent(url, one % b"" + one % b"" + one % b"Connection: close\r\n")
    assert reply.count(b"HTTP/1.1 200 ") == 3


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GARBAGE\r\n\r\n",
        b"GET /none HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /\x00\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 40_000,
        b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\r\n" * 20_000,
        b"\n" * 40_000,
    ],
)  # fmt: skip
@pytest.mark.usefixtures("short_deadlines")
def test_garbage_is_refused_and_the_server_goes_on(
    url: str, data: bytes, log_lines: list[str]
) -> None:
    reply = sent(url, data)
    assert reply == b"" or re.match(rb"HTTP/1\.1 4\d\d ", reply)
    assert ask(f"{url}/healthz").status == 200
    assert not any("ERROR" in line or "WARNING" in line for line in log_lines)


@pytest.mark.usefixtures("short_deadlines")
@pytest.mark.parametrize(
    "start", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a\r\n"]
)
def test_a_request_that_never_comes_is_not_waited_for(url: str, start: bytes) -> None:
    assert sent(url, start) == b""


@pytest.mark.usefixtures("short_deadlines")
def test_a_request_that_trickles_is_not_waited_for(url: str) -> None:
    with connected(url) as client:
        is_cut = threading.Event()

        def trickle() -> None:
            try:
                client.sendall(b"GET /healthz HTTP/1.1\r\n")
                while not is_cut.wait(0.02):
                    client.sendall(b"X: y\r\n")
            except ConnectionError:
                pass

        with running(trickle):
            read_all(client)
            is_cut.set()


@pytest.mark.usefixtures("short_deadlines")
def test_a_body_that_never_comes_is_not_waited_for(url: str) -> None:
    head = b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc"
    assert sent(url, head).startswith(b"HTTP/1.1 405 ")


@pytest.mark.usefixtures("short_deadlines")
def test_a_client_that_reads_nothing_is_cut_off() -> None:
    overview = FakeOverview(
        meters={f"s{n}": busy_meter(1) for n in range(200)},
        states={f"s{n}": make_report() for n in range(200)},
    )
    with served(overview) as url, connected(url) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises(ConnectionError):
            send_for_ever(client, request * 100)
        assert ask(f"{url}/healthz").status == 200


def test_of_too_many_connections_the_idlest_gives_way(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(url)) for _ in range(20)]
        for client in clients[:15]:
            assert read_all(client) == b""
        clients[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert read_all(clients[-1]).startswith(b"HTTP/1.1 200 ")


def test_a_process_out_of_files_goes_on(url: str, log_lines: list[str]) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with connected(url) as client:
        used = [os.dup(0)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (used[0] + 1, limits[1]))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                take_all_files(used)
            os.close(used.pop())
            with connected(url):  # its peer finds no number left
                wait_until(lambda: any("http:" in line for line in log_lines), "it is said")
        finally:
            for number in used:
                os.close(number)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert read_all(client).startswith(b"HTTP/1.1 200 ")


# ---- Failures --------------------------------------------------------------------------------


def test_a_failure_in_a_request_is_answered_and_said_once(log_lines: list[str]) -> None:
    register_secret("hunter2")
    overview = FakeOverview()
    with served(overview) as url:
        overview.failure = ValueError("a fault at rtsp://u:hunter2@cam")
        for _ in range(3):
            reply = ask(f"{url}/metrics")
            assert reply.status == 500
            assert reply.document == {"error": "this request failed: see the log"}
        overview.failure = None
        assert ask(f"{url}/metrics").status == 200
    said = [line for line in log_lines if line.startswith("ERROR") and "/metrics" in line]
    assert len(said) == 1
    assert "ValueError" in said[0]
    assert "hunter2" not in "".join(log_lines)


def test_uvicorn_logs_to_nobody_elses_handlers(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    sent(url, b"GARBAGE\r\n\r\n")
    assert ask(f"{url}/healthz").status == 200
    assert capfd.readouterr() == ("", "")
    assert not logging.getLogger("uvicorn.error").propagate


# ---- Life ------------------------------------------------------------------------------------


def test_a_server_that_dies_is_logged_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    async def serve(*_: object) -> None:
        raise RuntimeError("a fault of the library")

    monkeypatch.setattr("uvicorn.Server.serve", serve)
    with serving(ServerConfig(port=0)) as show:
        show(FakeOverview())
        wait_until(lambda: any("the server has died" in line for line in log_lines), "it is said")
        show(FakeOverview())
    assert sum("ERROR" in line for line in log_lines) == 1


def test_its_address_is_logged_as_one_can_click_it(log_lines: list[str]) -> None:
    with served() as url:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert any(line.endswith(f" the server listens on {url}") for line in log_lines)


def test_a_port_in_use_is_refused_before_anything_starts() -> None:
    with (
        served() as url,
        pytest.raises(UsageError, match=r"^server\.port: .*already in use"),
        served(port=int(url.rpartition(":")[2])),
    ):
        pass


def test_the_signal_handlers_stay_as_they_are() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with served() as url:
        assert ask(f"{url}/healthz").status == 200
        assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_stop_waits_for_no_client() -> None:
    server = HttpServer(ServerConfig(port=0))
    server.start()
    server.show(FakeOverview())
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(server.url)) for _ in range(5)]
        clients[0].sendall(b"GET /metrics HTTP/1.1\r\nHo")
        clients[1].sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        clients[2].sendall(
            b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
        )
        clients[3].sendall(b"GARBAGE\r\n\r\n")
        began_at = time.monotonic()
        server.stop(2.0)
        assert time.monotonic() - began_at < 4.0
        for client in clients:
            read_all(client)
    assert not [thread for thread in threading.enumerate() if thread.name == "vp-http"]


def test_a_stop_right_after_the_start_ends_it() -> None:
    for _ in range(5):
        server = HttpServer(ServerConfig(port=0))
        server.start()
        server.stop()
        assert not [thread for thread in threading.enumerate() if thread.name == "vp-http"]


def test_many_ask_at_once_while_the_run_counts() -> None:
    overview = FakeOverview()
    is_over = threading.Event()
    last: dict[int, float] = {}

    def count() -> None:
        while not is_over.is_set():
            overview.meters["gate"].count_captured()
            overview.meters["gate"].count_processed(0.01, 1)

    def scrape(number: int) -> None:
        for _ in range(5):
            families = text_string_to_metric_families(ask(f"{url}/metrics").text)
            samples = {sample.name: sample.value for f in families for sample in f.samples}
            assert samples["vidpipe_frames_processed_total"] >= last.get(number, 0)
            last[number] = samples["vidpipe_frames_processed_total"]

    with served(overview) as url, running(count):
        try:
            with running(*(lambda number=n: scrape(number) for n in range(4))):
                pass
        finally:
            is_over.set()
    assert min(last.values()) > 0
