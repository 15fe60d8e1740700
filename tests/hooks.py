"""A web server on the loopback that takes posts, as badly as a test asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.certificates import Certificates
from tests.listening import listening


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


@contextmanager
def serving_hooks(certificates: Certificates | None = None) -> Iterator[HookServer]:
    """Serve until the block ends; with certificates by https."""
    server = HookServer()
    handler = type("Handler", (_Handler,), {"served": server})
    pair = (certificates.cert, certificates.key) if certificates is not None else ()
    with listening(handler, server.closing, *pair) as server.url:
        yield server
