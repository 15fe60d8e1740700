"""A sample of a camera in a file: its own packets, copied and not encoded, for so many seconds.

What a sample costs to decode is what the camera's stream costs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import av

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Clock
from vidpipe.sources.addresses import connect_network
from vidpipe.sources.declared import VideoLimits, choose_stream, is_endless

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

SUFFIX = ".mkv"
"""Matroska takes every codec that cameras send."""


def record_sample(
    url: str,
    target: Path,
    seconds: float,
    *,
    limits: VideoLimits | None = None,
    clock: Clock = time.monotonic,
) -> int:
    """Copy the video of a network source, from its first key frame on; return the packets copied.

    Args:
        url: The address, user name and password percent-encoded.
        target: The file, ending in ``SUFFIX``.
        seconds: How long, by the stream's timestamps or by the clock, whichever ends first.
        limits: Timeouts and transport.
        clock: Monotonic seconds.

    Raises:
        SourceError: It can't be opened or read, holds no video that can be copied, or sent nothing
            in that time. The text holds no password.
    """
    limits = limits or VideoLimits()
    container, name = connect_network(url, limits)
    count = 0
    try:
        stream = choose_stream(container, name)
        with av.open(str(target), "w", format="matroska") as out:
            copy = cast("VideoStream", out.add_stream_from_template(stream))
            # Opening may have taken seconds: the first packet is waited for as long as any other.
            until_s = clock() + seconds + limits.read_timeout_s
            packets = _from_key_frame(container, stream, seconds)
            if is_endless(container, url.partition(":")[0].lower()):
                packets = _but_the_last(packets)
            for packet in packets:
                packet.stream = copy
                out.mux(packet)
                count += 1
                if clock() > until_s:
                    break
    except (av.FFmpegError, OSError, ValueError) as exc:
        if not count:
            reason = getattr(exc, "strerror", None) or type(exc).__name__
            raise SourceError(
                f"{name}: no sample can be copied ({reason})", SourceCause.LOST
            ) from None
    finally:
        container.close()
    if not count:
        raise SourceError(f"{name}: no picture came within {seconds:g} s", SourceCause.TIMEOUT)
    return count


def _from_key_frame(container: InputContainer, stream: Any, seconds: float) -> Iterator[Any]:
    """Yield packets with their times from zero on, until so many seconds of video have come.

    A damaged one ends the sample, which is to be whole; before the first key frame it means
    nothing.
    """
    first: int | None = None
    packet: Packet[Any]
    for packet in container.demux(stream):
        if packet.dts is None or packet.pts is None or packet.time_base is None:
            continue  # of RTSP the first ones have no times; the last one is empty
        if first is None and (packet.is_corrupt or not packet.is_keyframe):
            continue
        first = packet.dts if first is None else first
        if packet.is_corrupt or float((packet.dts - first) * packet.time_base) > seconds:
            return
        packet.pts -= first
        packet.dts -= first
        yield packet


def _but_the_last(packets: Iterator[Any]) -> Iterator[Any]:
    """Yield what is followed by more: a camera that dies leaves its last packet broken off."""
    held = next(packets, None)
    for packet in packets:
        yield held
        held = packet
