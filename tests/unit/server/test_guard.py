"""Who is let in, and how much of it: raw requests at a real server."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browsers import Browser
from tests.servers import TOKENS, served
from tests.threads import wait_until
from tests.web import ask, connected, read_all, sent
from vidpipe.server import admission, connection, guard
from vidpipe.server.rates import Rate

EVIL = "http://evil.example"


@pytest.fixture
def url() -> Iterator[str]:
    """Yield the address of a server with tokens."""
    with served(tokens=TOKENS) as address:
        yield address


@pytest.fixture
def open_url() -> Iterator[str]:
    """Yield the address of a server without."""
    with served() as address:
        yield address


@pytest.fixture
def operator(url: str) -> Browser:
    """Return a browser that is logged in as an operator."""
    browser = Browser(url)
    browser.log_in("change-it")
    return browser


def handshake(url: str, path: str = "/ws/wall", **headers: str) -> tuple[int, socket.socket]:
    """Ask for a WebSocket; return the status, and the connection."""
    key = base64.b64encode(b"0123456789abcdef").decode()
    fields = {
        "Host": urlsplit(url).netloc,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    client = connected(url)
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while b"\r\n\r\n" not in head and (part := client.recv(1)):
        head += part
    assert head, "no answer"
    return int(head.split()[1]), client


def drain(client: socket.socket) -> None:
    """Read up to the end, which may never come."""
    while client.recv(65536):
        pass


def cookie_of(browser: Browser) -> str:
    """Return a browser's cookie header."""
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


# ---- Other sites' pages ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": EVIL},
        {"origin": "null"},
        {"origin": "", "sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "http://127.0.0.1.evil.example"},
        {"origin": "http://127.0.0.1"},
        {"origin": "file://"},
    ],
)
def test_a_page_of_another_site_changes_nothing(operator: Browser, headers: dict[str, Any]) -> None:
    for path in ("/api/reload", "/logout", "/login", "/api/streams/gate/disable"):
        assert operator.post(path, **headers).status == 403, path
    assert operator.get("/api/me").status == 200


def test_a_page_of_its_own_and_a_program_do(operator: Browser) -> None:
    assert operator.post("/api/reload").status == 503
    assert operator.post("/api/reload", sec_fetch_site="same-origin").status == 503
    assert operator.post("/api/reload", origin="").status == 503
    reply = ask(
        f"{operator.origin}/api/reload",
        method="POST",
        authorization="Bearer change-it",
        origin=EVIL,  # no browser sends such a header on behalf of a page that isn't ours
    )
    assert reply.status == 503


def test_without_tokens_another_sites_page_changes_nothing_either(open_url: str) -> None:
    browser = Browser(open_url)
    assert browser.post("/api/reload", origin=EVIL).status == 403
    assert browser.post("/api/reload", origin="", sec_fetch_site="cross-site").status == 403
    assert browser.post("/api/reload").status == 503
    assert ask(f"{open_url}/api/reload", method="POST").status == 503


def test_a_viewer_changes_nothing(url: str) -> None:
    viewer = Browser(url)
    viewer.log_in("look-at-it")
    for path in ("/api/reload", "/api/streams/gate/restart"):
        refusal = viewer.post(path)
        assert (refusal.status, "operator" in refusal.document["error"]) == (403, True)
        assert ask(url + path, method="POST", authorization="Bearer look-at-it").status == 403
    assert ask(f"{url}/api/reload", method="POST").status == 401


# ---- WebSockets --------------------------------------------------------------------------------


