"""The outputs of a stream: one closed section for each type, told apart by ``type``.

The types that installed packages offer share one section, whose further keys are the plugin's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from vidpipe.config.address import split_url
from vidpipe.config.eventoutputs import MqttOutput, WebhookOutput
from vidpipe.config.lane import OutputConfig, url_of
from vidpipe.config.suggest import did_you_mean
from vidpipe.config.values import (
    AS_FILLED,
    AS_NUMBER,
    AS_TEXT,
    any_value,
    described,
    fault,
    filled_text,
    number,
)
from vidpipe.runtime.plugins import SINKS, plugin_names

PLACEHOLDERS = ("stream", "start", "n")
RECORD_SUFFIXES = (".mp4", ".m4v", ".mkv", ".mov")
SIDE_PX = (2, 16_384)
"""The least and greatest side of a scaled picture."""


def _path(value: object) -> object:
    """Check a template of a path: its placeholders, and that it stays where it says."""
    template = str(filled_text(value))
    for name in re.findall(r"\{([^{}]*)\}", template):
        if name not in PLACEHOLDERS:
            raise fault(
                f"the placeholder {{{name[:20]}}} is not known{did_you_mean(name, PLACEHOLDERS)}; "
                "known ones: {stream}, {start}, {n}"
            )
    if "{" in re.sub(r"\{[^{}]*\}", "", template) or "}" in re.sub(r"\{[^{}]*\}", "", template):
        raise fault("a brace stands alone: placeholders are {stream}, {start} and {n}")
    if split_url(template):
        raise fault("expected the path of a file, not a URL")
    parts = template.split("/")
    if ".." in parts:
        raise fault("'..' may not stand in an output's path: write the folder itself")
    if parts[-1] in ("", "."):
        raise fault("names a folder: end it in a file's name, such as {stream}.jsonl")
    if any(len(part.encode("utf-8", "surrogateescape")) > 200 for part in parts):
        raise fault("a part of the path is longer than 200 bytes")
    return os.path.expanduser(template)  # noqa: PTH111 (Path's raises where there is no home)


def _video_path(value: object) -> object:
    template = str(_path(value))
    if not template.lower().endswith((".mp4", ".m4v")):
        raise fault("a video is written as MP4: end the path in .mp4")
    return template


def _scale(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}x[0-9]{1,6}", value.strip()):
        sides = [int(side) for side in value.strip().split("x")]
        if all(SIDE_PX[0] <= side <= SIDE_PX[1] for side in sides):
            return f"{sides[0]}x{sides[1]}"
        raise fault(f"each side must be {SIDE_PX[0]} to {SIDE_PX[1]} pixels")
    try:
        factor = number(value)
    except PydanticCustomError:
        factor = None
    if isinstance(factor, float) and 0 < factor <= 1:
        return factor
    raise fault(
        f"expected a factor above 0 and up to 1, or WIDTHxHEIGHT in pixels such as 1280x720, not "
        f"{described(value)}"
    )


class PictureOutputConfig(OutputConfig):
    """What every output that encodes pictures has."""

    scale: Annotated[
        float | str | None,
        Field(
            description="A factor above 0 and up to 1, or WIDTHxHEIGHT in pixels: the picture is "
            "fitted into that, its aspect kept, and never enlarged. Absent: as the source."
        ),
        BeforeValidator(
            _scale,
            json_schema_input_type=Annotated[float, Field(gt=0, le=1)]
            | Annotated[str, Field(pattern=r"^[0-9]+x[0-9]+$")]
            | None,
        ),
    ] = None
    max_fps: Annotated[
        float | None,
        Field(gt=0, le=1000, description="At most so many frames a second are encoded."),
        AS_NUMBER,
    ] = None

    def size_wh(self, width: int, height: int) -> tuple[int, int]:
        """Return the size in pixels, at least 1x1, that a displayed frame is encoded at."""
        if self.scale is None:
            return width, height
        if isinstance(self.scale, float):
            factor = self.scale
        else:
            wide, high = (int(side) for side in self.scale.split("x"))
            factor = min(1.0, wide / width, high / height)
        return max(1, round(width * factor)), max(1, round(height * factor))


class StoredOutputConfig(OutputConfig):
    """What every output that grows on a disk has."""

    segment_s: Annotated[
        float | None,
        Field(
            gt=0,
            le=604_800,
            description="A new file begins at multiples of so many seconds: of a live stream on "
            "the clock (UTC; 600: at :00, :10, :20), of a recorded one in its own time.",
        ),
        AS_NUMBER,
    ] = None
    keep_days: Annotated[
        float | None,
        Field(gt=0, le=36_500, description="Files older than this many days are deleted."),
        AS_NUMBER,
    ] = None
    keep_gb: Annotated[
        float | None,
        Field(gt=0, le=1_000_000, description="The oldest files go above this total, in GB."),
        AS_NUMBER,
    ] = None
    min_free_gb: Annotated[
        float | None,
        Field(ge=0, le=1_000_000, description="Writing stops below this free space, in GB."),
        AS_NUMBER,
    ] = None

    @model_validator(mode="after")
    def _known_by_name(self) -> Self:
        """Files that are to be deleted again must be known by their names alone."""
        wants = [key for key in ("keep_days", "keep_gb") if getattr(self, key) is not None]
        name = str(getattr(self, "path", "")).rpartition("/")[2]
        if wants and "{start}" not in name:
            raise fault(
                f"{wants[0]} deletes old files, which it knows by their names: put {{start}} into "
                "the name in the path"
            )
        return self


PATH_HELP = (
    "relative to the working directory; {stream} is the stream's id, {start} the UTC time of the "
    "file's first frame, {n} the file's number from 1. An existing file is never overwritten."
)


class VideoOutput(StoredOutputConfig, PictureOutputConfig):
    """Annotated video: H.264 in MP4, at the source's timestamps."""

    type: Annotated[Literal["video"], Field(description="Annotated video."), AS_TEXT] = "video"
    path: Annotated[
        str,
        Field(description=f"The file, ending in .mp4, {PATH_HELP}"),
        BeforeValidator(_video_path, json_schema_input_type=str),
    ]


