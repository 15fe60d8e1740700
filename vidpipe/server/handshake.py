"""A connection from its first byte to the end of the TLS handshake: counted, and soon over.

asyncio's own way would give the certificate of the start to every client, and count nobody who
connects and says nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any

from loguru import logger
from uvicorn.config import Config
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from vidpipe.server.certificate import Certificate
from vidpipe.server.connection import BoundedConnection, make_room
from vidpipe.server.rates import network_of

HANDSHAKE_S = 10.0
_GOODBYE_S = 10.0
"""How long a client may take to read what is left, and to confirm the end."""


class Handshake(asyncio.Protocol):
    """Runs on the server's loop; hands over to a ``BoundedConnection``.

    Attributes:
        address: The client's.
        idle_since: When it connected.
        transport: The bare one.
    """

    transport: asyncio.Transport

    def __init__(
        self, inner: BoundedConnection, connections: set[Any], certificate: Certificate
    ) -> None:
        """Begin without a connection."""
        self._inner = inner
        self._connections = connections
        self._certificate = certificate
        self._loop = inner.loop
        self._task: asyncio.Task[None] | None = None
        self._came: list[bytes] = []
        """What the client sent right behind its handshake."""
        self._is_lost = False
        self.address = ""
        self.idle_since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a bare connection."""
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()  # what comes is for the encryption
        self.transport = transport
        client = get_remote_addr(transport)
        self.address = network_of(client[0]) if client else ""
        self.idle_since = self._loop.time()
        self._connections.add(self)
        make_room(self, self._connections)
        self._task = self._loop.create_task(self._shake())

    def data_received(self, data: bytes) -> None:
        """Keep what was decrypted before the handover, which is due."""
        self._came.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """There will be no handover."""
        self._is_lost = True

    def shutdown(self) -> None:
        """Wait for nothing."""
        self.cut_off()

    def cut_off(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    async def _shake(self) -> None:
        try:
            encrypted = await self._loop.start_tls(
                self.transport,
                self,
                self._certificate.context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=_GOODBYE_S,
            )
        except OSError as exc:  # no TLS, no common version, no trust, no patience
            logger.debug("http: no TLS with {}: {}", self.address, type(exc).__name__)
            self.transport.abort()
            return
        finally:
            self._connections.discard(self)
        if self._is_lost or encrypted is None:
            return
        encrypted.set_protocol(self._inner)
        self._inner.connection_made(encrypted)
        for data in self._came:
            self._inner.data_received(data)


def encrypted_by(certificate: Certificate) -> Any:
    """Return what uvicorn calls in place of a class of protocols."""

    def make(
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> Handshake:
        inner = BoundedConnection(config, server_state, app_state, _loop)
        return Handshake(inner, server_state.connections, certificate)

    return make
