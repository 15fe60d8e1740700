"""From a stream's section to how its source is opened and decoded."""

from __future__ import annotations

from collections.abc import Callable

from vidpipe.config.stream import StreamConfig
from vidpipe.sources.capture import CapturePolicy
from vidpipe.sources.connection import Backoff
from vidpipe.sources.opening import SourceSpec
from vidpipe.sources.plugin import is_plugin_live
from vidpipe.sources.skipping import DecodeMode, DecodePlan
from vidpipe.types import SourceKind

LIVE_MAX_AGE_S = 0.5
"""How late a frame of a live stream may be where the configuration doesn't say it."""


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


def decode_plan(
    stream: StreamConfig, *, shows_pictures: bool, is_watched: Callable[[], bool] | None = None
) -> DecodePlan:
    """Translate which pictures are decoded.

    Args:
        stream: The stream's section.
        shows_pictures: An output shows them: ``auto`` then means all.
        is_watched: Tells whether somebody looks at the stream just now: ``auto`` then means all,
            for so long; None: nobody can.
    """
    mode = DecodeMode(stream.decode)
    if mode is DecodeMode.AUTO and (shows_pictures or stream.detect_fps is None):
        mode = DecodeMode.ALL
    return DecodePlan(mode, stream.detect_fps, is_watched)


def is_endless(stream: StreamConfig) -> bool:
    """Return True if a stream's source has no end of its own, which only a plugin may know."""
    return is_plugin_live(stream.source) if stream.kind == "plugin" else not stream.is_recorded


def capture_policy(
    config: StreamConfig, position: tuple[int, int], *, is_recorded: bool
) -> CapturePolicy:
    """Translate how a stream is captured; ``position``: the epoch and number to begin with."""
    first_s, cap_s = config.connect.backoff_s
    age_ms = config.lane.max_age_ms
    epoch, number = position
    return CapturePolicy(
        stream=config.id,
        is_live=not is_recorded,
        loop=config.loop,
        realtime=config.realtime,
        max_late_s=age_ms / 1000 if age_ms else LIVE_MAX_AGE_S,
        backoff=Backoff(first_s, cap_s),
        open_timeout_s=config.connect.open_timeout_s,
        read_timeout_s=config.connect.read_timeout_s,
        frozen_s=config.connect.frozen_s,
        first_epoch=epoch,
        first_number=number,
    )
