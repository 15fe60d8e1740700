"""A web server on the loopback that gives one file, as badly as a test asks for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.listening import listening
from vidpipe.inference.catalogue import RemoteFile


@dataclass
class Asked:
    """One request, as it came."""

    path: str
    headers: dict[str, str]


@dataclass
class FileServer:
    """What is served, and how badly.

    Attributes:
        url: The address without a path.
        files: The files by path.
        asked: The requests.
        cuts: For each request in turn, after how many bytes the connection is closed; None: not.
        statuses: For each request in turn, a status to answer with instead; 0: none.
        headers: Further headers of every answer.
        redirects: Other addresses by path.
        knows_ranges: False for a server that always gives the whole.
        says_length: False for one that doesn't say how much comes.
        etag: The version of the files.
        endless: True for one that goes on after the file's end.
        drip_s: Pause before each byte of the answer's body; 0 for none.
        drips_head: True to drip the answer's head, too.
        hangs: True for one that says nothing until it is closed.
        sent: How many bytes of bodies went out.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    cuts: list[int | None] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    knows_ranges: bool = True
    says_length: bool = True
    etag: str = '"one"'
    endless: bool = False
    drip_s: float = 0.0
    drips_head: bool = False
    hangs: bool = False
    sent: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    def remote(self, path: str, content: bytes) -> RemoteFile:
        """Serve a file, and return what a catalogue would say of it."""
        self.files[path] = content
        return RemoteFile(f"{self.url}{path}", len(content), hashlib.sha256(content).hexdigest())

    def paths(self) -> list[str]:
        """Return what was asked for."""
        return [one.path for one in self.asked]


class _Handler(BaseHTTPRequestHandler):
    served: FileServer

    def do_GET(self) -> None:
        self.served.asked.append(Asked(self.path, dict(self.headers)))
        self.close_connection = True
        if self.served.hangs:
            self.served.closing.wait(30)
            return
        status = self.served.statuses.pop(0) if self.served.statuses else 0
        path = "/" + self.path.split("/", 3)[3] if self.path.startswith("http") else self.path
        if path in self.served.redirects:
            self.answer(302, {"Location": self.served.redirects[path]}, b"")
        elif status or path not in self.served.files:
            self.answer(status or 404, {}, b"no")
        else:
            self.give(self.served.files[path])

    def give(self, content: bytes) -> None:
        start, headers = 0, {"ETag": self.served.etag, "Content-Type": "application/octet-stream"}
        wanted = self.headers.get("Range")
        version = self.headers.get("If-Range", self.served.etag)
        if wanted and self.served.knows_ranges and version == self.served.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.answer(416, {}, b"")
                return
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if self.served.says_length:
            headers["Content-Length"] = str(len(content) - start)
        self.answer(206 if start else 200, headers, content[start:])

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, text in (headers | self.served.headers).items():
            self.send_header(key, text)
        if self.served.drips_head:
            while not self.served.closing.wait(self.served.drip_s):
                self.wfile.write(b"X")
            return
        self.end_headers()
        cut = self.served.cuts.pop(0) if self.served.cuts and body != b"no" else None
        try:
            self.send(body[:cut])
            while self.served.endless and not self.served.closing.is_set():
                self.send(bytes(10_000))
        except OSError:
            return  # the client has had enough

    def send(self, body: bytes) -> None:
        step = 1 if self.served.drip_s else max(1, len(body))
        for at in range(0, len(body), step):
            if self.served.drip_s and self.served.closing.wait(self.served.drip_s):
                return
            self.wfile.write(body[at : at + step])
            self.served.sent += step

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@contextmanager
def serving_files(certificate: Path | None = None) -> Iterator[FileServer]:
    """Serve until the block ends; with a certificate and its key in one file, by https."""
    server = FileServer("")
    handler = type("Handler", (_Handler,), {"served": server})
    with listening(handler, server.closing, certificate) as server.url:
        yield server
