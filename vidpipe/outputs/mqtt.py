"""Events by MQTT 3.1.1: quality of service 1, each acknowledged by the broker.

Every connection is a new client object, so that nothing of a broken one is carried over: what
wasn't acknowledged is sent again, in order, by the courier. The client's id stays the same for the
process's life, so that a broker that hasn't noticed the end of the old connection closes it first.
"""

from __future__ import annotations

import select
import ssl
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from vidpipe.interfaces import Clock
from vidpipe.outputs.courier import DeliveryError, Settle
from vidpipe.outputs.eventstore import Parcel
from vidpipe.outputs.unreachable import why_unreachable
from vidpipe.runtime.logs import redact

_TICK_S = 0.1
_KEEPALIVE_S = 15
_LEAVE_S = 1.0
_REFUSED_LOGIN = ("Bad user name or password", "Not authorized")


@dataclass(frozen=True, slots=True)
class MqttSettings:
    """Where the broker is, and who one is there.

    Attributes:
        host: Its name or address.
        port: Its port.
        username: Raw text, or None.
        password: Raw text, or None.
        tls: How to encrypt; None: not at all.
        status_topic: Where ``online`` is published, retained, and ``offline`` as the last will.
        timeout_s: How long a connection or an acknowledgement may take.
        window: Events on their way at once.
    """

    host: str
    port: int
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    status_topic: str | None = None
    timeout_s: float = 10.0
    window: int = 20


class MqttEndpoint:
    """Implements ``Endpoint`` for one broker."""

    def __init__(
        self, settings: MqttSettings, topics: Mapping[str, str], clock: Clock = time.monotonic
    ) -> None:
        """Connect later; ``topics`` says where each target's events are published."""
        self.name = f"mqtt {settings.host}:{settings.port}"
        self.window = settings.window
        self._settings = settings
        self._topics = topics
        self._clock = clock
        self._client_id = f"vidpipe-{uuid.uuid4().hex[:12]}"
        self._client: Client | None = None
        self._acked: deque[int] = deque()
        self._welcome: list[ReasonCode] = []
        self._is_interrupted = False

    def deliver(self, parcels: Sequence[Parcel], settle: Settle) -> None:
        """Publish them all, and tell of each that the broker acknowledges.

        Raises:
            DeliveryError: The broker can't be reached, or is silent.
        """
        client = self._connected()
        on_way: dict[int, Parcel] = {}
        for parcel in parcels:
            on_way[self._publish(client, self._topics[parcel.target], parcel.body)] = parcel
        until_s = self._clock() + self._settings.timeout_s
        while on_way:
            self._pump(client)
            while self._acked:
                parcel_done = on_way.pop(self._acked.popleft(), None)
                if parcel_done is not None:
                    settle(parcel_done, None)
                    until_s = self._clock() + self._settings.timeout_s
            if on_way and self._clock() > until_s:
                raise self._lost(f"no acknowledgement for {self._settings.timeout_s:g} s")

    def tend(self) -> None:
        """Connect, or keep the connection alive.

        Raises:
            DeliveryError: The broker can't be reached.
        """
        self._pump(self._connected(), wait_s=0.0)

    def interrupt(self) -> None:
        """Let waits end within a tick."""
        self._is_interrupted = True

    def close(self) -> None:
        """Say goodbye, so that the last will isn't needed."""
        client = self._client
        if client is None:
            return
        self._is_interrupted = False
        try:
            if self._settings.status_topic is not None:
                goodbye = self._publish(client, self._settings.status_topic, "offline", retain=True)
                until_s = self._clock() + _LEAVE_S
                while goodbye not in self._acked and self._clock() < until_s:
                    self._pump(client)
            client.disconnect()
        except (DeliveryError, OSError):
            pass  # the last will says it
        self._drop()

    # ---- The connection ------------------------------------------------------------------------

    def _connected(self) -> Client:
        if self._client is None:
            self._connect()
        assert self._client is not None
        return self._client

    def _connect(self) -> None:
        settings = self._settings
        client = Client(CallbackAPIVersion.VERSION2, self._client_id, clean_session=True)
        client.on_connect = self._note_welcome
        client.on_publish = self._note_acknowledgement
        client.max_inflight_messages_set(settings.window + 1)
        client.connect_timeout = settings.timeout_s
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password)
        if settings.tls is not None:
            client.tls_set_context(settings.tls)
        if settings.status_topic is not None:
            client.will_set(settings.status_topic, "offline", qos=1, retain=True)
        self._welcome.clear()
        self._acked.clear()
        self._client = client
        try:
            client.connect(settings.host, settings.port, keepalive=_KEEPALIVE_S)
        except (OSError, ValueError) as exc:
            raise self._lost(why_unreachable(exc) or redact(str(exc))) from None
        until_s = self._clock() + settings.timeout_s
        while not self._welcome:
            self._pump(client)
            if not self._welcome and self._clock() > until_s:
                raise self._lost(f"the broker has said nothing for {settings.timeout_s:g} s")
        if self._welcome[0].is_failure:
            raise self._lost(_refusal(self._welcome[0]))
        if settings.status_topic is not None:
            self._publish(client, settings.status_topic, "online", retain=True)

    def _publish(self, client: Client, topic: str, text: str, *, retain: bool = False) -> int:
        info = client.publish(topic, text.encode(), qos=1, retain=retain)
        if info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise self._lost("the connection was lost")
        return info.mid

    def _pump(self, client: Client, wait_s: float = _TICK_S) -> None:
        """Read and write what can be; ``Client.loop`` can't, with descriptors above 1023."""
        if self._is_interrupted:
            raise self._lost("stopped")
        sock = client.socket()
        if sock is None:
            raise self._lost(self._why_closed())
        watch = select.POLLIN | (select.POLLOUT if client.want_write() else 0)
        poll = select.poll()
        poll.register(sock, watch)
        is_buffered = isinstance(sock, ssl.SSLSocket) and sock.pending() > 0
        ready = poll.poll(0 if is_buffered else wait_s * 1000)
        flags = ready[0][1] if ready else 0
        codes = [client.loop_misc()]
        if is_buffered or flags & ~select.POLLOUT:
            codes.append(client.loop_read())
        if flags & select.POLLOUT:
            codes.append(client.loop_write())
        if any(code != MQTTErrorCode.MQTT_ERR_SUCCESS for code in codes):
            raise self._lost(self._why_closed())

    def _why_closed(self) -> str:
        refused = self._welcome and self._welcome[0].is_failure
        return _refusal(self._welcome[0]) if refused else "the connection was lost"

    def _lost(self, why: str) -> DeliveryError:
        self._drop()
        return DeliveryError(why)

    def _drop(self) -> None:
        """Close the connection, whatever state it is in."""
        client, self._client = self._client, None
        sock = client.socket() if client is not None else None
        if sock is not None:
            sock.close()

    def _note_welcome(
        self, client: Client, userdata: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        self._welcome.append(reason)

    def _note_acknowledgement(
        self, client: Client, userdata: Any, mid: int, reason: ReasonCode, properties: Any
    ) -> None:
        self._acked.append(mid)


def _refusal(reason: ReasonCode) -> str:
    if str(reason) in _REFUSED_LOGIN:
        return "the broker refuses the user name or the password"
    return f"the broker refuses the connection ({reason})"
