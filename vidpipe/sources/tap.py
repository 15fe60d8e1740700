"""Copies of the packets that a reader reads, for who records them.

The copies hold nothing of the reader's: they outlive it, and other threads may write them while it
decodes. One thread takes.
"""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
from loguru import logger

from vidpipe.packets import EncodedPacket, Opening, PacketOutlet, Track, TrackKind

if TYPE_CHECKING:
    from av.packet import Packet

_MILLISECOND = Fraction(1, 1000)


class Tap:
    """Hands one open container's packets to an outlet."""

    def __init__(self, container: Any, video: Any, outlet: PacketOutlet, *, is_live: bool) -> None:
        """Describe the tracks: the chosen video, and all audio; without the video there is none."""
        self._outlet = outlet
        # Belongs to no file: whoever muxes may read it when the container is closed.
        self._shelf: Any = av.open(io.BytesIO(), "w", format="null")
        self.streams: list[Any] = []
        """What must be read of the container for it."""
        tracks = []
        for stream in (video, *container.streams.audio):
            try:
                tracks.append(self._track(stream))
            except (av.FFmpegError, ValueError, AttributeError) as exc:
                logger.warning("a track of {} can't be recorded: {}", stream.type, exc)
                if stream is video:
                    break
            else:
                self.streams.append(stream)
        self._places = {stream.index: place for place, stream in enumerate(self.streams)}
        self._opening = Opening(time.monotonic(), tuple(tracks), is_live)

    def take(self, packet: Packet[Any]) -> None:
        """Copy a packet of one of the tracks; what is empty, or of another, is nothing."""
        place = self._places.get(packet.stream_index)
        if place is None or not packet.size:
            return
        self._outlet.take(
            self._opening,
            EncodedPacket(
                track=place,
                data=bytes(packet),
                pts=packet.pts,
                dts=packet.dts,
                duration=packet.duration or 0,
                is_key=packet.is_keyframe,
                arrived_at=time.monotonic(),
                time=datetime.now(UTC),
            ),
        )

    def _track(self, stream: Any) -> Track:
        context = stream.codec_context
        is_video = stream.type == "video"
        return Track(
            kind=TrackKind.VIDEO if is_video else TrackKind.AUDIO,
            codec=context.name,
            time_base=stream.time_base or _MILLISECOND,
            size_wh=(context.width, context.height) if is_video else (0, 0),
            sample_rate=0 if is_video else context.sample_rate,
            parameters=bytes(context.extradata or b""),
            template=self._shelf.add_stream_from_template(stream, opaque=True),
        )


def tap_of(container: Any, video: Any, outlet: PacketOutlet | None, *, is_live: bool) -> Tap | None:
    """Return what hands a container's packets to an outlet, if there is one and it can be done."""
    tap = Tap(container, video, outlet, is_live=is_live) if outlet is not None else None
    return tap if tap is not None and tap.streams else None
