"""A web server on the loopback that takes posts, as badly as a test asks for."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.certificates import Certificates


@dataclass
class Post:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class HookServer:
    """What is answered.

    Attributes:
        url: The address without a path.
        answers: For each request in turn a status, or what goes wrong: ``hang`` (nothing is said
            until the end), ``cut`` (the connection is closed), ``drip`` (a byte now and then),
            ``garbage``. After the last: 204.
        headers: Further headers of every answer.
        posts: The requests.
    """

    url: str = ""
    answers: list[int | str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    posts: list[Post] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: HookServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        post = Post(self.path, dict(self.headers.items()), json.loads(body))
        served = self.served
        answer = served.answers.pop(0) if served.answers else 204
        served.posts.append(post)
        match answer:
            case int():
                self.send_response(answer)
                for name, value in served.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            case "hang":
                served.closing.wait()
            case "drip":
                self._drip()
            case "garbage":
                self.wfile.write(b"\x00\xff what is this\r\n\r\n")
        self.close_connection = True

    def _drip(self) -> None:
        try:
            while not self.served.closing.wait(0.05):
                self.wfile.write(b"H")
                self.wfile.flush()
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that go away are what is tested."""


@contextmanager
def serving_hooks(certificates: Certificates | None = None) -> Iterator[HookServer]:
    """Serve until the block ends; with certificates by https."""
    server = HookServer()
    listener = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": server}))
    port = listener.server_address[1]
    server.url = f"http://127.0.0.1:{port}"
    if certificates is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.cert, certificates.key)
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        server.url = f"https://localhost:{port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
