"""Events by HTTP: one POST an event, as JSON, with the event's id as its ``Idempotency-Key``.

A 2xx is delivery. 408, 429 and 5xx, a redirect, and whatever goes wrong on the way are tried again,
no earlier than ``Retry-After`` says; any other 4xx is the server's last word on that event.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from vidpipe.outputs.courier import DeliveryError, Settle
from vidpipe.outputs.eventstore import Parcel
from vidpipe.outputs.unreachable import why_unreachable
from vidpipe.runtime.supervisor import call_with_deadline

_ANSWER_BYTES = 65_536
_LONGEST_AFTER_S = 3600.0
_TEMPORARY = {http.HTTPStatus.REQUEST_TIMEOUT, http.HTTPStatus.TOO_MANY_REQUESTS}
_STALE = (http.client.RemoteDisconnected, http.client.CannotSendRequest, ConnectionError)
"""What a connection that the server has closed since the last request answers."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Where to post.

    Attributes:
        host: The server's name or address.
        port: Its port.
        path: Path and query, percent-encoded; often a secret itself, so it is never shown.
        headers: Further headers, such as ``Authorization``.
        tls: How to encrypt; None: not at all.
        timeout_s: How long one post may take altogether.
    """

    host: str
    port: int
    path: str = field(default="/", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = None
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    retry_after: str | None


class WebhookEndpoint:
    """Implements ``Endpoint`` for one URL."""

    def __init__(
        self, settings: WebhookSettings, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Connect later; ``now`` is the wall clock, for dates in ``Retry-After``."""
        self.name = f"webhook {settings.host}:{settings.port}"
        self.window = 8
        self._settings = settings
        self._now = now
        self._connection: http.client.HTTPConnection | None = None
        self._is_interrupted = False

    def deliver(self, parcels: Sequence[Parcel], settle: Settle) -> None:
        """Post one after the other.

        Raises:
            DeliveryError: The server can't be reached, or wants it later.
        """
        for parcel in parcels:
            if self._is_interrupted:
                raise DeliveryError("stopped")
            settle(parcel, self._post(parcel))

    def tend(self) -> None:
        """Do nothing: the next post connects."""

    def interrupt(self) -> None:
        """Break off a post that waits for its answer."""
        self._is_interrupted = True
        connection = self._connection
        sock = connection.sock if connection is not None else None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is closed already

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _post(self, parcel: Parcel) -> str | None:
        """Return None for a delivery, or why the server will never take this event."""
        answer = self._answer(parcel)
        status = answer.status
        if 200 <= status < 300:
            return None
        if 400 <= status < 500 and status not in _TEMPORARY:
            return f"HTTP {status} {http.client.responses.get(status, '')}".strip()
        if 300 <= status < 400:
            raise DeliveryError(f"HTTP {status}: it redirects elsewhere; put that URL in its place")
        after_s = retry_after_s(answer.retry_after, self._now())
        raise DeliveryError(f"HTTP {status} {http.client.responses.get(status, '')}", after_s)

    def _answer(self, parcel: Parcel) -> _Answer:
        is_reused = self._connection is not None
        try:
            return self._exchange(parcel)
        except _STALE as exc:
            self.close()
            if not is_reused or self._is_interrupted:
                raise DeliveryError(_reason(exc)) from None
        except (OSError, http.client.HTTPException) as exc:
            self.close()
            raise DeliveryError(_reason(exc)) from None
        # The server had closed it while it was idle; with its key, the event can't count twice.
        return self._answer(parcel)

    def _exchange(self, parcel: Parcel) -> _Answer:
        """Post on the connection that there is, or on a new one, within the timeout as a whole."""
        settings = self._settings
        connection = self._connection or self._new_connection()
        self._connection = connection

        def exchange() -> _Answer:
            headers = {
                "Content-Type": "application/json",
                "User-Agent": "vidpipe",
                "Idempotency-Key": parcel.id,
                **settings.headers,
            }
            connection.request("POST", settings.path, parcel.body.encode(), headers)
            response = connection.getresponse()
            is_whole = len(response.read(_ANSWER_BYTES + 1)) <= _ANSWER_BYTES
            if not is_whole or response.will_close:
                self.close()
            return _Answer(response.status, response.getheader("Retry-After"))

        # A name that doesn't resolve, or a byte a second, would hold the socket's own timeout off.
        return call_with_deadline(exchange, settings.timeout_s, "vp-webhook", lambda _: None)

    def _new_connection(self) -> http.client.HTTPConnection:
        settings = self._settings
        if settings.tls is None:
            return http.client.HTTPConnection(
                settings.host, settings.port, timeout=settings.timeout_s
            )
        return http.client.HTTPSConnection(
            settings.host, settings.port, timeout=settings.timeout_s, context=settings.tls
        )


def retry_after_s(value: str | None, now: datetime) -> float:
    """Return for how long a server wants to be left alone: seconds or a date; an hour at most."""
    if value is None:
        return 0.0
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(_LONGEST_AFTER_S, float(text[:9]))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(_LONGEST_AFTER_S, max(0.0, (moment - now).total_seconds()))


def _reason(error: Exception) -> str:
    """Return why there was no answer."""
    if isinstance(error, http.client.HTTPException):  # some of them are of the network's, too
        return f"its answer is no HTTP ({type(error).__name__})"
    return why_unreachable(error) or type(error).__name__
