"""One client's connection: it may be slow, silent or hostile, and holds nothing for long.

Guarantees:
    * a request's head has to come within seconds, however it trickles;
    * a client that doesn't read its answer is cut off;
    * of too many connections the one that has been idle longest gives way.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

REQUEST_S = 10.0
"""From the connection, or the last answer, to the next request's whole head."""
STALL_S = 10.0
"""How long a client may leave what was sent to it unread."""
MOST_CONNECTIONS = 128


class BoundedConnection(H11Protocol):
    """uvicorn's own protocol with deadlines and a bound; runs on the server's loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it."""
        super().__init__(*args, **kwargs)
        self.idle_since: float | None = None
        """When it began to wait for a request; None while one is under way."""
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        """Take a connection, and let another one go if there are too many."""
        super().connection_made(transport)
        self._wait_for_request()
        open_ones = [
            one
            for one in self.connections
            if isinstance(one, BoundedConnection) and not one.transport.is_closing()
        ]
        if len(open_ones) > MOST_CONNECTIONS:
            idle = [one for one in open_ones if one.idle_since is not None]
            min(idle, key=lambda one: one.idle_since or 0.0, default=self).cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        _cancel(self._request_timer)
        _cancel(self._stall_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        if self._is_busy:
            _cancel(self._request_timer)
            self.idle_since = None

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
