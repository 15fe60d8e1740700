"""The sound of a recording, put back to its annotated video: copied where MP4 holds it, else AAC.

The video's own packets are copied, too: nothing of it is encoded again.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import av
from av.audio.resampler import AudioResampler

from vidpipe.errors import SinkError

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer, OutputContainer

_COPIED = frozenset({"aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"})
"""What MP4 holds."""


def add_sound(video: Path, recording: Path, target: Path) -> bool:
    """Write a video with the sound of a recording that it was made of, on the same clock.

    Args:
        video: The annotated video; its timestamps are the recording's.
        recording: Where the sound is.
        target: The file to write, whole and on the disk; overwritten.

    Returns:
        False if the recording has no sound: nothing is written then.

    Raises:
        SinkError: It can't be read or written.
    """
    try:
        with (
            av.open(f"file:{recording.absolute()}", metadata_errors="replace") as heard,
            av.open(f"file:{video.absolute()}") as seen,
        ):
            sound = heard.streams.best("audio")
            if sound is None or sound.codec_context is None:
                return False
            _write(seen, heard, cast("AudioStream", sound), target)
    except (av.FFmpegError, OSError, ValueError) as exc:
        target.unlink(missing_ok=True)
        reason = getattr(exc, "strerror", None) or type(exc).__name__
        raise SinkError(f"{recording}: its sound can't be put to its video ({reason})") from exc
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return True


def _write(seen: InputContainer, heard: InputContainer, sound: AudioStream, target: Path) -> None:
    picture = seen.streams.video[0]
    options = {"movflags": "faststart"}
    with av.open(f"file:{target.absolute()}", "w", format="mp4", options=options) as out:
        pictures = out.add_stream_from_template(picture)
        extent_s = _extent(picture)
        name = sound.codec_context.codec.canonical_name
        sounds = (
            _copied(heard, sound, out, extent_s)
            if name in _COPIED
            else _encoded(heard, sound, out, extent_s)
        )
        for _, packet in heapq.merge(_video(seen, picture, pictures), sounds, key=itemgetter(0)):
            out.mux(packet)


Timed: TypeAlias = tuple[float, Any]
"""When a packet is due, and the packet."""


def _extent(picture: Any) -> tuple[float, float]:
    """Return when the video begins and ends, in seconds."""
    start = float((picture.start_time or 0) * picture.time_base)
    return start, start + float((picture.duration or 0) * picture.time_base)


def _video(seen: InputContainer, picture: Any, target: Any) -> Iterator[Timed]:
    for packet in seen.demux(picture):
        if packet.dts is not None and packet.time_base is not None:
            due_s = float(packet.dts * packet.time_base)
            packet.stream = target
            yield due_s, packet


def _copied(
    heard: InputContainer, sound: AudioStream, out: OutputContainer, extent_s: tuple[float, float]
) -> Iterator[Timed]:
    target = out.add_stream_from_template(sound)

    def packets() -> Iterator[Timed]:
        for packet in heard.demux(sound):
            if packet.dts is None or packet.pts is None or packet.time_base is None:
                continue
            at_s = float(packet.pts * packet.time_base)
            if extent_s[0] <= at_s < extent_s[1]:
                packet.stream = target
                yield at_s, packet

    return packets()


def _encoded(
    heard: InputContainer, sound: AudioStream, out: OutputContainer, extent_s: tuple[float, float]
) -> Iterator[Timed]:
    rate = sound.codec_context.sample_rate or 48_000
    layout = "mono" if sound.codec_context.layout.nb_channels == 1 else "stereo"
    target = out.add_stream("aac", rate=rate, layout=layout)
    resampler = AudioResampler(format="fltp", layout=layout, rate=rate)

    def packets() -> Iterator[Timed]:
        for frame in heard.decode(sound):
            if frame.time is None or not extent_s[0] <= frame.time < extent_s[1]:
                continue
            for ready in resampler.resample(frame):
                yield from _timed(target.encode(ready))
        yield from _timed(target.encode(None))

    return packets()


def _timed(packets: list[Any]) -> Iterator[Timed]:
    for packet in packets:
        base = packet.time_base or Fraction(1, 48_000)
        yield float((packet.pts or 0) * base), packet
