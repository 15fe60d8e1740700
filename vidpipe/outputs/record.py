"""The recording sink: one stream's own packets, copied and never encoded, in files that are cut.

Every file begins with a key frame, and a new one with the first key frame behind a boundary, with
another codec or size, or after a gap. Times begin at 0 in each file and keep the source's steps.
What failed is left under its temporary name; the next key frame begins a new file.

No packet, no file. The thread that writes also closes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import floor

from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.copied import CopiedFile
from vidpipe.outputs.finished import FinishedFiles
from vidpipe.outputs.growing import SYNC_EVERY_S
from vidpipe.outputs.naming import path_from_template, utc_now
from vidpipe.outputs.packetclock import PacketClock, Stand
from vidpipe.outputs.segments import segment_of
from vidpipe.packets import EncodedPacket, Opening, Track, TrackKind

MOST_FRAMES_IN_A_LIVE_FILE = 500_000
"""The index of a file being written is held in memory: without segments, a camera that is left
alone for months goes on in a new file."""
_LONGEST_GAP_S = 10
"""After so long without video a new file begins."""
_AUDIO_BEFORE_S = Fraction(-1, 10)
"""Audio that belongs to a moment so long before a file's first picture is not in it."""
_EARLY_MOST = 16
"""Packets of audio that may belong to a first picture and come before it."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What a recording was asked for.

    Attributes:
        template: The path, with ``{stream}``, ``{start}`` (UTC of the file's first packet) and
            ``{n}`` (the file's number from 1); its ending says which container.
        segment_s: A new file begins at multiples of this many seconds, on the clock for a live
            source and of the recording itself for another; or None.
    """

    template: str
    segment_s: float | None = None


class RecordSink:
    """Writes one stream's packets; implements ``PacketSink``."""

    def __init__(
        self,
        options: RecordOptions,
        *,
        stream: str,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Open nothing yet.

        Args:
            options: What was asked for.
            stream: The stream's id.
            clock: Says when to sync.
            wall_clock: Gives ``{start}`` of a recorded source.
        """
        self._options = options
        self._stream = stream
        self._clock = clock
        self._wall_clock = wall_clock
        self._axis = PacketClock()
        self._file: CopiedFile | None = None
        self._opening: Opening | None = None
        self._awaits_key = True
        self._segment = 0
        self._base_s = Fraction(0)
        self._last_s = Fraction(0)
        self._file_count = 0
        self._synced_at = 0.0
        self._finished = FinishedFiles("record", stream)
        self._has_named_audio = False
        self._early: deque[tuple[Opening, EncodedPacket]] = deque(maxlen=_EARLY_MOST)

    def write(self, opening: Opening, packet: EncodedPacket) -> None:
        """Write one packet, from the first key frame on.

        Raises:
            SinkError: A file can't be opened, written or finished; the next key frame begins
                another.
        """
        if opening is not self._opening:
            self._opening, self._awaits_key = opening, True
        track = opening.tracks[packet.track]
        is_video = track.kind is TrackKind.VIDEO
        if self._file is None and not is_video:
            self._early.append((opening, packet))
            return
        stand = self._axis.place(opening, packet)
        if stand is None:
            return
        try:
            if is_video and packet.is_key:
                self._turn(opening, packet, stand)
            if self._file is not None and not self._awaits_key:
                self._write(self._file, track, packet, stand)
                self._write_early(self._file)
        except SinkError:
            self._let_go()
            raise
        if is_video:
            self._last_s = stand.dts_s

    def close(self) -> list[str]:
        """Finish the file; return the paths of the last finished ones. May be written to again.

        Raises:
            SinkError: The file can't be finished.
        """
        self._awaits_key = True
        try:
            self._finish()
        except SinkError:
            self._let_go()
            raise
        return self._finished.take()

    def _turn(self, opening: Opening, packet: EncodedPacket, stand: Stand) -> None:
        """At a key frame: begin a new file where one is due."""
        segment = self._segment_of(opening, packet, stand)
        if self._file is not None:
            is_full = opening.is_live and self._file.frame_count >= MOST_FRAMES_IN_A_LIVE_FILE
            is_apart = stand.dts_s - self._last_s > _LONGEST_GAP_S
            is_same = (self._file.tracks, self._segment) == (opening.tracks, segment)
            if not is_same or is_full or is_apart:
                self._finish()
        if self._file is None:
            self._open(opening, packet, stand)
        self._segment = segment
        self._awaits_key = False

    def _segment_of(self, opening: Opening, packet: EncodedPacket, stand: Stand) -> int:
        if self._options.segment_s is None:
            return 0
        if opening.is_live:
            return segment_of(packet.time, self._options.segment_s)
        return int(stand.pts_s / Fraction(self._options.segment_s).limit_denominator(1_000_000))

    def _open(self, opening: Opening, packet: EncodedPacket, stand: Stand) -> None:
        start = packet.time if opening.is_live else self._wall_clock()
        self._file_count += 1
        path = path_from_template(
            self._options.template, stream=self._stream, start=start, number=self._file_count
        )
        self._file = CopiedFile(path, opening.tracks, stream=self._stream)
        self._base_s = stand.pts_s
        self._synced_at = self._clock()
        if self._file.left_out and not self._has_named_audio:
            self._has_named_audio = True
            logger.bind(stream=self._stream).warning(
                "{} doesn't hold {} audio, which is left out of the recording: end its path in {}",
                path.suffix,
                " and ".join(self._file.left_out),
                ".mov" if self._file.left_out[0].startswith("pcm") else ".mkv",
            )

    def _write(self, file: CopiedFile, track: Track, packet: EncodedPacket, stand: Stand) -> None:
        dts_s = stand.dts_s - self._base_s
        if track.kind is TrackKind.AUDIO and dts_s < _AUDIO_BEFORE_S:
            return
        file.write(
            packet,
            _ticks(stand.pts_s - self._base_s, track.time_base),
            _ticks(dts_s, track.time_base),
        )
        if self._clock() - self._synced_at >= SYNC_EVERY_S:
            file.sync()
            self._synced_at = self._clock()

    def _write_early(self, file: CopiedFile) -> None:
        """Write the sound of a first picture that came before it."""
        while self._early:
            opening, packet = self._early.popleft()
            stand = self._axis.place(opening, packet) if opening is self._opening else None
            if stand is not None:
                self._write(file, opening.tracks[packet.track], packet, stand)

    def _finish(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._finished.add(file.finish())

    def _let_go(self) -> None:
        """After a failure: what is whole stays under its temporary name."""
        file, self._file = self._file, None
        self._awaits_key = True
        if file is not None:
            file.abandon()


def _ticks(seconds: Fraction, time_base: Fraction) -> int:
    return floor(seconds / time_base + Fraction(1, 2))
