"""One viewer's WebSocket: as bounded as the other connections are, and with a short way for frames.

uvicorn's own protocol over the package ``websockets``, with three additions:

* a client that leaves what was sent to it unread for ``STALL_S`` is cut off, whoever waits;
* a client whose frames take more than their share of the loop's time is read more slowly;
* a ``Line``: whoever serves the connection may write whole frames at once, told when there is room,
  and see texts as they come. Hundreds of pictures a second and their acknowledgements, each through
  a queue and two turns of a task, cost twice as much.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from typing import Any, Protocol

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request

from vidpipe.server.rates import network_of

STALL_S = 10.0
"""How long a client may leave what was sent to it unread."""
SHARE = 0.25
"""Of a processor, for what one client says: 64 tiles of 10 pictures a second take a twentieth."""
_BURST_S = 0.05
"""CPU time that is always granted: of a thousand acknowledgements that come together."""
LINE = "vidpipe.line"
"""Among the extensions of a WebSocket's scope: its ``Line``."""

_TEXT, _BINARY = 0x81, 0x82
"""The first byte of a frame that is a whole message (RFC 6455, section 5.2)."""
_SHORT, _MIDDLE = 126, 65_536


class Line(Protocol):
    """The short way; for the server's loop."""

    @property
    def has_room(self) -> bool:
        """True if the client has read all that was written."""

    def write(self, frame: bytes) -> None:
        """Write a frame now; what the client doesn't read is held until it does."""

    def listen(self, on_text: Callable[[bytes], bool], on_room: Callable[[], None]) -> None:
        """Be told of every text, and of room.

        Args:
            on_text: Returns True if nobody else need see the text.
            on_room: There is room again.
        """


def frame_from_message(message: str | bytes) -> bytes:
    """Return a message as the one frame in which a server sends it."""
    if isinstance(message, str):
        kind, data = _TEXT, message.encode("utf-8", "replace")
    else:
        kind, data = _BINARY, message
    if len(data) < _SHORT:
        return struct.pack(">BB", kind, len(data)) + data
    if len(data) < _MIDDLE:
        return struct.pack(">BBH", kind, 126, len(data)) + data
    return struct.pack(">BBQ", kind, 127, len(data)) + data


class BoundedSocket(WebSocketsSansIOProtocol):
    """Implements ``Line``; runs on the server's loop.

    Attributes:
        address: The client's; empty if it is unknown.
        idle_since: Never idle: a viewer that says nothing is watching.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self.address = ""
        self.idle_since: float | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._rest_timer: asyncio.TimerHandle | None = None
        self._spent_s = 0.0
        self._spent_at = self.loop.time()
        self._on_text: Callable[[bytes], bool] | None = None
        self._on_room: Callable[[], None] | None = None

    # ---- The line ------------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        """True if the client has read all that was written, and may be written to."""
        is_open = self.handshake_complete and not (self.close_sent or self.disconnected)
        return is_open and self.writable.is_set() and not self.transport.is_closing()

    def write(self, frame: bytes) -> None:
        """Write a frame now; what the client doesn't read is held until it does."""
        self.transport.write(frame)

    def listen(self, on_text: Callable[[bytes], bool], on_room: Callable[[], None]) -> None:
        """Be told of every text, and of room."""
        self._on_text, self._on_room = on_text, on_room

    # ---- What asyncio and uvicorn call ---------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection from HTTP."""
        super().connection_made(transport)
        self.address = network_of(self.client[0]) if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._forget_stall()
        if self._rest_timer is not None:
            self._rest_timer.cancel()
        self._on_text = self._on_room = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client says; read no more for a while if that takes too much time."""
        began_s = time.thread_time()
        super().data_received(data)
        self._account(time.thread_time() - began_s)

    def _account(self, spent_s: float) -> None:
        now_s = self.loop.time()
        self._spent_s = max(0.0, self._spent_s - SHARE * (now_s - self._spent_at)) + spent_s
        self._spent_at = now_s
        if self._spent_s <= _BURST_S:
            return
        self.transport.pause_reading()  # again, where uvicorn has let it go on meanwhile
        if self._rest_timer is None:
            rest_s = (self._spent_s - _BURST_S / 2) / SHARE
            self._rest_timer = self.loop.call_later(rest_s, self._read_on)

    def _read_on(self) -> None:
        self._rest_timer = None
        if not self.read_paused:
            self.transport.resume_reading()

    def handle_connect(self, event: Request) -> None:
        """Begin to serve it, if its handshake is right."""
        super().handle_connect(event)
        if not self.close_sent:
            extensions: dict[str, Any] = self.scope["extensions"]
            extensions[LINE] = self

    def handle_text(self, event: Frame) -> None:
        """Hand a text on."""
        if event.fin and self._on_text is not None and self._on_text(bytes(event.data)):
            return
        super().handle_text(event)

    def pause_writing(self) -> None:
        """The client doesn't read: it has so long to go on."""
        super().pause_writing()
        self._forget_stall()
        self._stall_timer = self.loop.call_later(STALL_S, self.cut_off)

    def resume_writing(self) -> None:
        """It does."""
        self._forget_stall()
        super().resume_writing()
        if self._on_room is not None:
            self._on_room()

    def cut_off(self) -> None:
        """End the connection at once, whatever is unsent."""
        self.transport.abort()

    def _forget_stall(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
