"""Where each packet of a source stands on one axis of time, over jumps, reconnects and loops.

The source's own steps are kept to the tick. Where they can't be believed (its clock was set, it was
opened again, it has no times), the axis goes on by the time between the arrivals. Decoding times
always grow, track by track.

Pure policy: one thread, no clock of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vidpipe.packets import EncodedPacket, Opening, Track, TrackKind

_LIVE_JUMP_S = 10
"""How far a camera's clock may be ahead of or behind the arrivals."""
_RECORDED_BACK_S, _RECORDED_AHEAD_S = 1, 3600
"""Steps of a recorded source within these are believed."""
_USUAL_STEP_S = Fraction(1, 25)
_AUDIO_APART_S = 10
"""Audio so far from the video has another clock, and no place."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a packet stands, in seconds of the axis."""

    pts_s: Fraction
    dts_s: Fraction


class PacketClock:
    """Places the packets of one stream, in order."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.mended_count = 0
        self._opening: Opening | None = None
        self._shift_s: Fraction | None = None
        """What is added to a source's time; None until a packet of video with a time has come."""
        self._last_s = Fraction(0)
        """Where the last packet of video stands."""
        self._last_raw_s = Fraction(0)
        self._last_arrived_at = 0.0
        self._has_begun = False
        self._last_dts: dict[int, Fraction] = {}

    def place(self, opening: Opening, packet: EncodedPacket) -> Stand | None:
        """Return where a packet stands, or None if it has no place: audio without its video."""
        if opening is not self._opening:
            self._opening, self._shift_s = opening, None
        track = opening.tracks[packet.track]
        raw_dts, raw_pts = _raw(packet, track)
        if track.kind is TrackKind.AUDIO:
            return self._place_audio(packet.track, track, raw_pts, raw_dts)
        if raw_dts is None or raw_pts is None:
            stand = Stand(*(2 * [self._by_arrival(packet, opening)]))
            self._shift_s = None  # the next time is anchored here
        else:
            if self._shift_s is None or self._has_jumped(opening, packet, raw_dts):
                self.mended_count += self._shift_s is not None
                target_s = self._by_arrival(packet, opening)
                self._shift_s = target_s - (raw_dts if self._has_begun else raw_pts)
            stand = Stand(raw_pts + self._shift_s, raw_dts + self._shift_s)
            self._last_raw_s = raw_dts
        stand = self._ordered(packet.track, track, stand)
        self._has_begun = True
        self._last_s, self._last_arrived_at = stand.dts_s, packet.arrived_at
        return stand

    def _place_audio(
        self, place: int, track: Track, raw_pts: Fraction | None, raw_dts: Fraction | None
    ) -> Stand | None:
        if self._shift_s is None or raw_pts is None or raw_dts is None:
            return None
        stand = Stand(raw_pts + self._shift_s, raw_dts + self._shift_s)
        if abs(stand.dts_s - self._last_s) > _AUDIO_APART_S:
            return None
        return self._ordered(place, track, stand)

    def _by_arrival(self, packet: EncodedPacket, opening: Opening) -> Fraction:
        """Return where a packet goes whose own time says nothing."""
        if not self._has_begun:
            return Fraction(0)
        if not opening.is_live:
            return self._last_s + _USUAL_STEP_S
        gone_s = Fraction(packet.arrived_at - self._last_arrived_at).limit_denominator(1000)
        return self._last_s + max(gone_s, Fraction(1, 1000))

    def _has_jumped(self, opening: Opening, packet: EncodedPacket, raw_s: Fraction) -> bool:
        step_s = raw_s - self._last_raw_s
        if not opening.is_live:
            return not -_RECORDED_BACK_S <= step_s <= _RECORDED_AHEAD_S
        arrived_s = packet.arrived_at - self._last_arrived_at
        return abs(float(step_s) - arrived_s) > _LIVE_JUMP_S

    def _ordered(self, place: int, track: Track, stand: Stand) -> Stand:
        """Move a packet behind the one before of its track, if it isn't there."""
        last = self._last_dts.get(place)
        if last is not None and stand.dts_s < last + track.time_base:
            self.mended_count += 1
            dts_s = last + track.time_base
            stand = Stand(max(stand.pts_s, dts_s), dts_s)
        self._last_dts[place] = stand.dts_s
        return stand


def _raw(packet: EncodedPacket, track: Track) -> tuple[Fraction | None, Fraction | None]:
    """Return decoding and showing time in seconds, each standing in for the other."""
    dts = packet.dts if packet.dts is not None else packet.pts
    pts = packet.pts if packet.pts is not None else packet.dts
    if dts is None or pts is None:
        return None, None
    return dts * track.time_base, pts * track.time_base