class JsonlOutput(StoredOutputConfig):
    """JSON Lines: one line for every frame that the model was asked about."""

    type: Annotated[Literal["jsonl"], Field(description="JSON Lines."), AS_TEXT] = "jsonl"
    path: Annotated[
        str,
        Field(description=f"The file, {PATH_HELP}"),
        BeforeValidator(_path, json_schema_input_type=str),
    ]

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        if self.segment_s is not None and "{start}" not in self.path:
            raise fault("segment_s makes many files: put {start} into the path")
        return self


def _record_path(value: object) -> object:
    template = str(_path(value))
    if not template.lower().endswith(RECORD_SUFFIXES):
        raise fault("a recording is MP4, Matroska or QuickTime: end the path in .mp4, .mkv or .mov")
    return template


class RecordOutput(StoredOutputConfig):
    """The source's own packets, copied and never encoded; audio where the container takes it."""

    type: Annotated[Literal["record"], Field(description="The source's packets."), AS_TEXT] = (
        "record"
    )
    path: Annotated[
        str,
        Field(description=f"The file, ending in .mp4, .mkv or .mov, {PATH_HELP}"),
        BeforeValidator(_record_path, json_schema_input_type=str),
    ]


class RtspOutput(PictureOutputConfig):
    """The annotated stream, pushed to an RTSP server."""

    type: Annotated[Literal["rtsp"], Field(description="Push by RTSP."), AS_TEXT] = "rtsp"
    url: Annotated[
        str, Field(description="The server's URL, rtsp:// or rtsps://."), url_of("rtsp", "rtsps")
    ]


class RtmpOutput(PictureOutputConfig):
    """The annotated stream, pushed to an RTMP server."""

    type: Annotated[Literal["rtmp"], Field(description="Push by RTMP."), AS_TEXT] = "rtmp"
    url: Annotated[
        str, Field(description="The server's URL, rtmp:// or rtmps://."), url_of("rtmp", "rtmps")
    ]


class PluginOutput(OutputConfig):
    """An output of a type that an installed package offers."""

    type: Annotated[str, Field(description="The type, as the package calls it."), AS_FILLED]
    options: Annotated[
        dict[str, Any],
        Field(repr=False, description="All further keys, which only the plugin understands."),
    ] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, data: Any) -> Any:
        """Gather the keys that are the plugin's own, each scalar read by its looks."""
        if not isinstance(data, Mapping):
            return data
        own = {key: value for key, value in data.items() if key in ("type", "lane")}
        further = {key: any_value(value) for key, value in data.items() if key not in own}
        options = {key: value for key, value in further.items() if value is not None}
        return {key: value for key, value in own.items() if value is not None} | {
            "options": options
        }


OUTPUT_TYPES = {
    "video": VideoOutput,
    "jsonl": JsonlOutput,
    "record": RecordOutput,
    "rtsp": RtspOutput,
    "rtmp": RtmpOutput,
    "mqtt": MqttOutput,
    "webhook": WebhookOutput,
}


PLUGIN_TAG = "plugin"
"""Not in angle brackets, as the tags of what is unknown are."""


def output_types() -> list[str]:
    """Return all types of outputs that there are: vidpipe's own, and those of installed packages.

    A package can't take the place of one of vidpipe's own.
    """
    return [*OUTPUT_TYPES, *(name for name in plugin_names(SINKS) if name not in OUTPUT_TYPES)]


def _type_of(value: Any) -> str | None:
    """Return the tag of a section; what is no type gets one that nothing has."""
    if isinstance(value, PluginOutput):
        return PLUGIN_TAG
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str) or kind in OUTPUT_TYPES:
        return str(kind) if isinstance(kind, str) else None
    return PLUGIN_TAG if kind in plugin_names(SINKS) else f"<{kind}>"


Output: TypeAlias = Annotated[
    Annotated[VideoOutput, Tag("video")]
    | Annotated[JsonlOutput, Tag("jsonl")]
    | Annotated[RecordOutput, Tag("record")]
    | Annotated[RtspOutput, Tag("rtsp")]
    | Annotated[RtmpOutput, Tag("rtmp")]
    | Annotated[MqttOutput, Tag("mqtt")]
    | Annotated[WebhookOutput, Tag("webhook")]
    | Annotated[PluginOutput, Tag(PLUGIN_TAG)],
    Discriminator(_type_of),
]
