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

    def __init__(self, plan: DecodePlan, vitals: Vitals, *, is_live: bool) -> None:
        """Begin a connection; what is left out is counted in ``vitals``."""
        self.leap = Leap(plan.share, is_live=is_live)
        self.is_leaping = False
        self.has_gaps = is_live or plan.mode is not DecodeMode.ALL
        self._gate = PacketGate(plan, awaits_key=is_live)
        self._vitals = vitals
        self._is_live = is_live

    @property
    def mode(self) -> DecodeMode:
        """What is decoded now; never AUTO."""
        return self._gate.mode

    def holds(self, packet: TimedPacket) -> bool:
        """Return True if a packet's time may not be here yet: see ``Leap.holds``."""
        return self.leap.holds(self._time_of(packet), is_key=packet.is_keyframe)

    def admits(self, packet: TimedPacket) -> bool:
        """Tell whether a packet is to be decoded, or count why it was left out."""
        at_s = self._time_of(packet)
        is_corrupt = packet.is_corrupt and self._is_live
        is_key = packet.is_keyframe
        self.is_leaping = self.leap.passes_over(at_s, is_key=is_key and not is_corrupt)
        if self.is_leaping:
            self._vitals.overtaken += 1
            self.has_gaps = True
            return False
        if self._gate.admits(at_s, is_key=is_key, is_corrupt=is_corrupt):
            return True
        self._vitals.skipped += 1
        return False

    def _time_of(self, packet: TimedPacket) -> float:
        """Return a packet's time in the order of decoding; where it says none, now."""
        if packet.dts is not None and packet.time_base is not None:
            return float(packet.dts * packet.time_base)
        return self._vitals.heard_at
