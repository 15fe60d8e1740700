"""Peers of a network source that behave as badly as cameras do; each on a port of the loopback."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from vidpipe.runtime.supervisor import ThreadGroup

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What a peer does with one connection, until the event is set or it returns."""

RTSP_ANSWER = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: OPTIONS, DESCRIBE, SETUP, PLAY\r\n\r\n"


def silent(connection: socket.socket, ended: threading.Event) -> None:
    """Accept, and say nothing, until the other side has had enough."""
    connection.settimeout(0.05)
    while not ended.is_set():
        with contextlib.suppress(TimeoutError):
            if not connection.recv(4096):
                return


def trickling(connection: socket.socket, ended: threading.Event) -> None:
    """Answer by a few bytes a second."""
    for number in range(10_000):
        connection.sendall(RTSP_ANSWER[number % len(RTSP_ANSWER) :][:1])
        if ended.wait(0.1):
            return


def babbling(connection: socket.socket, ended: threading.Event) -> None:
    """Send garbage without an end."""
    while not ended.is_set():
        connection.sendall(bytes(range(256)) * 16)


def closing(connection: socket.socket, ended: threading.Event) -> None:
    """Hear the question, and close."""
    connection.recv(4096)


def resetting(connection: socket.socket, ended: threading.Event) -> None:
    """Hear the question, and reset the connection."""
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def redirecting(connection: socket.socket, ended: threading.Event) -> None:
    """Send to oneself, for ever."""
    connection.recv(4096)
    port = connection.getsockname()[1]
    lines = ["HTTP/1.1 302 Found", f"Location: http://127.0.0.1:{port}/x", "Content-Length: 0"]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())


def giving(head: bytes, body: bytes) -> Behaviour:
    """Return a peer that sends this, and then nothing more."""

    def give(connection: socket.socket, ended: threading.Event) -> None:
        connection.recv(4096)
        connection.sendall(head + body)
        ended.wait()

    return give


@contextmanager
def peer(behave: Behaviour) -> Iterator[int]:
    """Run a peer; yield its port."""
    ended = threading.Event()
    threads = ThreadGroup()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                behave(connection, ended)

        def accept() -> None:
            while not ended.is_set():
                connection, _ = server.accept()
                threads.spawn("peer", partial(serve, connection), may_hang=True)

        threads.spawn("peers", accept, may_hang=True)
        port = server.getsockname()[1]
        try:
            yield port
        finally:
            ended.set()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                pass  # wakes the one that accepts
            threads.join(5.0)


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """Run a proxy in front of a port, which delays, holds or cuts what comes back on demand."""
    proxy = Proxy(port)
    with peer(proxy.serve) as front:
        proxy.port = front
        yield proxy


class Proxy:
    """Hands bytes on both ways; ``hold`` keeps the answers back, ``cut`` ends in their middle.

    Each piece of the answers comes ``delay_s`` late.
    """

    def __init__(self, target: int) -> None:
        """Lead to a port of the loopback."""
        self.port = 0
        self.delay_s = 0.0
        self._target = target
        self._flows = threading.Event()
        self._flows.set()
        self._cut = threading.Event()

    def hold(self) -> None:
        """Let no answer through."""
        self._flows.clear()

    def release(self) -> None:
        """Let all through again."""
        self._flows.set()

    def cut(self) -> None:
        """Close every connection after half of the next piece."""
        self._cut.set()

    def mend(self) -> None:
        """Cut no more."""
        self._cut.clear()

    def serve(self, connection: socket.socket, ended: threading.Event) -> None:
        """Hand on until one side is gone."""
        with socket.create_connection(("127.0.0.1", self._target), 5.0) as server:
            threads = ThreadGroup()

            def ask() -> None:
                with contextlib.suppress(OSError):
                    while data := connection.recv(65536):
                        server.sendall(data)
                with contextlib.suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)

            threads.spawn("proxy", ask, may_hang=True)
            with contextlib.suppress(OSError):
                while (data := server.recv(65536)) and not ended.wait(self.delay_s):
                    while not self._flows.wait(0.05):
                        if ended.is_set():
                            return
                    if self._cut.is_set():
                        connection.sendall(data[: len(data) // 2])
                        break
                    connection.sendall(data)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            threads.join(5.0)
