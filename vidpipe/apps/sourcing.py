"""From a stream's section to how its source is opened and decoded."""

from __future__ import annotations

from vidpipe.config.stream import StreamConfig
from vidpipe.sources.opening import SourceSpec
from vidpipe.sources.skipping import DecodeMode, DecodePlan
from vidpipe.types import SourceKind


def source_spec(stream: StreamConfig, thread_count: int = 1) -> SourceSpec:
    """Translate where a stream comes from; all of it is decoded."""
    return SourceSpec(
        url=stream.url(),
        kind=SourceKind(stream.kind),
        open_timeout_s=stream.connect.open_timeout_s,
        read_timeout_s=stream.connect.read_timeout_s,
        transport=stream.connect.transport,
        # What ends in .mp4 is a file on a server too; of another HTTP address the server says it.
        is_live=False if stream.is_recorded and stream.kind == "network" else None,
        thread_count=thread_count,
        is_verified=stream.connect.tls.verify,
        ca_file=str(stream.connect.tls.ca or ""),
    )


def decode_plan(stream: StreamConfig, *, shows_pictures: bool) -> DecodePlan:
    """Translate which pictures are decoded.

    Args:
        stream: The stream's section.
        shows_pictures: An output shows them: ``auto`` then means all.
    """
    mode = DecodeMode(stream.decode)
    if mode is DecodeMode.AUTO and (shows_pictures or stream.detect_fps is None):
        mode = DecodeMode.ALL
    return DecodePlan(mode, stream.detect_fps)
