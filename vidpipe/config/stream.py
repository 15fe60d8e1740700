"""One entry of ``streams``, and ``defaults``: where pictures come from and where results go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from vidpipe.config.address import (
    Kind,
    masked,
    source_fault,
    source_kind,
    split_url,
    with_credentials,
)
from vidpipe.config.outputs import Output
from vidpipe.config.section import Section
from vidpipe.config.values import (
    AS_FILLED,
    AS_FLAG,
    AS_NUMBER,
    AS_PATH,
    AS_TEXT,
    AS_WHOLE,
    Password,
    UserName,
    fault,
    number,
    text,
)

RECORDED_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".mpg", ".264")

ID_PATTERN = r"^[a-z0-9_-]{1,100}$"


def _source(value: object) -> object:
    address = str(text(value))
    wrong = source_fault(address)
    if wrong:
        raise fault(wrong)
    return address


def _backoff(value: object) -> object:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise fault("expected two numbers of seconds, [first, longest]")
    first, longest = (number(part) for part in value)
    if not (isinstance(first, float) and isinstance(longest, float)):
        raise fault("expected two numbers of seconds, [first, longest]")
    if not 0 < first <= longest <= 86_400:
        raise fault("expected [first, longest] in seconds, with 0 < first <= longest <= 86400")
    return first, longest


class LaneConfig(Section):
    """The bounded lane between a stream's capture and the model. Absent keys: by the source."""

    size: Annotated[
        int | None, Field(ge=1, le=1024, description="Frames that may wait."), AS_WHOLE
    ] = None
    overflow: Annotated[
        Literal["drop-oldest", "block"] | None,
        Field(
            description="What a full lane does: lose the oldest frame (cameras), or make the "
            "source wait (files)."
        ),
        AS_TEXT,
    ] = None
    max_age_ms: Annotated[
        float | None,
        Field(
            gt=0,
            le=3_600_000,
            description="A frame that has waited longer than this, in milliseconds, is dropped.",
        ),
        AS_NUMBER,
    ] = None


class SourceTlsConfig(Section):
    """How a camera's encryption is trusted (rtsps, https). Most have a certificate of their own."""

    ca: Annotated[
        Path | None,
        Field(description="Certificates to believe in instead of the system's, a PEM file."),
        AS_PATH,
    ] = None
    verify: Annotated[
        bool,
        Field(description="true: the camera has to prove by its certificate who it is."),
        AS_FLAG,
    ] = False


class ConnectConfig(Section):
    """How a source is opened, and opened again."""

    open_timeout_s: Annotated[
        float, Field(gt=0, le=600, description="Opening may take so many seconds."), AS_NUMBER
    ] = 5.0
    read_timeout_s: Annotated[
        float,
        Field(gt=0, le=600, description="A live source silent for so many seconds is lost."),
        AS_NUMBER,
    ] = 5.0
    backoff_s: Annotated[
        tuple[float, float],
        Field(description="Seconds before the first new attempt, and at most between two."),
        BeforeValidator(_backoff),
    ] = (0.5, 30.0)
    transport: Annotated[
        Literal["tcp", "udp"], Field(description="What RTSP sends its media over."), AS_TEXT
    ] = "tcp"
    tls: Annotated[
        SourceTlsConfig, Field(description="How a camera's encryption is trusted (rtsps, https).")
    ] = SourceTlsConfig()
    frozen_s: Annotated[
        float,
        Field(
            ge=0,
            le=86_400,
            description="A live source that shows one and the same picture for so many seconds "
            "is reported as frozen. 0: never.",
        ),
        AS_NUMBER,
    ] = 30.0
    username: UserName = None
    password: Password = None


