"""Where a recorded file can be divided: its key frames, found by reading its packets, not decoding.

Only files are divided whose parts are known to give the same pictures as the whole: containers with
an index and true timestamps, codecs of one picture a packet, nothing missing. For any other the
reason is told, and it is read in one piece.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.addresses import connect_file
from vidpipe.sources.completeness import Tally, loss
from vidpipe.sources.container import reason_of
from vidpipe.sources.declared import choose_stream, promise_of
from vidpipe.sources.files import shown
from vidpipe.sources.spans import Span

_CONTAINERS = ("mov,", "matroska,")
_CODECS = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4", "mjpeg", "prores", "dnxhd", "ffv1"})
_FRAME_S = 0.04


@dataclass(frozen=True, slots=True)
class KeyFrame:
    """A key frame at which a file can be divided.

    Attributes:
        ticks: Its timestamp in the stream's units.
        seconds: The same in seconds, as results have it.
        frames_before: How many pictures are shown before it.
        seconds_before: The time of the last one of those.
        packet: Its place in the order of decoding, from 0.
        packets_before: How many packets hold all that is shown before it.
    """

    ticks: int
    seconds: float
    frames_before: int
    seconds_before: float
    packet: int
    packets_before: int


@dataclass(frozen=True, slots=True)
class KeyFrames:
    """What reading a file's packets has shown.

    Attributes:
        keys: Where it can be divided, in order; the file's beginning is not among them.
        frames: How many pictures it has; 0 where it can't be divided.
        end_s: The time of its last picture.
        reason: Why it is not divided; empty where it can be.
    """

    keys: tuple[KeyFrame, ...] = ()
    frames: int = 0
    end_s: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class _Packets:
    """The packets of one stream, in the order of decoding."""

    pts: array[int] = field(default_factory=lambda: array("q"))
    is_key: array[int] = field(default_factory=lambda: array("b"))
    is_shown: array[int] = field(default_factory=lambda: array("b"))
    tally: Tally = field(default_factory=Tally)
    fault: str = ""


def find_key_frames(path: Path, *, least_s: float = 0.0) -> KeyFrames:
    """Read a file's packets, once and without decoding any.

    Args:
        path: The file.
        least_s: One that says to be shorter isn't read: dividing it isn't worth it.

    Raises:
        SourceError: It can't be opened, or has no video; or reading it failed.
    """
    container = connect_file(path)
    try:
        stream = choose_stream(container, shown(path))
        reason = _refusal(container, stream)
        if not reason and (container.duration or 0) / 1e6 < least_s:
            reason = "it is short"
        if reason:
            return KeyFrames(reason=reason)
        promise = promise_of(container, stream, path)
        packets = _read(container, stream)
        promise = promise.grown_to(len(stream.index_entries))
        lost = packets.fault or loss(promise, packets.tally, _FRAME_S)
        if lost:
            return KeyFrames(reason=lost)
        return _found(packets, stream.time_base)
    except (av.FFmpegError, OSError) as exc:
        reason = reason_of(exc) or "invalid data"
        raise SourceError(f"{shown(path)}: {reason}", SourceCause.INCOMPLETE) from None
    finally:
        container.close()


def span_between(start: KeyFrame | None, end: KeyFrame | None) -> Span:
    """Return the part from a key frame (None: the beginning) to another (None: the end)."""
    if end is None:
        return Span(start.ticks if start else None)
    first = start.packet if start else 0
    return Span(start.ticks if start else None, end.ticks, end.packets_before - first)


def _refusal(container: Any, stream: Any) -> str:
    """Return why a file isn't worth reading: seeking in its kind isn't exact."""
    name: str = container.format.name
    codec: str = stream.codec_context.codec.canonical_name
    if not name.startswith(_CONTAINERS):
        return f"{name} has no index to rely on"
    if codec not in _CODECS:
        return f"{codec} may hold pictures that are never shown"
    return "" if stream.time_base else "it has no timestamps"


def _read(container: Any, stream: Any) -> _Packets:
    found = _Packets()
    for packet in container.demux(stream):
        if packet.pts is None and packet.dts is None and not packet.size:
            continue  # the end
        if packet.pts is None or not packet.size:
            found.fault = "a packet has no timestamp" if packet.size else "a packet is empty"
            break
        if packet.is_corrupt:
            found.fault = "a packet is damaged"
            break
        found.pts.append(packet.pts)
        found.is_key.append(packet.is_keyframe and not packet.is_discard)
        found.is_shown.append(not packet.is_discard)
        found.tally.packets += 1
        found.tally.note_end(packet.pts, packet.duration, packet.time_base)
    return found


def _found(packets: _Packets, time_base: Fraction) -> KeyFrames:
    pts: NDArray[np.int64] = np.array(packets.pts, np.int64)
    shown_pts = np.sort(pts[np.array(packets.is_shown, np.bool_)])
    if len(shown_pts) < 2:
        return KeyFrames(reason="it is too short")
    if (np.diff(shown_pts) == 0).any():
        return KeyFrames(reason="two pictures have the same timestamp")

    def seconds(ticks: int) -> float:
        return ticks * time_base.numerator / time_base.denominator  # as the timeline reckons

    latest = np.maximum.accumulate(pts)
    earliest_from = np.minimum.accumulate(pts[::-1])[::-1]
    keys = []
    for index in np.flatnonzero(np.array(packets.is_key, np.bool_)):
        ticks = int(pts[index])
        if index == 0 or ticks <= latest[index - 1]:
            continue  # something before it is shown after it: no place to divide
        before = int(np.searchsorted(shown_pts, ticks))
        if before == 0:
            continue
        keys.append(
            KeyFrame(
                ticks,
                seconds(ticks),
                frames_before=before,
                seconds_before=seconds(int(shown_pts[before - 1])),
                packet=int(index),
                packets_before=int(np.searchsorted(earliest_from, ticks)),
            )
        )
    return KeyFrames(tuple(keys), len(shown_pts), seconds(int(shown_pts[-1])))
