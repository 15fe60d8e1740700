"""What a container says of itself, read with the distrust that it deserves.

Containers and streams are PyAV's, as ``Any``: its import stays in ``video``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vidpipe.errors import SourceCause, SourceError
from vidpipe.packets import PacketOutlet
from vidpipe.sources.completeness import Promise
from vidpipe.sources.skipping import DecodePlan
from vidpipe.sources.spans import Span
from vidpipe.sources.truncation import is_file_cut
from vidpipe.types import SourceInfo, SourceKind

UNPROMISING_FORMATS = ("mpegts", "mpeg")
"""Containers that are cut anywhere by nature: damage before the first picture means nothing."""

RAW_FORMATS = frozenset(
    {
        *("h264", "hevc", "vvc", "evc", "m4v", "mpegvideo", "obu", "av1", "h261", "h263", "vc1"),
        *("mjpeg", "mpjpeg", "mjpeg_2000", "cavsvideo", "dirac", "avs2", "avs3", "dnxhd", "ipu"),
        *("image2", "jpeg_pipe", "png_pipe", "bmp_pipe", "webp_pipe", "tiff_pipe"),
    }
)
"""Demuxers of formats without timestamps: FFmpeg makes some up there, from 25 frames a second."""

_NOT_VIDEO_FORMATS = frozenset({"tty", "bin", "xbin", "adf", "idf"})
"""Demuxers that take any text for a video of its letters."""

_ATTACHED_PICTURE = 0x400
"""FFmpeg's AV_DISPOSITION_ATTACHED_PIC: the cover of an album, no video."""

_MOV = "mov,"
_MATROSKA = "matroska,"
_FASTEST_FPS = 2000.0
_ZERO_YEARS = 1970
"""Clocks that were never set say 1904 (MP4's zero) or 1970 (the system's)."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is being read, for messages and decisions; ``name`` holds no secret."""

    name: str
    kind: SourceKind
    is_live: bool
    path: Path | None
    is_local: bool


@dataclass(frozen=True, slots=True)
class VideoLimits:
    """How to read one video.

    Attributes:
        open_timeout_s: Longest time to open a network source.
        read_timeout_s: Longest silence of a network source.
        transport: Of RTSP: ``tcp`` or ``udp``.
        thread_count: Decoder threads; 0 lets FFmpeg choose.
        plan: Which pictures are decoded.
        is_verified: Of TLS: the server has to prove by a certificate who it is.
        ca_file: Certificates to believe in, beside the system's; empty for none.
        packets: Gets a copy of each packet, audio too, before any decoding; or None.
        span: The part of a recorded file that is read; None for all of it.
    """

    open_timeout_s: float = 5.0
    read_timeout_s: float = 5.0
    transport: str = "tcp"
    thread_count: int = 1
    plan: DecodePlan = field(default_factory=DecodePlan)
    is_verified: bool = False
    ca_file: str = ""
    packets: PacketOutlet | None = None
    span: Span | None = None


def choose_stream(container: Any, name: str) -> Any:
    """Return the container's best video stream.

    Args:
        container: The open container.
        name: Its name for messages, without secrets.

    Raises:
        SourceError: There is none that can be decoded (cause FORMAT).
    """
    if container.format.name in _NOT_VIDEO_FORMATS:
        raise SourceError(f"{name} is a text, not a video", SourceCause.FORMAT)
    videos = [
        stream
        for stream in container.streams.video
        if not int(stream.disposition) & _ATTACHED_PICTURE
    ]
    if not videos:
        note = ": it is sound only" if container.streams.audio else ""
        raise SourceError(f"{name} has no video{note}", SourceCause.FORMAT)
    decodable = [stream for stream in videos if stream.codec_context is not None]
    if not decodable:
        raise SourceError(
            f"{name} is in a video codec that can't be decoded here: convert it to H.264",
            SourceCause.FORMAT,
        )
    best = container.streams.best("video")
    for stream in decodable:
        if best is not None and stream.index == best.index:
            return stream
    return max(decodable, key=lambda stream: int(stream.width * stream.height))


