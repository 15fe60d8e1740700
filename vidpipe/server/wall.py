"""``WS /ws/wall``: all tiles of a page over one connection.

Guarantees:
    * a page that is slow, or doesn't acknowledge, is sent fewer pictures, never older ones, and
      costs the other pages nothing; one that stalls is closed;
    * what waits for a page is bounded: one message of each kind and one picture a tile;
    * a message that no page would send closes the connection, with the reason.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from loguru import logger
from starlette.websockets import WebSocket, WebSocketDisconnect

from vidpipe.runtime.logs import trace_of
from vidpipe.server.access import Role
from vidpipe.server.bulletin import Bulletin, server_time
from vidpipe.server.drafting import Drafting
from vidpipe.server.pages import SocketPage
from vidpipe.server.rates import Buckets, Rate
from vidpipe.server.relay import Parcel, Relay, Subscription
from vidpipe.server.shown import Shown
from vidpipe.server.viewer import Outbasket
from vidpipe.server.wallwords import (
    Ack,
    BadMessageError,
    HistoryQuestion,
    LayoutQuestion,
    ReplayQuestion,
    Watch,
    encoded,
    history_text,
    word_from_text,
)
from vidpipe.server.websocket import LINE, Line
from vidpipe.shots import Exhibition
from vidpipe.telemetry.recent import Recent
from vidpipe.version import __version__

MOST_PAGES = 100
STALLED_S = 8.0
"""A page that has pictures to acknowledge, and doesn't for so long, is no longer looked at."""
BAD_MESSAGE, TRY_LATER, STALLED = 1008, 1013, 4008
"""Codes with which the server closes (RFC 6455, section 7.4; 4000 and more are free to use)."""

_ACK = b'{"type":"ack",'
"""How a browser writes the word that comes most."""
_TICK_S = 0.25
_CLOSE_S = 1.0
_WORDS = Rate(burst=200, per_s=40)
"""Messages other than acknowledgements that a page may send."""


class Hall:
    """All pages that are connected; for the server's loop alone."""

    def __init__(self, shown: Shown, recent: Recent, relay: Relay) -> None:
        """Begin without pages."""
        self.shown = shown
        self.relay = relay
        self.bulletin = Bulletin(shown, recent)
        self.drafting = Drafting()
        self._pages: dict[WallPage, None] = {}
        self._ticking: asyncio.Task[None] | None = None

    async def receive(self, socket: WebSocket) -> None:
        """Serve one page until it leaves."""
        await socket.accept()
        if len(self._pages) >= MOST_PAGES:
            await _close(socket, TRY_LATER, f"{MOST_PAGES} pages are open already")
            return
        page = WallPage(self, socket)
        self._pages[page] = None
        if self._ticking is None:
            self._ticking = asyncio.create_task(self._tick())
        try:
            await page.run()
        finally:
            del self._pages[page]
            if not self._pages and self._ticking is not None:
                self._ticking.cancel()
                self._ticking = None

    async def _tick(self) -> None:
        has_failed = False
        while True:
            try:
                self.relay.look()
                has_news = self.bulletin.renew()
                for page in self._pages:
                    page.tick(has_news=has_news)
            except Exception as exc:  # noqa: BLE001 - the boundary of a stage: pages say so
                if not has_failed:
                    logger.error("the wall can't say how it stands (said once): {}", trace_of(exc))
                has_failed = True
            await asyncio.sleep(_TICK_S)


