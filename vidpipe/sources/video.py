"""Files, HTTP and RTSP through FFmpeg's libraries (PyAV): the only place that decodes with them.

Guarantees: pictures keep the decoder's planes, as read-only views, wherever those are 8-bit 4:2:0;
everything that can be decoded is returned before an error says what was lost; opening and reading
hold their timeouts; no text of FFmpeg's leaves this module with a password in it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import av.error
from av.stream import Discard

from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.completeness import Promise, Tally, loss
from vidpipe.sources.connection import cause_of_error, gave_up_early, is_timeout
from vidpipe.sources.container import reason_of
from vidpipe.sources.declared import (
    RAW_FORMATS,
    UNPROMISING_FORMATS,
    Place,
    VideoLimits,
    choose_stream,
    info_of,
    promise_of,
)
from vidpipe.sources.leaping import Leap
from vidpipe.sources.planes import clockwise_deg, picture_of
from vidpipe.sources.sieve import Sieve
from vidpipe.sources.skipping import DecodeMode
from vidpipe.sources.spans import SpanGate, packets_of
from vidpipe.sources.tap import Tap, tap_of
from vidpipe.sources.timestamps import Timeline
from vidpipe.sources.vitals import Vitals
from vidpipe.types import Decoded, Picture, SourceInfo

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_MOST_READ_ERRORS = 100
"""Unreadable packets in a row after which the rest of a file is given up."""

_NO_PICTURE_S = 30.0
"""Live packets that give no picture for so long are no video; long groups of pictures fit in."""


def prepare(container: InputContainer, place: Place, limits: VideoLimits) -> VideoReader:
    """Choose the stream and start the decoder; the container is closed if that fails.

    Raises:
        SourceError: There is no video that can be decoded (cause FORMAT), or a recorded network
            source failed at once.
    """
    try:
        return VideoReader(container, choose_stream(container, place.name), place, limits)
    except BaseException:
        container.close()
        raise


class VideoReader:
    """An open video, decoded by one thread; made by ``prepare``."""

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        place: Place,
        limits: VideoLimits,
    ) -> None:
        """Take over the container; a recorded source decodes its first picture now."""
        self._container = container
        self._stream = stream
        self._place = place
        self._read_timeout_s = limits.read_timeout_s
        self._span = limits.span
        self._part = SpanGate(limits.span)
        self._is_raw = container.format.name in RAW_FORMATS
        is_whole = not place.is_live and limits.span is None
        self._promise = promise_of(container, stream, place.path) if is_whole else Promise()
        self._tally = Tally()
        self._ready: deque[VideoFrame] = deque()
        self._read_errors = 0
        self._silence_s = 0.0
        self._has_ended = False
        self._failure: SourceError | None = None
        self._is_closed = False
        self._vitals = Vitals(heard_at=time.monotonic())
        self._last_ticks: int | None = None
        self._coded_wh = (0, 0)
        context = stream.codec_context
        context.thread_count = limits.thread_count
        if limits.thread_count != 1:
            context.thread_type = "AUTO"
        self._info = info_of(container, stream, place, self._promise)
        start = stream.start_time
        self._timeline = Timeline(
            stream.time_base or Fraction(1, 90_000),
            self._info.rate_fps,
            float(start * stream.time_base) if start and stream.time_base else 0.0,
        )
        self._frame_s = 1.0 / self._info.rate_fps if self._info.rate_fps else 0.04
        self._sieve = Sieve(limits.plan, self._vitals, self._frame_s, is_live=place.is_live)
        if self._sieve.mode is DecodeMode.REFERENCE:
            context.skip_frame = "NONREF"
        self._tap: Tap | None = tap_of(container, stream, limits.packets, is_live=place.is_live)
        self._held: Packet[Any] | None = None
        self._packets = self._demux()
        if not place.is_live:
            self._prime()

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself; a live one's rotation is known with its first picture."""
        return self._info

    @property
    def vitals(self) -> Vitals:
        """Its signs of life, kept up to date."""
        return self._vitals

    def read(self) -> Decoded | None:
        """Return the next picture; see ``interfaces.Reader``.

        Raises:
            SourceError: TIMEOUT if a network source was silent, LOST if a live one ended or broke,
                INCOMPLETE at the end of a recorded one that was damaged or cut, FORMAT if pictures
                can't be decoded.
        """
        if self._is_closed:
            raise SourceError(f"{self._place.name} is closed", SourceCause.LOST)
        self._fill()
        if self._ready:
            return self._decoded(self._ready.popleft())
        self._sieve.tell_overtaken()
        if not self._vitals.is_holding:
            self._finish()
        return None

    def close(self) -> None:
        """Release the decoder and the connection; pictures that were returned stay valid."""
        if self._is_closed:
            return
        self._is_closed = True
        self._ready.clear()
        with suppress(av.FFmpegError, OSError):  # it may be gone already
            self._container.close()

    @property
    def leap(self) -> Leap:
        """See ``CanLeap``."""
        return self._sieve.leap

    def _fill(self) -> None:
        """Decode until a picture is ready or the source has ended."""
        started_at = time.monotonic()
        self._vitals.is_holding = False
        while not self._ready and not self._has_ended and not self._vitals.is_holding:
            self._advance()
            if (
                self._place.is_live
                and not self._ready
                and time.monotonic() - started_at > _NO_PICTURE_S
                and self._sieve.mode is not DecodeMode.KEY
            ):
                raise SourceError(
                    f"{self._place.name} sends data, but no picture that can be decoded for "
                    f"{_NO_PICTURE_S:g} s",
                    SourceCause.FORMAT,
                )

    def _demux(self) -> Iterator[Packet[Any]]:
        """Read packets of the video, and of the rest only where the end of all is promised."""
        needs_all = self._promise.is_of_all
        wanted = [self._stream] if self._tap is None else self._tap.streams
        for stream in self._container.streams:
            if stream not in wanted and not needs_all:
                stream.discard = Discard.all
        if self._span is not None:
            return packets_of(self._container, self._stream, self._span, self._place.name)
        return self._container.demux() if needs_all else self._container.demux(wanted)

    def _advance(self) -> None:
        """Read one packet and decode it."""
        packet = self._next_packet()
        if packet is None:
            return
        if self._tap is not None:
            self._tap.take(packet)  # before any skipping or decoding
        ticks = packet.pts if packet.pts is not None else packet.dts
        is_other = packet.stream.index != self._stream.index
        is_promised = self._promise.end_s is not None and (self._promise.is_of_all or not is_other)
        if is_promised and ticks is not None:
            self._tally.note_end(ticks, packet.duration, packet.time_base)
        if is_other:
            return
        if packet.size:
            self._tally.packets += 1
            self._vitals.heard_at = time.monotonic()
            was_leaping = self._sieve.is_leaping
            if self._sieve.admits(packet):
                self._decode(packet)
            elif self._sieve.is_leaping and not was_leaping:
                self._drain()  # what the decoder holds would come behind the leap, and be late
        elif ticks is not None:
            self._tally.packets += 1  # AVI's way of showing the last picture again
        else:
            self._flush()

    def _next_packet(self) -> Packet[Any] | None:
        """Return the next packet; None if there is none, or its time may not be here yet."""
        asked_at = time.monotonic()
        try:
            packet = next(self._packets) if self._held is None else self._held
        except StopIteration:
            self._flush()  # a part's last packet isn't the stream's
            self._has_ended = True
            return None
        except (av.FFmpegError, OSError) as exc:
            self._on_read_error(exc, time.monotonic() - asked_at)
            return None
        self._vitals.waited_s += time.monotonic() - asked_at
        self._read_errors = 0
        self._silence_s = 0.0
        is_ours = packet.stream.index == self._stream.index
        if is_ours and self._held is None and self._sieve.holds(packet):
            self._held, self._vitals.is_holding = packet, True
            return None
        self._held = None
        return packet

    def _decode(self, packet: Packet[Any]) -> None:
        if self._tally.packets == 1 and packet.has_sidedata("encryption_info"):
            # Now and then a decoder makes a picture of it.
            raise SourceError(f"{self._place.name} is encrypted: decrypt it", SourceCause.FORMAT)
        if packet.dts is not None:
            self._tally.note_clock(packet.dts)
        try:
            self._take(self._stream.codec_context.decode(packet))
            if self._sieve.mode is DecodeMode.KEY:
                # What follows is skipped: the decoder would hold this one back until the next.
                self._drain()
        except av.FFmpegError:
            self._note_damage()
            return
        # Cut off, or a gap in a broadcast's counters behind it.
        if packet.is_corrupt and self._note_damage():
            self._tally.note_gap(packet.dts)

    def _take(self, frames: list[VideoFrame]) -> None:
        """Keep what was decoded; of a live source nothing that is damaged."""
        if self._place.is_live:
            intact = [frame for frame in frames if not frame.is_corrupt]
            self._vitals.discarded += len(frames) - len(intact)
            frames = intact
        self._ready.extend(self._part.admit(frames, self._tally))

    def _flush(self) -> None:
        """Take what the decoder still holds; damage there must not hide the rest."""
        for _ in range(_MOST_READ_ERRORS):
            try:
                self._take(self._stream.codec_context.decode(None))
            except EOFError:
                return
            except av.FFmpegError:
                self._note_damage()
            else:
                return

    def _drain(self) -> None:
        """Take what the decoder still holds, and let it begin anew with the next key frame."""
        self._flush()
        self._stream.codec_context.flush_buffers()

    def _note_damage(self) -> bool:
        """Count a damaged packet; False if nothing is lost by it."""
        # A broadcast or a raw stream may begin between two key frames: nothing is lost by that.
        is_beginning = not self._tally.pictures and not self._ready
        is_cut = self._is_raw or self._container.format.name in UNPROMISING_FORMATS
        is_loss = not (is_beginning and is_cut)
        self._tally.damaged_packets += is_loss
        return is_loss

    def _on_read_error(self, exc: Exception, elapsed_s: float) -> None:
        """Go on behind a damaged packet of a recorded source; anything else ends the reading."""
        name = self._place.name
        is_invalid = isinstance(exc, av.error.InvalidDataError)
        self._silence_s += elapsed_s
        is_silence = cause_of_error(exc) is SourceCause.TIMEOUT or is_timeout(
            self._silence_s, self._read_timeout_s
        )
        is_remote = self._place.is_live and not self._place.is_local and not self._read_errors
        if is_remote and gave_up_early(elapsed_s, self._silence_s, self._read_timeout_s):
            self._read_errors += 1
            self._packets = self._demux()
            return
        if is_silence and not self._place.is_local:
            self._failure = SourceError(
                f"{name}: nothing came for {self._read_timeout_s:g} s", SourceCause.TIMEOUT
            )
        elif self._place.is_live:
            self._failure = SourceError(
                f"{name}: the connection broke ({reason_of(exc) or 'invalid data'})",
                SourceCause.LOST,
            )
        elif is_invalid and self._span is None and self._read_errors < _MOST_READ_ERRORS:
            self._read_errors += 1
            self._tally.damaged_packets += 1
            self._packets = self._demux()  # an exception ends a generator
            return
        else:
            self._tally.broke_off = reason_of(exc) or "it can't be read any further"
        self._has_ended = True
        self._flush()  # what the decoder still holds was sent before the failure

    def _prime(self) -> None:
        """Decode the first picture, which alone knows the rotation and proves the codec.

        Raises:
            SourceError: There is none (cause FORMAT).
        """
        self._fill()
        if not self._ready:
            if self._failure is not None:
                raise self._failure
            raise SourceError(
                f"no picture of {self._place.name} could be decoded: it is damaged, encrypted, or "
                "no video",
                SourceCause.FORMAT,
            )
        self._learn(self._ready[0])

    def _learn(self, frame: VideoFrame) -> None:
        rotation_deg = clockwise_deg(frame)
        size_wh = (frame.width, frame.height)
        width, height = size_wh[::-1] if rotation_deg in (90, 270) else size_wh
        self._info = replace(self._info, width=width, height=height, rotation_deg=rotation_deg)

    def _decoded(self, frame: VideoFrame) -> Decoded:
        tally = self._tally
        if self._place.is_live:
            self._look(frame)
        # A stream may begin with pictures whose references lie before its beginning.
        is_intact = not frame.is_corrupt
        if (is_intact or tally.pictures) and not self._sieve.has_gaps:
            tally.damaged_pictures += not is_intact
        tally.pictures += 1
        picture = self._picture(frame)
        if self._is_raw:
            return Decoded(picture, None, None)
        return Decoded(picture, *self._timeline.place(frame.pts, frame.dts, frame.duration))

    def _look(self, frame: VideoFrame) -> None:
        """Learn the size of a live source, which may change, and whether its clock runs."""
        size_wh = (frame.width, frame.height)
        if size_wh != self._coded_wh:
            self._coded_wh = size_wh
            self._learn(frame)
        is_still = frame.pts is not None and frame.pts == self._last_ticks
        self._vitals.clock_repeats = self._vitals.clock_repeats + 1 if is_still else 0
        self._last_ticks = frame.pts

    def _picture(self, frame: VideoFrame) -> Picture:
        try:
            return picture_of(frame)
        except (av.FFmpegError, OSError) as exc:
            raise SourceError(
                f"{self._place.name}: its pixel format {frame.format.name} can't be converted "
                f"({reason_of(exc)})",
                SourceCause.FORMAT,
            ) from None

    def _finish(self) -> None:
        """End the source, once all that was decoded has been returned.

        Raises:
            SourceError: Reading failed, something is missing, or it is live and has no end.
        """
        if self._failure is not None:
            raise self._failure
        if self._place.is_live:
            raise SourceError(
                f"{self._place.name}: the other side ended the stream", SourceCause.LOST
            )
        promise = self._promise.grown_to(len(self._stream.index_entries))
        lost = loss(promise, self._tally, self._frame_s)
        if lost is not None:
            raise SourceError(f"{self._place.name} is incomplete: {lost}", SourceCause.INCOMPLETE)