def is_endless(container: Any, scheme: str) -> bool:
    """Decide whether a network source is live where nobody has said so.

    HTTP is recorded where the server says how long the resource is (HLS and DASH: where the
    playlist has an end); everything else is live.
    """
    if scheme not in ("http", "https"):
        return True
    if container.format.name in ("hls", "dash"):
        return container.duration is None
    return bool(container.format.name == "mpjpeg" or container.size <= 0)


def promise_of(container: Any, stream: Any, path: Path | None) -> Promise:
    """Return what a recorded source promises: as little as nothing.

    Args:
        container: The open container.
        stream: Its video stream.
        path: The file, where it is one.
    """
    name: str = container.format.name
    is_cut = is_file_cut(path) if path is not None else None
    if name.startswith(_MOV):
        # Not ``stream.frames``: an edit list may leave out some of those.
        return Promise(packets=len(stream.index_entries), is_cut=is_cut)
    if name == "avi" and stream.frames and stream.time_base:
        # The header's count: FFmpeg shortens the duration to what an incomplete index names.
        end_s = float(stream.frames * stream.time_base)
        return Promise(frames=stream.frames, end_s=end_s, is_cut=is_cut)
    if name.startswith(_MATROSKA) or name == "flv":
        tagged_s = tagged_duration_s(stream.metadata)
        if tagged_s is not None:
            return Promise(end_s=tagged_s, is_cut=is_cut)
        if container.duration:
            return Promise(end_s=container.duration / 1e6, is_cut=is_cut, is_of_all=True)
    return Promise(is_cut=is_cut)


def tagged_duration_s(metadata: Mapping[str, str]) -> float | None:
    """Read a track's own duration, ``00:01:02.345000000``, where a muxer has noted it."""
    try:
        hours, minutes, seconds = metadata["DURATION"].split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except (KeyError, ValueError):
        return None


def duration_s_of(container: Any, stream: Any) -> float | None:
    """Return the declared duration in seconds: the stream's, else the container's."""
    if stream.duration and stream.time_base:
        duration_s = float(stream.duration * stream.time_base)
    else:
        tagged_s = tagged_duration_s(stream.metadata)
        duration_s = tagged_s if tagged_s is not None else (container.duration or 0) / 1e6
    return duration_s if duration_s > 0 else None


def declared_rate_fps(stream: Any, *, is_raw: bool) -> float | None:
    """Return the declared frames a second, or None where there is no credible number."""
    # A raw stream's own headers know the rate; its demuxer only supposes one.
    rates = (
        (stream.codec_context.framerate, stream.guessed_rate, stream.average_rate)
        if is_raw
        else (stream.average_rate, stream.guessed_rate)
    )
    for rate in rates:
        if rate and 0 < rate <= _FASTEST_FPS:
            return float(rate)
    return None


def recorded_at_of(*metadata: Mapping[str, str]) -> datetime | None:
    """Return the first credible creation time as aware UTC.

    Zero dates and times without a zone say nothing.
    """
    for entries in metadata:
        try:
            moment = datetime.fromisoformat(entries["creation_time"])
            if moment.tzinfo is not None and moment.astimezone(UTC).year > _ZERO_YEARS:
                return moment.astimezone(UTC)
        except (KeyError, ValueError, OverflowError):
            continue
    return None


def info_of(container: Any, stream: Any, place: Place, promise: Promise) -> SourceInfo:
    """Return what is known of a source once it is open; its rotation comes with a picture."""
    is_raw = container.format.name in RAW_FORMATS
    is_live = place.is_live
    return SourceInfo(
        kind=place.kind,
        is_live=is_live,
        codec=stream.codec_context.codec.canonical_name,
        width=stream.width,
        height=stream.height,
        rate_fps=declared_rate_fps(stream, is_raw=is_raw),
        time_base=None if is_raw else stream.time_base,
        frame_count=None if is_live else promise.packets or stream.frames or None,
        duration_s=None if is_live or is_raw else duration_s_of(container, stream),
        recorded_at=None if is_live else recorded_at_of(container.metadata, stream.metadata),
    )
