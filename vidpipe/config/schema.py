"""The root of the configuration and its smaller sections, as frozen and closed records.

The larger ones have modules of their own: ``model``, ``stream`` and ``outputs``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, SecretStr

from vidpipe.config.model import ModelConfig
from vidpipe.config.section import Section
from vidpipe.config.stream import DefaultsConfig, StreamConfig
from vidpipe.config.values import (
    AS_FILLED,
    AS_NUMBER,
    AS_PATH,
    AS_TEXT,
    AS_WHOLE,
    described,
    fault,
    file_path,
    text,
    whole,
)

LogLevel: TypeAlias = Literal["TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL"]
LOG_LEVELS = get_args(LogLevel)
WORKERS_MAX = 256
LogWord: TypeAlias = (
    LogLevel | Literal["trace", "debug", "info", "success", "warning", "error", "critical"]
)


def _version(value: object) -> object:
    try:
        version = whole(value)
    except ValueError:
        version = None
    if version != 1:
        raise fault("expected 1: this version of vidpipe reads version 1 of the file")
    return version


def _upper(value: object) -> object:
    taken = str(text(value))
    # a wrong word goes on as written, so that the message shows it so
    return taken.upper() if taken.islower() and taken.upper() in LOG_LEVELS else value


def _workers(value: object) -> object:
    if str(value).strip() == "auto":
        return "auto"
    try:
        count = whole(value)
    except ValueError:
        count = 0
    if isinstance(count, int) and 1 <= count <= WORKERS_MAX:
        return count
    raise fault(f"expected auto or a number from 1 to {WORKERS_MAX}, not {described(value)}")


def _path_or_none(value: object) -> object:
    return file_path(value) if str(value).strip() else None


class TokenConfig(Section):
    """Who may use the server."""

    role: Annotated[
        Literal["viewer", "operator"],
        Field(description="viewer: may look; operator: may also change things."),
        AS_TEXT,
    ]
    token: Annotated[SecretStr, Field(description="The secret to present."), AS_TEXT]


class TlsConfig(Section):
    """Encryption of the server."""

    cert: Annotated[Path, Field(description="The certificate chain, a PEM file."), AS_PATH]
    key: Annotated[Path, Field(description="Its private key, a PEM file."), AS_PATH]


class ServerConfig(Section):
    """The HTTP server: health, metrics, wall."""

    host: Annotated[
        str,
        Field(description="The address to listen on; other than loopback needs a token."),
        AS_FILLED,
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65_535, description="The port; 0: any that is free."), AS_WHOLE
    ] = 8080
    tokens: Annotated[tuple[TokenConfig, ...], Field(description="Who may use the server.")] = ()
    tls: Annotated[TlsConfig | None, Field(description="Absent: no encryption.")] = None


class TelemetryConfig(Section):
    """What vidpipe says of itself."""

    log_level: Annotated[
        LogLevel,
        Field(description="The least level that is logged."),
        AS_TEXT,
        BeforeValidator(_upper, json_schema_input_type=LogWord),
    ] = "INFO"
    log_file: Annotated[
        Path | None,
        Field(description="A rotating log beside the one on stderr. Absent: none."),
        AS_PATH,
    ] = None
    manifest: Annotated[
        Path | None, Field(description="The deployment record, JSON. Absent: none."), AS_PATH
    ] = None


class WallConfig(Section):
    """The live wall."""

    fps: Annotated[
        float, Field(gt=0, le=60, description="Pictures a second of each tile."), AS_NUMBER
    ] = 10.0
    quality: Annotated[
        int, Field(ge=1, le=100, description="JPEG quality, 1 to 100."), AS_WHOLE
    ] = 75
    groups: Annotated[
        dict[str, tuple[Annotated[str, AS_FILLED], ...]],
        Field(description="Named groups of streams, by their ids."),
    ] = Field(default_factory=dict)


class EventsConfig(Section):
    """When something seen is an event."""

    quiet_s: Annotated[
        float,
        Field(
            ge=0,
            le=86_400,
            description="A class that wasn't seen in a stream for so many seconds is news again.",
        ),
        AS_NUMBER,
    ] = 30.0
    classes: Annotated[
        tuple[Annotated[str, AS_FILLED], ...] | None,
        Field(min_length=1, description="The classes that make events. Absent: all."),
    ] = None


class OutboxConfig(Section):
    """Events that wait on the disk for a broker that is away."""

    path: Annotated[Path, Field(description="The database's file."), AS_PATH] = Path(
        "out/outbox.db"
    )
    max_mb: Annotated[
        float, Field(gt=0, le=1_000_000, description="Its greatest size in MB."), AS_NUMBER
    ] = 500.0


def default_cache_dir() -> Path:
    """Return where fetched and compiled models are kept unless the file says otherwise."""
    # A relative one is to be ignored, says the XDG Base Directory Specification.
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    usual = f"{xdg}/vidpipe" if xdg.startswith("/") else "~/.cache/vidpipe"
    folder = os.environ.get("VIDPIPE_CACHE_DIR") or usual
    return Path(os.path.expanduser(folder))  # noqa: PTH111 (Path's raises without a home)


class Config(Section):
    """The whole configuration, with defaults merged, globs expanded and variables put in."""

    version: Annotated[
        Literal[1], Field(description="The version of this format: 1."), BeforeValidator(_version)
    ]
    models: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=100)], ModelConfig],
        Field(min_length=1, description="The detectors, by a name of your own."),
    ]
    defaults: Annotated[
        DefaultsConfig,
        Field(description="Any key of a stream; a stream's own value wins, key by key."),
    ] = DefaultsConfig()
    streams: Annotated[
        tuple[StreamConfig, ...], Field(min_length=1, description="What is watched.")
    ]
    server: Annotated[ServerConfig | None, Field(description="The HTTP server. Absent: none.")] = (
        None
    )
    telemetry: Annotated[TelemetryConfig, Field(description="What vidpipe says of itself.")] = (
        TelemetryConfig()
    )
    env_file: Annotated[
        Path | None,
        Field(
            description="KEY=VALUE lines for ${KEY}; the environment wins. Relative to this "
            "file's folder or else to the working directory. Empty: none."
        ),
        BeforeValidator(_path_or_none),
    ] = None
    cache_dir: Annotated[
        Path,
        Field(
            default_factory=default_cache_dir,
            description="Fetched and compiled models. Absent: $VIDPIPE_CACHE_DIR, or vidpipe in "
            "$XDG_CACHE_HOME or ~/.cache.",
        ),
        AS_PATH,
    ]
    wall: Annotated[WallConfig | None, Field(description="The live wall.")] = None
    events: Annotated[EventsConfig | None, Field(description="What makes an event.")] = None
    outbox: Annotated[OutboxConfig | None, Field(description="Where events wait.")] = None
    workers: Annotated[
        Literal["auto"] | int,
        Field(
            description="Processes, each with a share of the streams and of the machine's cores; "
            "auto: by its NUMA nodes and cores, which is 1 on a small one."
        ),
        BeforeValidator(
            _workers, json_schema_input_type=Literal["auto"] | Annotated[int, Field(ge=1, le=256)]
        ),
    ] = 1
    shutdown_timeout_s: Annotated[
        float,
        Field(gt=0, le=3600, description="A stop may take so many seconds before it is forced."),
        AS_NUMBER,
    ] = 10.0
