"""Which packets of one connection go to the decoder, and which are left out, and why."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from vidpipe.sources.leaping import Leap
from vidpipe.sources.skipping import DecodeMode, DecodePlan, PacketGate
from vidpipe.sources.vitals import Vitals


class TimedPacket(Protocol):
    """What is asked of a packet, which is PyAV's."""

    @property
    def dts(self) -> int | None:
        """Its time in the order of decoding, in ticks."""

    @property
    def time_base(self) -> Fraction | None:
        """Seconds of a tick."""

    @property
    def is_keyframe(self) -> bool:
        """It begins a group of pictures."""

    @property
    def is_corrupt(self) -> bool:
        """A part of it was lost on the way."""


class Sieve:
    """Told packet by packet, in the order of the connection; one thread.

    Attributes:
        leap: What is passed over since it is late.
        is_leaping: The last packet was.
        has_gaps: Not all that came was decoded.
    """

    def __init__(self, plan: DecodePlan, vitals: Vitals, frame_s: float, *, is_live: bool) -> None:
        """Begin a connection; what is left out is counted in ``vitals``.

        Args:
            plan: What is wanted of the video.
            vitals: Where what is left out is counted.
            frame_s: How far apart the pictures of a file are that has no times.
            is_live: Packets come in their own time.
        """
        self.leap = Leap(plan.share, is_live=is_live)
        self.is_leaping = False
        self.has_gaps = is_live or plan.mode is not DecodeMode.ALL
        self._gate = PacketGate(plan, awaits_key=is_live)
        self._vitals = vitals
        self._is_live = is_live
        self._frame_s = frame_s
        self._at_s = 0.0
        self._has_times = False
        self._overtaken = 0

    @property
    def mode(self) -> DecodeMode:
        """What is decoded now; never AUTO."""
        return self._gate.mode

    def holds(self, packet: TimedPacket) -> bool:
        """Return True if a packet's time may not be here yet, see ``Leap.holds``; asked first."""
        self._at_s = self._time_of(packet)
        return self.leap.holds(self._at_s, is_key=packet.is_keyframe)

    def admits(self, packet: TimedPacket) -> bool:
        """Tell whether a packet is to be decoded, or count why it was left out."""
        is_corrupt = packet.is_corrupt and self._is_live
        is_key = packet.is_keyframe
        if not self._gate.admits(self._at_s, is_key=is_key, is_corrupt=is_corrupt):
            self._vitals.skipped += 1
            return False
        self.is_leaping = self.leap.passes_over(self._at_s, is_key=is_key and not is_corrupt)
        if self.is_leaping:
            self._overtaken += 1
            self.has_gaps = True
            return False
        if self.mode is DecodeMode.KEY:
            self.leap.end_group()
        self.tell_overtaken()
        return True

    def tell_overtaken(self) -> None:
        """Count what was passed over: all pictures before it have been read."""
        self._vitals.overtaken += self._overtaken
        self._overtaken = 0

    def _time_of(self, packet: TimedPacket) -> float:
        """Return a packet's time in the order of decoding; one clock for a whole connection."""
        if packet.dts is not None and packet.time_base is not None:
            self._has_times = True
            return float(packet.dts * packet.time_base)
        if self._is_live and not self._has_times:
            return self._vitals.heard_at
        return self._at_s + self._frame_s
