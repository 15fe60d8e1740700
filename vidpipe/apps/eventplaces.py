"""From the outputs that take events to the couriers that bring them there.

Streams whose outputs name the same place, with the same credentials, share one connection.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, unquote

from vidpipe.apps.sinks import lane_names
from vidpipe.config.address import Url, split_port, split_url
from vidpipe.config.eventoutputs import (
    ClientTlsConfig,
    EventOutput,
    MqttOutput,
    WebhookOutput,
)
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, Fault
from vidpipe.outputs.courier import Courier, Endpoint
from vidpipe.outputs.mqtt import MqttEndpoint, MqttSettings
from vidpipe.outputs.webhook import WebhookEndpoint, WebhookSettings

Place: TypeAlias = MqttOutput | WebhookOutput

_PORTS = {"mqtt": 1883, "mqtts": 8883, "http": 80, "https": 443}
_ENCRYPTED = {"mqtts", "https"}
_MQTT_WINDOW = 20
_URL_SAFE = "/%:@!$&'()*+,;=-._~?[]"
"""What may stand in a path and a query as it is; a % is taken for an escape."""


@dataclass(frozen=True, slots=True)
class EventTarget:
    """One output of one stream that takes events.

    Attributes:
        stream: The stream's id.
        part: The output's name among the stream's: its type, numbered where there are several.
        output: Its section.
    """

    stream: str
    part: str
    output: Place

    @property
    def key(self) -> str:
        """What the outbox calls it, from one start to the next."""
        return f"{self.stream}/{self.part}"


def event_targets(stream: StreamConfig, names: Sequence[str]) -> Iterator[EventTarget]:
    """Yield the outputs of a stream that take events; ``names`` are those of all its outputs."""
    for name, output in zip(names, stream.outputs, strict=True):
        if isinstance(output, MqttOutput | WebhookOutput):
            yield EventTarget(stream.id, name, output)


def all_targets(config: Config) -> list[EventTarget]:
    """Return every output that takes events, but for those of streams that are disabled."""
    return [
        target
        for stream in config.streams
        if stream.enabled
        for target in event_targets(stream, lane_names([output.type for output in stream.outputs]))
    ]


def couriers_for(targets: Sequence[EventTarget]) -> list[Courier]:
    """Return a courier for each place.

    Raises:
        ConfigError: A certificate or key can't be used.
    """
    places: dict[Place, list[EventTarget]] = {}
    for target in targets:
        # The topic alone is the stream's own.
        same = {"topic": "-"} if isinstance(target.output, MqttOutput) else {}
        places.setdefault(target.output.model_copy(update=same), []).append(target)
    return [
        Courier(_endpoint(place, sharers), [target.key for target in sharers])
        for place, sharers in places.items()
    ]


def _endpoint(place: Place, sharers: Sequence[EventTarget]) -> Endpoint:
    url = split_url(place.url)
    assert url is not None
    host, port_text = split_port(url.host)
    scheme = url.scheme.lower()
    host, port = host.strip("[]"), int(port_text) if port_text else _PORTS[scheme]
    tls = _tls(place.tls, sharers[0]) if scheme in _ENCRYPTED else None
    username, password = _credentials(url, place)
    match place:
        case MqttOutput():
            settings = MqttSettings(
                host=host,
                port=port,
                username=username,
                password=password,
                tls=tls,
                status_topic=place.status_topic,
                timeout_s=place.timeout_s,
                window=place.lane.size or _MQTT_WINDOW,
            )
            return MqttEndpoint(settings, {t.key: _topic(t) for t in sharers})
        case WebhookOutput():
            return WebhookEndpoint(
                WebhookSettings(
                    host=host,
                    port=port,
                    path=_path(url.rest),
                    headers=_authorization(place, username, password),
                    tls=tls,
                    timeout_s=place.timeout_s,
                )
            )


def _topic(target: EventTarget) -> str:
    assert isinstance(target.output, MqttOutput)
    return target.output.topic.replace("{stream}", target.stream)


def _credentials(url: Url, place: EventOutput) -> tuple[str | None, str | None]:
    """Return user and password as they are; the keys win over the URL."""
    username = place.username if place.username is not None else _raw(url.user)
    password = place.password.get_secret_value() if place.password is not None else None
    password = password if password is not None else _raw(url.password)
    # MQTT has no password without a user.
    return ("" if username is None and password is not None else username), password


def _raw(part: str | None) -> str | None:
    return None if part is None else unquote(part)


def _authorization(
    place: WebhookOutput, username: str | None, password: str | None
) -> dict[str, str]:
    if place.token is not None and place.token.get_secret_value():
        return {"Authorization": f"Bearer {place.token.get_secret_value()}"}
    if username is None:
        return {}
    pair = base64.b64encode(f"{username}:{password or ''}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def _path(rest: str) -> str:
    """Return path and query as they go into a request."""
    path = quote(rest.partition("#")[0], safe=_URL_SAFE)
    return path if path.startswith("/") else f"/{path}"


def _tls(config: ClientTlsConfig, target: EventTarget) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=_text(config.ca))
        if config.cert is not None:
            # Without a terminal nobody could answer OpenSSL's question for the key's password.
            context.load_cert_chain(config.cert, _text(config.key), password="")
    except (OSError, ssl.SSLError) as exc:
        why = exc.strerror if not isinstance(exc, ssl.SSLError) else exc.reason or "unreadable"
        files = ", ".join(str(file) for file in (config.ca, config.cert, config.key) if file)
        fault = Fault(f"stream {target.stream}", f"outputs: {target.part}: tls", f"{files}: {why}")
        raise ConfigError([fault]) from None
    if not config.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
