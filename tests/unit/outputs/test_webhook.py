from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.broker import free_port
from tests.certificates import has_openssl, make_certificates
from tests.hooks import HookServer, serving_hooks
from tests.postroom import PostRoom, make_event, post_room
from tests.threads import wait_until
from vidpipe.outputs.courier import Courier, CourierState
from vidpipe.outputs.webhook import WebhookEndpoint, WebhookSettings, retry_after_s

SECRET_PATH = "/services/T0/B0/very-secret-path?key=also"


@pytest.fixture
def server() -> Iterator[HookServer]:
    with serving_hooks() as one:
        yield one


def courier_to(
    url: str, *, timeout_s: float = 5.0, tls: ssl.SSLContext | None = None, **headers: str
) -> Courier:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    settings = WebhookSettings(parts.hostname, parts.port, SECRET_PATH, headers, tls, timeout_s)
    return Courier(WebhookEndpoint(settings), ["gate/webhook"], backoff_s=(0.01, 0.05))


def post(room: PostRoom, count: int) -> None:
    for number in range(count):
        room.outbox.put(make_event(number))
    room.drain()


def ids(server: HookServer) -> list[str]:
    return [one.headers["Idempotency-Key"] for one in server.posts]


def test_events_are_posted_in_order_with_their_ids(server: HookServer, tmp_path: Path) -> None:
    courier = courier_to(server.url, Authorization="Bearer word")
    with post_room(tmp_path / "o.db", [courier]) as room:
        post(room, 30)
    assert [one.body["frame"] for one in server.posts] == list(range(30))
    assert ids(server) == [one.body["id"] for one in server.posts]
    assert {one.path for one in server.posts} == {SECRET_PATH}
    assert server.posts[0].headers["Content-Type"] == "application/json"
    assert server.posts[0].headers["Authorization"] == "Bearer word"


@pytest.mark.parametrize("fault", [500, 503, 408, 429, 307, "cut", "garbage"])
def test_a_passing_fault_is_tried_again_with_the_same_id(
    fault: int | str, server: HookServer, tmp_path: Path
) -> None:
    server.answers = [200, fault, fault, 200]
    with post_room(tmp_path / "o.db", [courier_to(server.url)]) as room:
        post(room, 3)
        wait_until(lambda: room.books.delivered["gate/webhook"] == 3, "all are delivered")
    assert sorted(set(ids(server))) == [f"event-{number:06}" for number in range(3)]
    assert ids(server) == sorted(ids(server))
    assert ids(server).count("event-000001") == 3
    assert not room.books.refused


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_an_answer_that_never_ends_is_given_up_in_time(
    fault: str, server: HookServer, tmp_path: Path, log_lines: list[str]
) -> None:
    server.answers = [fault]
    with post_room(tmp_path / "o.db", [courier_to(server.url, timeout_s=0.3)]) as room:
        room.outbox.put(make_event())
        wait_until(lambda: room.books.delivered["gate/webhook"] == 1, "it is delivered")
    assert len(server.posts) == 2
    assert any("there was no answer in time" in line for line in log_lines)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_the_server_s_last_word_on_an_event_is_taken(
    status: int, server: HookServer, tmp_path: Path
) -> None:
    server.answers = [200, status, 200]
    with post_room(tmp_path / "o.db", [courier_to(server.url)]) as room:
        post(room, 3)
    assert len(server.posts) == 3
    ((target, event, why),) = room.books.refused
    assert (target, event) == ("gate/webhook", "event-000001")
    assert why.startswith(f"HTTP {status} ")
    assert room.outbox.left == 0


def test_a_connection_that_was_closed_while_idle_costs_no_event(
    server: HookServer, tmp_path: Path
) -> None:
    with post_room(tmp_path / "o.db", [courier_to(server.url)]) as room:
        room.outbox.put(make_event(0))
        wait_until(lambda: room.books.delivered["gate/webhook"] == 1, "the first")
        server.answers = ["cut"]
        room.outbox.put(make_event(1))
        wait_until(lambda: room.books.delivered["gate/webhook"] == 2, "the second")
    assert ids(server) == ["event-000000", "event-000001", "event-000001"]


def test_no_server_is_told_without_the_address_s_secrets(
    tmp_path: Path, log_lines: list[str]
) -> None:
    courier = courier_to(f"http://127.0.0.1:{free_port()}")
    with post_room(tmp_path / "o.db", [courier]) as room:
        room.outbox.put(make_event())
        wait_until(lambda: courier.state is CourierState.DOWN, "nobody is there")
    text = "\n".join(log_lines)
    assert "Connection refused" in text
    assert "secret" not in text
    assert "secret" not in repr(courier._endpoint)
    assert room.outbox.left == 1


def test_a_stop_breaks_off_a_post_that_hangs(server: HookServer, tmp_path: Path) -> None:
    server.answers = ["hang"]
    with post_room(tmp_path / "o.db", [courier_to(server.url, timeout_s=60)]) as room:
        room.outbox.put(make_event())
        wait_until(lambda: len(server.posts) == 1, "it hangs")
    assert room.outbox.left == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_https_is_verified(tmp_path: Path, log_lines: list[str]) -> None:
    if not has_openssl():
        pytest.skip("needs the program openssl")
    files = make_certificates(tmp_path)
    with serving_hooks(files) as server:
        stranger = courier_to(server.url, tls=ssl.create_default_context())
        with post_room(tmp_path / "o.db", [stranger]) as room:
            room.outbox.put(make_event())
            wait_until(lambda: stranger.state is CourierState.DOWN, "it isn't trusted")
        assert not server.posts
        trusted = ssl.create_default_context(cafile=str(files.ca))
        with post_room(tmp_path / "o.db", [courier_to(server.url, tls=trusted)]) as room:
            room.drain()
        assert len(server.posts) == 1
    assert any("its certificate isn't trusted" in line for line in log_lines)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("999999999999999999999", 3600.0),
        ("-5", 0.0),
        ("soon", 0.0),
        ("", 0.0),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Tue, 30 Nov 2027 11:00:00 GMT", 3600.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, expected: float) -> None:
    assert retry_after_s(value, datetime(2026, 11, 30, 12, tzinfo=UTC)) == expected


def test_a_server_that_wants_to_be_left_alone_is(
    server: HookServer, tmp_path: Path, log_lines: list[str]
) -> None:
    server.answers, server.headers = [503], {"Retry-After": "50"}
    courier = courier_to(server.url)
    with post_room(tmp_path / "o.db", [courier]) as room:
        room.outbox.put(make_event())
        wait_until(lambda: courier.state is CourierState.DOWN, "it is busy")
    assert len(server.posts) == 1
    assert any("next try in 50.0 s" in line for line in log_lines)
