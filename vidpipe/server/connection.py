"""One client's connection: it may be slow, silent or hostile, and holds nothing for long.

Guarantees:
    * a request's head has to come within seconds, however it trickles;
    * a client that doesn't read its answer is cut off, in the middle of one that has no end too;
    * of too many connections one gives way: of the address that has the most, the one that has
      been idle longest. What stays open (a stream of pictures, a WebSocket) is never idle.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from vidpipe.server.rates import network_of

REQUEST_S = 10.0
"""From the connection, or the last answer, to the next request's whole head."""
STALL_S = 10.0
"""How long a client may leave what was sent to it unread."""
MOST_CONNECTIONS = 256
MOST_OF_ADDRESS = 192
"""A desk with many screens, or all of them behind one proxy; and room for somebody else."""


class OpenConnection(Protocol):
    """A connection as it is counted, whatever is spoken on it.

    Attributes:
        address: The client's.
        idle_since: When it began to wait for the client; None while it is of use.
        transport: What it goes through.
    """

    address: str
    idle_since: float | None
    transport: asyncio.Transport

    def cut_off(self) -> None:
        """End it at once, whatever is unsent."""


def make_room(newcomer: OpenConnection, connections: Iterable[object]) -> None:
    """Cut off a connection if there are too many with the new one, which is one of them."""
    open_ones: list[OpenConnection] = [
        cast("OpenConnection", one)
        for one in connections
        if hasattr(one, "cut_off") and not one.transport.is_closing()  # type: ignore[attr-defined] # ours
    ]
    counts = Counter(one.address for one in open_ones)
    if counts[newcomer.address] > MOST_OF_ADDRESS:
        address = newcomer.address
    elif len(open_ones) > MOST_CONNECTIONS:
        address = max(counts, key=lambda one: (counts[one], one == newcomer.address))
    else:
        return
    theirs = [one for one in open_ones if one.address == address]
    idle = [one for one in theirs if one.idle_since is not None]
    last = newcomer if newcomer.address == address else theirs[-1]
    min(idle, key=lambda one: one.idle_since or 0.0, default=last).cut_off()


class BoundedConnection(H11Protocol):
    """uvicorn's own protocol with deadlines and a bound; runs on the server's loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self.address = ""
        self.idle_since: float | None = None
        """When it began to wait for a request; None while one is under way."""
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        """Take a connection, and let another one go if there are too many."""
        super().connection_made(transport)
        if self.scheme == "http":
            # Told of every byte that is left unread, so that none of them keeps it from closing;
            # an encrypted one is closed within a time of its own.
            transport.set_write_buffer_limits(high=0)
        self.address = network_of(self.client[0]) if self.client else ""
        self._wait_for_request()
        make_room(self, self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._forget_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        if self._is_busy:
            _cancel(self._request_timer)
            self.idle_since = None

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to another protocol, which waits for no request."""
        self._forget_timers()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Wait for the next request, which may be here already."""
        self._wait_for_request()
        super().on_response_complete()
        if self._is_busy:
            _cancel(self._request_timer)
            self.idle_since = None

    def pause_writing(self) -> None:
        """The client doesn't read: it has so long to go on."""
        super().pause_writing()
        _cancel(self._stall_timer)
        self._stall_timer = self.loop.call_later(STALL_S, self.cut_off)

    def resume_writing(self) -> None:
        """It does."""
        _cancel(self._stall_timer)
        super().resume_writing()

    def shutdown(self) -> None:
        """Close, once the answer under way is sent."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.cut_off()  # in the middle of what was no request

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection."""
        try:
            super().timeout_keep_alive_handler()
        except h11.LocalProtocolError:
            self.cut_off()

    def cut_off(self) -> None:
        """End the connection at once, whatever is unsent."""
        self.transport.abort()

    def _forget_timers(self) -> None:
        _cancel(self._request_timer)
        _cancel(self._stall_timer)

    @property
    def _is_busy(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before the first request
        return cycle is not None and not cycle.response_complete

    def _wait_for_request(self) -> None:
        self.idle_since = self.loop.time()
        _cancel(self._request_timer)
        self._request_timer = self.loop.call_later(REQUEST_S, self.cut_off)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