class WallPage:
    """One connection."""

    def __init__(self, hall: Hall, socket: WebSocket) -> None:
        """Want nothing yet."""
        self._hall = hall
        self._socket = socket
        self._basket = Outbasket(time.monotonic)
        self._line: Line = socket.scope["extensions"][LINE]
        self._line.listen(self._take_ack, self._pump)
        self._subscription: Subscription = hall.relay.subscribe(self._take)
        self._ending: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._words = Buckets(_WORDS)
        self._exhibition: Exhibition | None = None
        self._has_bulletin = False

    async def run(self) -> None:
        """Talk until either side ends it."""
        self._say_hello()
        self.tick(has_news=True)
        reading = asyncio.create_task(self._read())
        ends: list[asyncio.Future[Any]] = [reading, self._ending]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._subscription.close()
            self._hall.drafting.forget(self)
            reading.cancel()
        if self._ending.done():
            await _close(self._socket, *self._ending.result())
        elif not reading.cancelled() and (failure := reading.exception()) is not None:
            raise failure

    def tick(self, *, has_news: bool) -> None:
        """Look after the page; ``has_news``: there is a new bulletin."""
        if self._basket.credit.quiet_s(time.monotonic()) > STALLED_S:
            self._end(STALLED, "stalled")
            return
        if self._exhibition is not self._hall.shown.pictures:
            self._say_hello()
        if self._hall.bulletin.text and (has_news or not self._has_bulletin):
            self._has_bulletin = True
            self._basket.put_text("streams", lambda: self._hall.bulletin.text)
            self._pump()

    def _say_hello(self) -> None:
        pictures = self._exhibition = self._hall.shown.pictures
        hello = {
            "type": "hello",
            "role": Role(self._socket.state.role).name.lower(),
            "fps": pictures.fps if pictures else 10.0,
            "groups": {
                name: list(streams)
                for name, streams in (pictures.groups if pictures else {}).items()
            },
            "version": __version__,
            "server_time": server_time(),
        }
        # The moment of its sending, by the clock of the pictures: pages see how slow their line is.
        self._basket.put_text(
            "hello", lambda: encoded({**hello, "sent_ms": round(time.monotonic() * 1000)})
        )
        self._pump()

    def _take(self, parcel: Parcel) -> None:
        if self._basket.put_parcel(parcel):
            self._pump()

    def _pump(self) -> None:
        """Send what there is, as long as the page reads."""
        while self._line.has_room and (frame := self._basket.take()) is not None:
            self._line.write(frame)

    def _take_ack(self, data: bytes) -> bool:
        """Settle an acknowledgement as it comes; other texts take the long way."""
        if not data.startswith(_ACK):
            return False
        try:
            word = word_from_text(data.decode())
        except (BadMessageError, UnicodeDecodeError):
            return False
        if not isinstance(word, Ack):
            return False
        self._settle(word)
        return True

    def _settle(self, ack: Ack) -> None:
        if self._basket.credit.settle(ack.stream, ack.seq, time.monotonic()):
            self._pump()

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                self._end(BAD_MESSAGE, "a page says nothing in bytes")
                return
            try:
                self._obey(text)
            except BadMessageError as exc:
                self._end(BAD_MESSAGE, str(exc))
                return

    def _obey(self, text: str) -> None:
        """Do what a page asks for.

        Raises:
            BadMessageError: It can't be understood, or there is too much of it.
        """
        word = word_from_text(text)
        if not isinstance(word, Ack) and self._words.take(""):
            raise BadMessageError("too many messages")
        match word:
            case Ack():
                self._settle(word)
            case Watch():
                self._basket.credit.watch({s: wish.fps for s, wish in word.tiles.items()})
                self._subscription.ask(word.tiles)
            case LayoutQuestion():
                self._hall.drafting.ask(self, word, self._put_layout)
            case HistoryQuestion():
                self._basket.put_text("history", lambda: self._history_text(word.stream))
            case ReplayQuestion():
                gallery = self._hall.shown.gallery
                shots = gallery.replay(word.stream) if gallery else ()
                self._basket.put_replay(word.stream, shots)
        self._pump()

    def _put_layout(self, text: str) -> None:
        self._basket.put_text("layout", lambda: text)
        self._pump()

    def _history_text(self, stream: str) -> str:
        gallery = self._hall.shown.gallery
        return history_text(stream, gallery.history(stream) if gallery else ())

    def _end(self, code: int, reason: str) -> None:
        if not self._ending.done():
            self._ending.set_result((code, reason))


def wall_sockets(shown: Shown, recent: Recent, relay: Relay) -> Iterable[SocketPage]:
    """Return the wall's socket."""
    hall = Hall(shown, recent, relay)
    return (SocketPage("/ws/wall", hall.receive),)


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    """Say why, if the page still reads; one that doesn't is cut off by its connection."""
    with suppress(TimeoutError, RuntimeError, WebSocketDisconnect, OSError):
        await asyncio.wait_for(socket.close(code, reason), _CLOSE_S)
