"""Coded media for tests: clips with sound, and their packets as a source hands them over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from vidpipe.packets import EncodedPacket, Opening
from vidpipe.sources.tap import Tap

START = datetime(2026, 11, 30, 5, 9, 58, 200_000, tzinfo=UTC)
RATE_FPS = 25


def write_clip(
    path: Path,
    frames: int = 100,
    *,
    audio: str | None = "aac",
    key_every: int = 25,
    b_frames: int = 0,
    size_wh: tuple[int, int] = (64, 48),
    container_format: str | None = None,
) -> Path:
    """Write H.264 at 25 frames a second that changes from frame to frame, and perhaps sound."""
    options = {"g": str(key_every), "bf": str(b_frames), "preset": "ultrafast", "sc_threshold": "0"}
    with av.open(str(path), "w", format=container_format) as container:
        video: Any = container.add_stream("libx264", rate=RATE_FPS, options=options)
        video.width, video.height = size_wh
        video.pix_fmt = "yuv420p"
        sample_rate = 8000 if (audio or "").startswith("pcm") else 48_000
        sound: Any = None
        if audio is not None:
            sound = container.add_stream(audio, rate=sample_rate, layout="mono")
        for number in range(frames):
            luma = np.full((size_wh[1], size_wh[0], 3), 2 * number % 250, np.uint8)
            frame = av.VideoFrame.from_ndarray(luma, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE_FPS)
            container.mux(video.encode(frame))
            if sound is not None:
                count = sample_rate // RATE_FPS
                wave: Any = np.zeros((1, count), np.int16)
                part: Any = av.AudioFrame.from_ndarray(wave, format="s16", layout="mono")
                part.sample_rate, part.pts = sample_rate, number * count
                part.time_base = Fraction(1, sample_rate)
                container.mux(sound.encode(part))
        container.mux(video.encode(None))
        if sound is not None:
            container.mux(sound.encode(None))
    return path


@dataclass
class PacketList:
    """Keeps what it is handed; implements ``PacketOutlet``."""

    items: list[tuple[Opening, EncodedPacket]] = field(default_factory=list)

    def take(self, opening: Opening, packet: EncodedPacket) -> None:
        """Keep it."""
        self.items.append((opening, packet))


def packets_of(
    path: Path, *, is_live: bool = True, start: datetime = START, arrived_at: float = 100.0
) -> list[tuple[Opening, EncodedPacket]]:
    """Return a clip's packets as if they arrived at the pace of its times."""
    outlet = PacketList()
    with av.open(str(path)) as container:
        tap = Tap(container, container.streams.video[0], outlet, is_live=is_live)
        for packet in container.demux(tap.streams):
            tap.take(packet)
    return [
        (opening, _arriving(opening, packet, start, arrived_at)) for opening, packet in outlet.items
    ]


def _arriving(
    opening: Opening, packet: EncodedPacket, start: datetime, arrived_at: float
) -> EncodedPacket:
    ticks = packet.dts if packet.dts is not None else 0
    seconds = float(ticks * opening.tracks[packet.track].time_base)
    return EncodedPacket(
        track=packet.track,
        data=packet.data,
        pts=packet.pts,
        dts=packet.dts,
        duration=packet.duration,
        is_key=packet.is_key,
        arrived_at=arrived_at + seconds,
        time=start + timedelta(seconds=seconds),
    )


@dataclass(frozen=True)
class Stored:
    """What a decoder's library finds in a file: bytes and times, track by track."""

    kinds: tuple[str, ...]
    data: dict[str, list[bytes]]
    times_s: dict[str, list[float]]
    first_is_key: bool
    decoded: int


def stored_in(path: Path | str) -> Stored:
    """Demux and decode a file."""
    data: dict[str, list[bytes]] = {}
    times_s: dict[str, list[float]] = {}
    keys = []
    with av.open(str(path)) as container:
        kinds = tuple(stream.type for stream in container.streams)
        for packet in _whole(container):
            kind = packet.stream.type
            data.setdefault(kind, []).append(bytes(packet))
            times_s.setdefault(kind, []).append(float(packet.pts * packet.time_base))
            if kind == "video":
                keys.append(packet.is_keyframe)
    with av.open(str(path)) as container:
        decoded = sum(1 for _ in container.decode(video=0))
    return Stored(kinds, data, times_s, keys[0], decoded)


def _whole(container: Any) -> Iterator[Any]:
    return (packet for packet in container.demux() if packet.size)
