"""The outputs that take events, not frames: MQTT and webhooks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from vidpipe.config.lane import OutputConfig, url_of
from vidpipe.config.section import Section
from vidpipe.config.suggest import did_you_mean
from vidpipe.config.values import (
    AS_FLAG,
    AS_NUMBER,
    AS_PATH,
    AS_TEXT,
    Password,
    UserName,
    fault,
    filled_text,
)

TOPIC_BYTES = 60_000
"""MQTT's own limit is 65,535."""


def _topic(value: object) -> object:
    topic = str(filled_text(value))
    for name in re.findall(r"\{([^{}]*)\}", topic):
        if name != "stream":
            hint = did_you_mean(name, ["stream"])
            raise fault(f"the placeholder {{{name[:20]}}} is not known{hint}; there is {{stream}}")
    if "+" in topic or "#" in topic:
        raise fault("holds + or #, which are for subscribers: name one topic")
    if topic.startswith("$"):
        raise fault("begins with $, which is for the broker itself")
    if not topic.isprintable():
        raise fault("holds a character that no topic may have")
    if len(topic.encode("utf-8", "surrogateescape")) > TOPIC_BYTES:
        raise fault("is longer than a topic may be")
    return topic


AS_TOPIC = BeforeValidator(_topic, json_schema_input_type=str)


class ClientTlsConfig(Section):
    """How the other side's certificate is checked, and what is shown to it."""

    ca: Annotated[
        Path | None,
        Field(
            description="Certificates to trust, a PEM file, for a broker or server that has its "
            "own authority. Absent: the system's."
        ),
        AS_PATH,
    ] = None
    cert: Annotated[
        Path | None, Field(description="A certificate of one's own to show, a PEM file."), AS_PATH
    ] = None
    key: Annotated[Path | None, Field(description="Its private key, a PEM file."), AS_PATH] = None
    verify: Annotated[
        bool, Field(description="false: trust whoever answers. Better give its ca."), AS_FLAG
    ] = True

    @model_validator(mode="after")
    def _whole_pair(self) -> Self:
        if self.key is not None and self.cert is None:
            raise fault("key needs its cert")
        return self


class EventOutput(OutputConfig):
    """What outputs that take events have; the size of their ``lane`` is how many go at once."""

    username: UserName = None
    password: Password = None
    tls: Annotated[
        ClientTlsConfig, Field(description="Encryption, of an URL that asks for it.")
    ] = ClientTlsConfig()
    timeout_s: Annotated[
        float,
        Field(gt=0, le=600, description="An answer may take so many seconds."),
        AS_NUMBER,
    ] = 10.0


class MqttOutput(EventOutput):
    """Events, published to an MQTT broker."""

    type: Annotated[Literal["mqtt"], Field(description="Events by MQTT."), AS_TEXT] = "mqtt"
    url: Annotated[
        str, Field(description="The broker's URL, mqtt:// or mqtts://."), url_of("mqtt", "mqtts")
    ]
    topic: Annotated[
        str, Field(description="The topic; {stream} is the stream's id."), AS_TOPIC
    ] = "vidpipe/{stream}/events"
    status_topic: Annotated[
        str | None,
        Field(
            description="Where online and, as the last will, offline are published, retained. "
            "Absent: nowhere."
        ),
        AS_TOPIC,
    ] = None


class WebhookOutput(EventOutput):
    """Events, posted to a web server."""

    type: Annotated[Literal["webhook"], Field(description="Events by HTTP."), AS_TEXT] = "webhook"
    url: Annotated[
        str, Field(description="The URL to post to, http:// or https://."), url_of("http", "https")
    ]
    token: Annotated[
        SecretStr | None,
        Field(description="Sent as Authorization: Bearer. In place of username and password."),
        AS_TEXT,
    ] = None

    @field_validator("token")
    @classmethod
    def _fits_a_header(cls, token: SecretStr | None) -> SecretStr | None:
        secret = token.get_secret_value() if token is not None else ""
        if not (secret.isascii() and secret.isprintable()):
            raise fault("a token is ASCII, without control characters")
        return token
