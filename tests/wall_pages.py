"""Pages of the wall as programs: what a browser's page says and hears, over a real WebSocket."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as a page gets it."""

    header: Mapping[str, Any]
    jpeg: bytes


@dataclass
class WallPage:
    """A page that is connected."""

    socket: ClientConnection
    texts: list[dict[str, Any]] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)

    def say(self, **word: Any) -> None:
        """Send a message."""
        self.socket.send(json.dumps(word))

    def watch(self, *streams: str, width: int = 320, height: int = 180, fps: float = 30) -> None:
        """Have these tiles on the screen."""
        wish = {"width": width, "height": height, "fps": fps}
        self.say(type="watch", tiles=dict.fromkeys(streams, wish))

    def ack(self, picture: Drawn) -> None:
        """Say that a picture was drawn."""
        self.say(type="ack", stream=picture.header["stream"], seq=picture.header["seq"])

    def hear(self, timeout_s: float = PATIENCE_S) -> Drawn | dict[str, Any]:
        """Return the next message."""
        message = self.socket.recv(timeout_s)
        if isinstance(message, str):
            text: dict[str, Any] = json.loads(message)
            self.texts.append(text)
            return text
        [length] = struct.unpack(">I", message[:4])
        picture = Drawn(json.loads(message[4 : 4 + length]), message[4 + length :])
        self.drawn.append(picture)
        return picture

    def until_text(
        self,
        kind: str,
        has: Callable[[dict[str, Any]], bool] = lambda _: True,
        patience_s: float = PATIENCE_S,
    ) -> dict[str, Any]:
        """Return the next text of a kind for which something holds; pictures are acknowledged."""
        until_s = time.monotonic() + patience_s
        while time.monotonic() < until_s:
            message = self.hear()
            if isinstance(message, Drawn):
                self.ack(message)
            elif message["type"] == kind and has(message):
                return message
        raise AssertionError(f"no such text of the kind {kind} came")

    def pictures(self, count: int, *, acks: bool = True) -> list[Drawn]:
        """Return so many pictures, each acknowledged at once if wanted."""
        found: list[Drawn] = []
        while len(found) < count:
            message = self.hear()
            if isinstance(message, Drawn):
                found.append(message)
                if acks:
                    self.ack(message)
        return found

    def quiet_pictures(self, seconds: float) -> list[Drawn]:
        """Return the pictures that come in so many seconds, without acknowledging any."""
        found: list[Drawn] = []
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            try:
                message = self.hear(left_s)
            except TimeoutError:
                break
            if isinstance(message, Drawn):
                found.append(message)
        return found


@contextmanager
def wall_page(url: str, **headers: str) -> Iterator[WallPage]:
    """Yield a page that is connected to the server at an address."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    with connect(
        url.replace("http", "ws", 1) + "/ws/wall", additional_headers=fields, max_size=None
    ) as client:
        yield WallPage(client)


def bare_page(url: str, *, receive_bytes: int = 4096) -> socket.socket:
    """Return a connection that has become a WebSocket, and whose reader reads nothing more."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.settimeout(PATIENCE_S)
    client.connect((parts.hostname, parts.port))
    key = base64.b64encode(os.urandom(16)).decode()
    client.sendall(
        (
            f"GET /ws/wall HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), head
    return client


def masked(text: str) -> bytes:
    """Return a text frame as a client sends it."""
    data = text.encode()
    length = (
        bytes([0x80 | len(data)])
        if len(data) < 126
        else bytes([0x80 | 126]) + struct.pack(">H", len(data))
    )
    return b"\x81" + length + b"\0\0\0\0" + data
