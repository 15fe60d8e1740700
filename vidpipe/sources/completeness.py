"""Whether a recorded file was read whole: what its container promises against what was found.

A truncated file ends like a whole one, so the end is compared with the promise. Three kinds:
MP4's index names every packet; Matroska and AVI say how many bytes long they are, and until when
they last; where only a duration is known, it must be missed clearly, since many are wrong.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
_MOST_CHUNKS = 10_000
_CLEAR_SHORTAGE_S = 1.0
_CLEAR_SHORTAGE_FRAMES = 2.0
_CUT_SHORTAGE_FRAMES = 0.75
"""Where the file is known to be cut: less than a frame, for the rounding of timestamps."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a container says before it is read.

    Attributes:
        packets: The number of video packets in its index, or None.
        frames: The number of frames in its header, for people; some of them may be repetitions.
        end_s: The time at which its last picture ends, in seconds, or None.
        is_cut: Whether the file is shorter than it says; None where it doesn't say.
        is_of_all: Whether ``end_s`` is the end of all streams, not of the video alone.
    """

    packets: int | None = None
    frames: int | None = None
    end_s: float | None = None
    is_cut: bool | None = None
    is_of_all: bool = False


@dataclass(slots=True)
class Tally:
    """What was found so far; the reader's thread counts here.

    Attributes:
        packets: Video packets.
        pictures: Pictures returned.
        damaged_packets: Packets that couldn't be read or decoded.
        damaged_pictures: Pictures that the decoder returned as damaged.
        end_s: The latest end of a packet, in seconds.
        broke_off: Why reading ended early, or empty.
    """

    packets: int = 0
    pictures: int = 0
    damaged_packets: int = 0
    damaged_pictures: int = 0
    end_s: float = 0.0
    broke_off: str = ""


def loss(promise: Promise, tally: Tally, frame_s: float) -> str | None:
    """Return in words what was lost, or None where all was read.

    Args:
        promise: What the container said.
        tally: What was found up to the end.
        frame_s: How long a picture lasts, in seconds.
    """
    parts: list[str] = []
    if promise.packets is not None and tally.packets < promise.packets:
        parts.append(
            f"the container promises {_count(promise.packets, 'frame')}, "
            f"{tally.pictures} could be read"
        )
    elif promise.packets is None and promise.end_s is not None:
        short_s = promise.end_s - tally.end_s
        if short_s > _tolerance_s(promise.is_cut, frame_s):
            frames = f" ({_count(promise.frames, 'frame')})" if promise.frames else ""
            parts.append(
                f"the container promises {promise.end_s:.2f} s{frames}, it ends after "
                f"{tally.end_s:.2f} s ({_count(tally.pictures, 'frame')} could be read)"
            )
    if tally.broke_off:
        parts.append(f"reading broke off: {tally.broke_off}")
    if tally.damaged_packets:
        parts.append(f"{_count(tally.damaged_packets, 'packet')} damaged")
    if tally.damaged_pictures:
        parts.append(f"{_count(tally.damaged_pictures, 'picture')} damaged")
    if parts and not parts[0].startswith("the container"):
        parts.insert(0, f"{_count(tally.pictures, 'frame')} could be read")
    return "; ".join(parts) or None


def _tolerance_s(is_cut: bool | None, frame_s: float) -> float:  # noqa: FBT001 - three states
    if is_cut is None:
        return max(_CLEAR_SHORTAGE_S, _CLEAR_SHORTAGE_FRAMES * frame_s)
    return _CUT_SHORTAGE_FRAMES * frame_s if is_cut else float("inf")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_file_cut(path: Path) -> bool | None:
    """Tell whether a Matroska, WebM or AVI file is shorter than its own header says.

    Returns None for other files, for a length that was never filled in (a recording that was not
    closed), and for a file that can't be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic = file.read(4)
            if magic == _EBML:
                return _is_matroska_cut(file, size)
            if magic == b"RIFF":
                return _is_riff_cut(file, size)
    except OSError:
        return None
    return None


def _is_matroska_cut(file: BinaryIO, size: int) -> bool | None:
    """Source: RFC 8794 (EBML): element sizes are variable integers, all ones means unknown."""
    header_size = _variable_integer(file)
    if header_size is None:
        return None
    file.seek(header_size, os.SEEK_CUR)
    if file.read(4) != _SEGMENT:
        return None
    segment_size = _variable_integer(file)
    return None if segment_size is None else file.tell() + segment_size > size


def _variable_integer(file: BinaryIO) -> int | None:
    first = file.read(1)
    if not first or first[0] == 0:
        return None
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    bits = 7 * length
    value = int.from_bytes(first + rest, "big") & ((1 << bits) - 1)
    return None if len(rest) < length - 1 or value == (1 << bits) - 1 else value


def _is_riff_cut(file: BinaryIO, size: int) -> bool | None:
    """Large AVI files are several RIFF chunks, one after the other (OpenDML)."""
    offset = 0
    for _ in range(_MOST_CHUNKS):
        file.seek(offset)
        head = file.read(8)
        if len(head) < 8 or head[:4] != b"RIFF":
            return False
        length = int.from_bytes(head[4:], "little")
        if length in (0, 0xFFFFFFFF):
            return None
        offset += 8 + length
        if offset > size:
            return True
        offset += length % 2
    return False