class DefaultsConfig(Section):
    """What holds for every stream that doesn't say otherwise; merged key by key, at any depth."""

    id: Annotated[
        str | None,
        Field(
            pattern=ID_PATTERN,
            description="Names the stream in files, logs and addresses: a to z, 0 to 9, _ and -.",
        ),
        AS_TEXT,
    ] = None
    name: Annotated[
        str | None,
        Field(max_length=200, description="What people call it, in any script. Absent: the id."),
        AS_FILLED,
    ] = None
    source: Annotated[
        str | None,
        Field(
            description="A file, a glob of files (one stream each), a URL, "
            "device:N[?size=WxH&fps=N&format=mjpg&backend=v4l2], synthetic:SCENE, or what an "
            "installed plugin opens. Files are looked for in this file's folder, then in the "
            "working directory."
        ),
        BeforeValidator(_source, json_schema_input_type=str),
    ] = None
    enabled: Annotated[
        bool,
        Field(description="false: it is listed and not watched, until somebody enables it."),
        AS_FLAG,
    ] = True
    model: Annotated[
        str,
        Field(description="A name under `models`. Absent: the only one."),
        AS_FILLED,
    ] = ""
    detect_fps: Annotated[
        float | None,
        Field(
            gt=0,
            le=1000,
            description="At most so many frames a second go to the model. Absent: every frame.",
        ),
        AS_NUMBER,
    ] = None
    decode: Annotated[
        Literal["all", "reference", "key", "auto"],
        Field(
            description="Which pictures are decoded: all, those that others need, key frames "
            "alone, or (auto) key frames alone where they come as often as detect_fps wants, no "
            "output shows pictures and nobody watches. What is skipped is neither counted nor "
            "numbered."
        ),
        AS_TEXT,
    ] = "all"
    weight: Annotated[
        float,
        Field(gt=0, le=1000, description="Share of the model's time, against the other streams'."),
        AS_NUMBER,
    ] = 1.0
    lane: Annotated[LaneConfig, Field(description="The bounded lane in front of the model.")] = (
        LaneConfig()
    )
    connect: Annotated[
        ConnectConfig, Field(description="How the source is opened, and opened again.")
    ] = ConnectConfig()
    loop: Annotated[
        bool, Field(description="Files: start again at the end, as a camera would."), AS_FLAG
    ] = False
    realtime: Annotated[
        bool,
        Field(description="Files: play by the timestamps, with a camera's lane."),
        AS_FLAG,
    ] = False
    outputs: Annotated[tuple[Output, ...], Field(description="Where the results go.")] = ()


class StreamConfig(DefaultsConfig):
    """One stream: a source, a model, and where its results go.

    ``source`` holds a URL's credentials: show ``source_shown`` and open ``url()``.
    """

    id: Annotated[
        str,
        Field(
            pattern=ID_PATTERN,
            description="Names the stream in files, logs and addresses: a to z, 0 to 9, _ and -.",
        ),
        AS_TEXT,
    ]
    source: Annotated[
        str,
        Field(
            description="A file, a glob of files (one stream each), a URL, "
            "device:N[?size=WxH&fps=N&format=mjpg&backend=v4l2], synthetic:SCENE, or what an "
            "installed plugin opens. Files are looked for in this file's folder, then in the "
            "working directory."
        ),
        BeforeValidator(_source, json_schema_input_type=str),
    ]

    @property
    def kind(self) -> Kind:
        """What kind of source this is."""
        return source_kind(self.source)

    @property
    def is_recorded(self) -> bool:
        """True if the source has an end: a file, also one that is fetched over HTTP by its name.

        Of a plugin's source only the plugin knows it.
        """
        url = split_url(self.source)
        if url is None or self.kind != "network":
            return self.kind != "device"
        path = url.rest.partition("?")[0].partition("#")[0].lower()
        return url.scheme.lower() in ("http", "https") and path.endswith(RECORDED_SUFFIXES)

    @property
    def is_live(self) -> bool:
        """True if the source doesn't wait: a camera, or a file that is played like one."""
        return self.realtime or not self.is_recorded

    @property
    def source_shown(self) -> str:
        """The address, fit for logs: without passwords."""
        return masked(self.source)

    @property
    def title(self) -> str:
        """What people call the stream."""
        return self.name or self.id

    def url(self) -> str:
        """Return the address to open, with the credentials percent-encoded into it; secret."""
        if self.kind not in ("network", "plugin"):
            return self.source
        word = self.connect.password
        return with_credentials(
            self.source, self.connect.username, word.get_secret_value() if word else None
        )

    def output_paths(self) -> list[str]:
        """Return the paths of its outputs with ``{stream}`` put in."""
        paths = (getattr(output, "path", None) for output in self.outputs)
        return [str(path).replace("{stream}", self.id) for path in paths if path]
