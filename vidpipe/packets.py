"""Coded media on its way from a source to who stores it: whole packets, never decoded or changed.

The source's reader hands over each packet as it has read it, before any decoding and before any
skipping: recording needs no decoder, and goes on while frames are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol


class TrackKind(StrEnum):
    """What a track holds."""

    VIDEO = "video"
    AUDIO = "audio"


@dataclass(frozen=True, slots=True)
class Track:
    """One track of an open source. Two are equal if one file can hold the packets of both.

    Attributes:
        kind: Video or audio.
        codec: The codec's short name, such as ``h264``.
        time_base: The unit of its packets' times, in seconds.
        size_wh: Coded width and height in pixels; (0, 0) of audio.
        sample_rate: Samples a second; 0 of video.
        parameters: The codec's parameter sets, as the container gives them; may be empty.
        template: The muxing library's own description, which belongs to no open source: opaque
            here, and only read by who muxes.
    """

    kind: TrackKind
    codec: str
    time_base: Fraction
    size_wh: tuple[int, int] = (0, 0)
    sample_rate: int = 0
    parameters: bytes = b""
    template: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """One opening of a source; its identity tells it from the next one.

    Attributes:
        opened_at: Monotonic seconds.
        tracks: The video first, then what audio there is.
        is_live: True if the source can't wait and has no end of its own.
    """

    opened_at: float
    tracks: tuple[Track, ...]
    is_live: bool


@dataclass(frozen=True, slots=True)
class EncodedPacket:
    """One packet.

    Attributes:
        track: Its place among the opening's tracks.
        data: A copy of its bytes.
        pts: When it is shown, in the track's unit, or None.
        dts: When it is decoded, likewise.
        duration: How long it is shown, in the track's unit; 0 if unknown.
        is_key: True if decoding can begin with it.
        arrived_at: Monotonic seconds.
        time: Aware UTC of the arrival.
    """

    track: int
    data: bytes = field(repr=False)
    pts: int | None
    dts: int | None
    duration: int
    is_key: bool
    arrived_at: float
    time: datetime


class PacketOutlet(Protocol):
    """Where a source's packets go. The capture's thread calls it."""

    def take(self, opening: Opening, packet: EncodedPacket) -> None:
        """Take a packet, in the order of the source; never raises.

        Of a live source it never waits; of a recorded one it waits for room.
        """
