"""Answers without an end: they stay open while they are read, and not a moment longer."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.certificates import has_openssl, make_certificates
from tests.threads import wait_until
from tests.web import connected, read_all
from vidpipe.config.schema import ServerConfig
from vidpipe.server import connection
from vidpipe.server.login import Entrance
from vidpipe.server.pages import Page, SocketPage
from vidpipe.server.service import HttpServer

PART = bytes(20_000)
ASKED = b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n"


class EndlessServer(HttpServer):
    """A server with one page more, as a stream of pictures is."""

    open_answers = 0

    def _pages(self, entrance: Entrance) -> Iterator[Page | SocketPage]:
        async def parts() -> AsyncIterator[bytes]:
            self.open_answers += 1
            try:
                while True:
                    yield PART
                    await asyncio.sleep(0.005)
            finally:
                self.open_answers -= 1

        async def endless(_: Request) -> Response:
            return StreamingResponse(parts())

        yield from super()._pages(entrance)
        yield Page("/endless", endless)


@contextmanager
def endless(**keys: Any) -> Iterator[EndlessServer]:
    """Serve it."""
    server = EndlessServer(ServerConfig.model_validate({"port": 0, **keys}))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def received(client: socket.socket, count: int) -> None:
    """Read so many bytes."""
    while count > 0 and (part := client.recv(65536)):
        count -= len(part)
    assert count <= 0, "it was ended"


def small(client: socket.socket) -> socket.socket:
    """Let a client hold little of what it doesn't read."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return client


def test_one_that_is_read_is_not_cut_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_S", 0.1)
    monkeypatch.setattr(connection, "STALL_S", 1.0)
    with endless() as server, connected(server.url) as client:
        client.sendall(ASKED)
        received(client, 100 * len(PART))  # half a second
        with closing(connected(server.url)) as idle:
            assert read_all(idle) == b""
        received(client, 20 * len(PART))


def test_one_that_is_not_read_is_cut_off_and_its_answer_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "STALL_S", 0.2)
    with endless() as server, small(connected(server.url)) as client:
        client.sendall(ASKED)
        wait_until(lambda: server.open_answers == 1, "it has begun")
        wait_until(lambda: server.open_answers == 0, "it has ended")


@pytest.mark.skipif(not has_openssl(), reason="the program openssl makes certificates")
def test_encryption_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(connection, "STALL_S", 0.2)
    files = make_certificates(tmp_path_factory.mktemp("tls"))
    trusting = ssl.create_default_context(cafile=str(files.ca))
    with (
        endless(tls={"cert": str(files.cert), "key": str(files.key)}) as server,
        trusting.wrap_socket(small(connected(server.url)), server_hostname="localhost") as client,
    ):
        client.sendall(ASKED)
        received(client, len(PART))
        wait_until(lambda: server.open_answers == 0, "it has ended")


def test_who_leaves_ends_its_answer() -> None:
    with endless() as server:
        with connected(server.url) as client:
            client.sendall(ASKED)
            received(client, len(PART))
        wait_until(lambda: server.open_answers == 0, "it has ended")


def test_open_answers_make_room_for_nobody_and_the_newest_of_their_address_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MOST_OF_ADDRESS", 3)
    with endless() as server:
        clients = [connected(server.url) for _ in range(3)]
        for client in clients:
            client.sendall(ASKED)
            received(client, len(PART))
        with closing(connected(server.url)) as late:
            assert read_all(late) == b""
        for client in clients:
            received(client, len(PART))
            client.close()