def test_a_websocket_is_let_in_by_token_or_by_cookie_and_origin(
    url: str, operator: Browser
) -> None:
    for headers, status in (
        ({}, 401),
        ({"Origin": url}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer look-at-it"}, 101),
        ({"Cookie": cookie_of(operator), "Origin": url}, 101),
        ({"Cookie": cookie_of(operator), "Origin": EVIL}, 403),
        ({"Cookie": cookie_of(operator), "Origin": "null"}, 403),
        ({"Cookie": cookie_of(operator)}, 403),
        ({"Cookie": "vidpipe=x", "Origin": url}, 401),
    ):
        found, client = handshake(url, **headers)
        client.close()
        assert found == status, headers


def test_without_tokens_a_websocket_of_another_site_is_refused(open_url: str) -> None:
    for headers, status in (
        ({}, 101),
        ({"Origin": open_url}, 101),
        ({"Origin": EVIL}, 403),
        ({"Host": "evil.example", "Origin": EVIL}, 421),
    ):
        found, client = handshake(open_url, **headers)
        client.close()
        assert found == status, headers


def test_an_unknown_websocket_is_not_found(url: str) -> None:
    found, client = handshake(url, "/ws/none", Authorization="Bearer look-at-it")
    client.close()
    assert found == 404


def test_a_refused_websocket_is_told_why(url: str) -> None:
    _, client = handshake(url)
    body = read_all(client)
    client.close()
    assert b"Bearer TOKEN" in body


def test_a_logout_ends_what_is_open_by_it(url: str, operator: Browser) -> None:
    found, client = handshake(url, Cookie=cookie_of(operator), Origin=url)
    assert found == 101
    operator.post("/logout")
    read_all(client)  # returns: the server has ended it
    client.close()


def test_a_websocket_is_not_cut_as_a_request_that_never_comes(
    monkeypatch: pytest.MonkeyPatch, open_url: str
) -> None:
    monkeypatch.setattr(connection, "REQUEST_S", 0.1)
    _, client = handshake(open_url)
    with client:
        idle = connected(open_url)
        assert read_all(idle) == b""  # such a one is
        idle.close()
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            drain(client)


# ---- How much ----------------------------------------------------------------------------------


def test_too_many_requests_of_an_address_are_refused_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "REQUESTS", Rate(burst=5, per_s=2.0))
    with served(host="0.0.0.0", tokens=TOKENS) as url:
        port = urlsplit(url).port
        browser, other = (Browser(f"http://127.0.0.{n}:{port}") for n in (1, 2))
        other.source = "127.0.0.2"
        statuses = [browser.get("/healthz").status for _ in range(10)]
        assert statuses[:5] == [200] * 5
        refusal = browser.get("/healthz")
        assert refusal.status == 429
        assert refusal.headers["retry-after"] == "1"
        assert "try again" in refusal.document["error"]
        assert other.get("/healthz").status == 200
        wait_until(lambda: browser.get("/healthz").status == 200, "it is let in again")


@pytest.mark.parametrize("path", ["/login", "/api/reload", "/metrics", "/none"])
def test_a_large_body_is_refused_by_its_head(url: str, path: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n"
    assert sent(url, head.encode()).startswith(b"HTTP/1.1 413 ")


def test_a_large_body_is_refused_whatever_its_head_says(url: str) -> None:
    head = (
        b"POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    )
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    reply = sent(url, head + chunk * 5)
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in reply


def test_a_body_that_trickles_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.2)
    head = (
        b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nabc"
    )
    assert sent(url, head).startswith(b"HTTP/1.1 408 ")


def test_one_address_cannot_take_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(connection, "MOST_OF_ADDRESS", 6)
    with served(host="0.0.0.0", tokens=TOKENS) as url:
        port = urlsplit(url).port
        greedy = [
            handshake(f"http://127.0.0.1:{port}", Authorization="Bearer look-at-it")[1]
            for _ in range(6)
        ]
        # Never idle: the newest of the address goes, and nobody else's.
        late = connected(f"http://127.0.0.1:{port}")
        assert read_all(late) == b""
        others = [
            socket.create_connection(("127.0.0.3", port or 0), timeout=10.0, source_address=(a, 0))
            for a in ("127.0.0.2", "127.0.0.3", "127.0.0.4")
        ]
        for other in others:
            other.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert read_all(other).startswith(b"HTTP/1.1 200 ")
        for client in (*greedy, late, *others):
            client.close()


# ---- What must not be seen ---------------------------------------------------------------------


def test_no_token_and_no_cookie_is_seen_anywhere(log_lines: list[str]) -> None:
    with served(tokens=TOKENS) as url:
        browser = Browser(url)
        pages = [browser.log_in("change-it"), browser.log_in("wrong-token-of-mine")]
        secrets = ["change-it", "look-at-it", "wrong-token-of-mine", *browser.cookies.values()]
        paths = ("/login", "/api/me", "/metrics", "/api/streams", "/none", "/readyz", "/")
        pages += [browser.get(f"{path}?token=change-it") for path in paths]
        pages += [ask(url + path, authorization="Bearer look-at-it") for path in paths]
        pages += [browser.post("/api/reload"), browser.post("/logout")]
        handshake(url, Authorization="Bearer look-at-it", Cookie="a=b")[1].close()
        bodies = "\n".join(page.text for page in pages)
        logged = "\n".join(log_lines)
    assert len(secrets) == 4
    for secret in secrets:
        assert secret not in bodies
        assert secret not in logged
    assert re.search("logged in as operator", logged)
