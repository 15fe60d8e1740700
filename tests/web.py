"""Clients of the HTTP server, well-behaved and odd."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def ask(url: str, *, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
    """Ask as a library does; names of headers have _ for -."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, fields, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as response:
            return Reply(response.status, lower(response.headers), response.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Reply(refusal.code, lower(refusal.headers), refusal.read())


def lower(headers: Any) -> dict[str, str]:
    """Return headers by their names in small letters."""
    return {name.lower(): value for name, value in headers.items()}


def connected(url: str) -> socket.socket:
    """Return a bare connection to a server."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return socket.create_connection((parts.hostname, parts.port), timeout=_PATIENCE_S)


def sent(url: str, data: bytes) -> bytes:
    """Return all that a server answers to some bytes, up to the end that it makes."""
    with connected(url) as client:
        try:
            client.sendall(data)
            return read_all(client)
        except ConnectionError:
            return b""


def read_all(client: socket.socket) -> bytes:
    """Return all up to the end; a connection that was cut off ends too."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)
