"""Whether a recorded file was read whole: what its container promises against what was found.

A truncated file ends like a whole one, so the end is compared with the promise: MP4's index names
every packet; Matroska, AVI and FLV say until when they last, which must be missed clearly unless
the file is known to be cut, since many durations are wrong. Where no end is promised, a file that
breaks off in the middle of its data is what there is to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

BROKE_OFF = "reading broke off"
"""In the words of a loss: the system gave no more of the file."""

_CLEAR_SHORTAGE_S = 1.0
_CLEAR_SHORTAGE_FRAMES = 2.0
_PACKETS_TO_SEAM = 2
"""FFmpeg marks the packet at hand, or the one before, when a broadcast's counters have a gap."""
_CUT_SHORTAGE_FRAMES = 0.75
"""Where the file is known to be cut: less than a frame, for the rounding of timestamps."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a container says before it is read.

    Attributes:
        packets: The number of video packets in its index, or None.
        frames: The number of frames in its header, for people; some of them may be repetitions.
        end_s: The time at which its last picture ends, in seconds, or None.
        is_cut: Whether the file breaks off in the middle; None where its bytes don't say.
        is_of_all: Whether ``end_s`` is the end of all streams, not of the video alone.
    """

    packets: int | None = None
    frames: int | None = None
    end_s: float | None = None
    is_cut: bool | None = None
    is_of_all: bool = False

    def grown_to(self, packets: int) -> Promise:
        """Return it with what the index names by now: a fragmented MP4 tells of its later parts."""
        if self.packets is None:
            return self
        return replace(self, packets=max(self.packets, packets))


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
    _gap_dts: int | None = None
    _gap_at: int = 0

    def note_end(self, ticks: int, duration: int | None, time_base: Fraction | None) -> None:
        """Take the time at which a packet begins, and how long it lasts, in ticks."""
        if time_base is not None:
            self.end_s = max(self.end_s, float((ticks + (duration or 0)) * time_base))

    def note_gap(self, dts: int | None) -> None:
        """Remember where the damaged packet that was counted last may be a seam."""
        self._gap_dts, self._gap_at = dts, self.packets

    def note_clock(self, dts: int) -> None:
        """Take a packet's decoding time: where the clock starts anew behind a gap, nothing is lost.

        There one recording ends, whole, and another begins.
        """
        if self._gap_dts is None:
            return
        if self.packets - self._gap_at > _PACKETS_TO_SEAM:
            self._gap_dts = None
        elif dts < self._gap_dts:
            self.damaged_packets -= 1
            self._gap_dts = None


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
    elif promise.is_cut:
        parts.append("the file breaks off in the middle")
    if tally.broke_off:
        parts.append(f"{BROKE_OFF}: {tally.broke_off}")
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
