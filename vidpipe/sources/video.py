"""Files, HTTP and RTSP through FFmpeg's libraries (PyAV): the only place that decodes with them.

Guarantees: pictures keep the decoder's planes, as read-only views, wherever those are 8-bit 4:2:0;
everything that can be decoded is returned before an error says what was lost; opening and reading
hold their timeouts; no text of FFmpeg's leaves this module with a password in it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import av.error
from av.stream import Discard

from vidpipe.errors import SourceCause, SourceError
from vidpipe.runtime.logs import redact
from vidpipe.runtime.supervisor import call_with_deadline
from vidpipe.sources.completeness import Promise, Tally, loss
from vidpipe.sources.connection import (
    cause_of_error,
    classify_open_failure,
    endpoint_of,
    failure,
    is_timeout,
    require_resolvable,
)
from vidpipe.sources.declared import (
    RAW_FORMATS,
    choose_stream,
    declared_rate_fps,
    duration_s_of,
    is_endless,
    promise_of,
    recorded_at_of,
)
from vidpipe.sources.files import file_error, require_file, shown
from vidpipe.sources.planes import clockwise_deg, picture_of
from vidpipe.sources.timestamps import Timeline
from vidpipe.types import Decoded, Picture, SourceInfo, SourceKind

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_UNPROMISING_FORMATS = ("mpegts", "mpeg")
"""Containers that are cut anywhere by nature: damage before the first picture means nothing."""

_MOST_READ_ERRORS = 100
"""Unreadable packets in a row after which the rest of a file is given up."""

_NO_PICTURE_S = 30.0
"""Live packets that give no picture for so long are no video; long groups of pictures fit in."""

_PROBE_S = 0.5
_INNER_SHARE = 0.95
"""FFmpeg's own timeout comes first, so that its thread ends; the deadline is for what ignores it.
"""

_RTSP = ("rtsp", "rtsps")
_HTTP = ("http", "https")


@dataclass(frozen=True, slots=True)
class VideoLimits:
    """How to read one video.

    Attributes:
        open_timeout_s: Longest time to open a network source.
        read_timeout_s: Longest silence of a network source.
        transport: Of RTSP: ``tcp`` or ``udp``.
        thread_count: Decoder threads; 0 lets FFmpeg choose.
    """

    open_timeout_s: float = 5.0
    read_timeout_s: float = 5.0
    transport: str = "tcp"
    thread_count: int = 1


def open_file(
    path: Path, *, is_live: bool = False, limits: VideoLimits | None = None
) -> VideoReader:
    """Open a recorded file, decoding its first picture.

    Args:
        path: Any path: special characters in it mean nothing to FFmpeg here.
        is_live: Its end is a loss (a pipe that a camera program writes to).
        limits: Only the thread count counts, and for a pipe the opening time.

    Raises:
        SourceError: It is missing (NOT_FOUND), may not be read (REFUSED), or is not a video that
            can be decoded (FORMAT).
    """
    limits = limits or VideoLimits()
    require_file(path)

    def connect() -> InputContainer:
        name = f"file:{path.absolute()}"
        try:
            name.encode()
        except UnicodeEncodeError:  # a name in no encoding: the system knows another one for it
            with path.open("rb") as file:
                return av.open(
                    f"file:/proc/self/fd/{file.fileno()}", "r", metadata_errors="replace"
                )
        return av.open(name, "r", metadata_errors="replace")

    try:
        if path.is_file():
            container = connect()
        else:  # the other end of a pipe may never come
            container = call_with_deadline(connect, limits.open_timeout_s, "vp-open", _close)
    except TimeoutError:
        raise SourceError(
            f"{shown(path)}: nothing came within {limits.open_timeout_s:g} s", SourceCause.TIMEOUT
        ) from None
    except (av.FFmpegError, OSError) as exc:
        raise file_error(path, exc, _reason(exc)) from None
    return _prepare(
        container,
        _Place(shown(path), SourceKind.FILE, is_live=is_live, path=path, is_local=True),
        limits,
    )


def open_network(
    url: str, *, is_live: bool | None = None, limits: VideoLimits | None = None
) -> VideoReader:
    """Open an ``http(s)://``, ``rtsp(s)://``, ``rtmp://``, ``udp://`` or ``srt://`` address.

    Args:
        url: The address; user name and password percent-encoded.
        is_live: Whether its end is a loss. None decides: HTTP is recorded where the server says
            how long the resource is (HLS: where the playlist has an end), all else is live.
        limits: Timeouts, transport and threads.

    Raises:
        SourceError: With the cause as far as a probe of the address can tell. After
            ``open_timeout_s`` and half a second for the probe at the latest.
    """
    limits = limits or VideoLimits()
    started_at = time.monotonic()
    timeout_s = limits.open_timeout_s
    endpoint = endpoint_of(url)
    if endpoint is not None:
        require_resolvable(endpoint, url, timeout_s)
    scheme = url.partition(":")[0].lower()
    left_s = max(0.1, timeout_s - (time.monotonic() - started_at))
    try:
        container = call_with_deadline(
            lambda: _connect(url, scheme, left_s, limits), left_s, "vp-open", _close
        )
    except (av.FFmpegError, OSError, UnicodeError) as exc:
        hint = cause_of_error(exc)
        cause = classify_open_failure(
            hint=hint,
            elapsed_s=time.monotonic() - started_at,
            timeout_s=timeout_s,
            endpoint=endpoint,
            probe_s=min(_PROBE_S, timeout_s),
        )
        raise failure(url, cause) from None
    if is_live is None:
        is_live = is_endless(container, scheme)
    place = _Place(redact(url), SourceKind.NETWORK, is_live=is_live, path=None, is_local=False)
    return _prepare(container, place, limits)


def _connect(url: str, scheme: str, timeout_s: float, limits: VideoLimits) -> InputContainer:
    inner_s = timeout_s * _INNER_SHARE
    options: dict[str, str] = {}
    if scheme in _RTSP:
        # FFmpeg tries a silent RTSP peer twice: half of the timeout gives the whole.
        options = {
            "rtsp_transport": limits.transport,
            "allowed_media_types": "video",
            "analyzeduration": "500000",  # microseconds; the default takes 2 s to open
        }
        timeouts = (inner_s, limits.read_timeout_s / 2)
    else:
        timeouts = (inner_s, limits.read_timeout_s)
        if scheme in _HTTP:
            options = {
                "reconnect": "1",  # resumes what has a known length; a live stream is opened anew
                "reconnect_delay_max": "2",
            }
    return av.open(url, "r", container_options=options, timeout=timeouts, metadata_errors="replace")


def _close(container: InputContainer) -> None:
    container.close()


def _reason(exc: Exception) -> str:
    """Return what FFmpeg says beyond "invalid data", without the address that it says it of."""
    if isinstance(exc, av.error.InvalidDataError):
        return ""
    return redact(str(getattr(exc, "strerror", None) or type(exc).__name__))


@dataclass(frozen=True, slots=True)
class _Place:
    """What is being read, for messages and decisions; ``name`` holds no secret."""

    name: str
    kind: SourceKind
    is_live: bool
    path: Path | None
    is_local: bool


def _prepare(container: InputContainer, place: _Place, limits: VideoLimits) -> VideoReader:
    """Choose the stream and start the decoder; the container is closed if that fails."""
    try:
        return VideoReader(container, choose_stream(container, place.name), place, limits)
    except BaseException:
        container.close()
        raise


class VideoReader:
    """An open video, decoded by one thread; made by ``open_file`` and ``open_network``."""

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        place: _Place,
        limits: VideoLimits,
    ) -> None:
        """Take over the container; a recorded source decodes its first picture now."""
        self._container = container
        self._stream = stream
        self._place = place
        self._read_timeout_s = limits.read_timeout_s
        self._is_raw = container.format.name in RAW_FORMATS
        self._promise = Promise() if place.is_live else promise_of(container, stream, place.path)
        self._tally = Tally()
        self._ready: deque[VideoFrame] = deque()
        self._read_errors = 0
        self._has_ended = False
        self._failure: SourceError | None = None
        self._is_closed = False
        context = stream.codec_context
        context.thread_count = limits.thread_count
        if limits.thread_count != 1:
            context.thread_type = "AUTO"
        self._info = _info_of(container, stream, place, self._promise)
        start = stream.start_time
        self._timeline = Timeline(
            stream.time_base or Fraction(1, 90_000),
            self._info.rate_fps,
            float(start * stream.time_base) if start and stream.time_base else 0.0,
        )
        self._frame_s = 1.0 / self._info.rate_fps if self._info.rate_fps else 0.04
        self._packets = self._demux()
        if not place.is_live:
            self._prime()

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself; a live one's rotation is known with its first picture."""
        return self._info

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
        self._finish()
        return None

    def close(self) -> None:
        """Release the decoder and the connection; pictures that were returned stay valid."""
        if self._is_closed:
            return
        self._is_closed = True
        self._ready.clear()
        try:
            self._container.close()
        except (av.FFmpegError, OSError):
            return  # gone already

    def _fill(self) -> None:
        """Decode until a picture is ready or the source has ended."""
        started_at = time.monotonic()
        while not self._ready and not self._has_ended:
            self._advance()
            if (
                self._place.is_live
                and not self._ready
                and time.monotonic() - started_at > _NO_PICTURE_S
            ):
                raise SourceError(
                    f"{self._place.name} sends data, but no picture that can be decoded for "
                    f"{_NO_PICTURE_S:g} s",
                    SourceCause.FORMAT,
                )

    def _demux(self) -> Iterator[Packet[Any]]:
        """Read packets of the video, and of the rest only where the end of all is promised."""
        needs_all = self._promise.is_of_all
        for stream in self._container.streams:
            if stream.index != self._stream.index and not needs_all:
                stream.discard = Discard.all
        return self._container.demux() if needs_all else self._container.demux(self._stream)

    def _advance(self) -> None:
        """Read one packet and decode it."""
        asked_at = time.monotonic()
        try:
            packet = next(self._packets)
        except StopIteration:
            self._has_ended = True
            return
        except (av.FFmpegError, OSError) as exc:
            self._on_read_error(exc, time.monotonic() - asked_at)
            return
        self._read_errors = 0
        has_time = packet.pts is not None or packet.dts is not None
        if self._promise.end_s is not None and has_time:
            self._note_end(packet)
        if packet.stream_index != self._stream.index:
            return
        if packet.size:
            self._tally.packets += 1
            self._decode(packet)
        elif has_time:
            self._tally.packets += 1  # AVI's way of showing the last picture again
        else:
            self._flush()

    def _note_end(self, packet: Packet[Any]) -> None:
        ticks = packet.pts if packet.pts is not None else packet.dts
        if ticks is not None and packet.time_base is not None:
            end_s = float((ticks + (packet.duration or 0)) * packet.time_base)
            self._tally.end_s = max(self._tally.end_s, end_s)

    def _decode(self, packet: Packet[Any]) -> None:
        is_damaged = packet.is_corrupt  # cut off, or a gap in a broadcast's counters
        try:
            self._ready.extend(self._stream.codec_context.decode(packet))
        except av.FFmpegError:
            is_damaged = True
        if is_damaged:
            self._note_damage()

    def _flush(self) -> None:
        """Take what the decoder still holds; damage there must not hide the rest."""
        for _ in range(_MOST_READ_ERRORS):
            try:
                self._ready.extend(self._stream.codec_context.decode(None))
            except EOFError:
                return
            except av.FFmpegError:
                self._note_damage()
            else:
                return

    def _note_damage(self) -> None:
        # A broadcast or a raw stream may begin between two key frames: nothing is lost by that.
        is_beginning = not self._tally.pictures and not self._ready
        name = self._container.format.name
        if not (is_beginning and (self._is_raw or name in _UNPROMISING_FORMATS)):
            self._tally.damaged_packets += 1

    def _on_read_error(self, exc: Exception, elapsed_s: float) -> None:
        """Go on behind a damaged packet of a recorded source; anything else ends the reading."""
        name = self._place.name
        is_invalid = isinstance(exc, av.error.InvalidDataError)
        is_silence = cause_of_error(exc) is SourceCause.TIMEOUT or is_timeout(
            elapsed_s, self._read_timeout_s
        )
        if is_silence and not self._place.is_local:
            self._failure = SourceError(
                f"{name}: nothing came for {self._read_timeout_s:g} s", SourceCause.TIMEOUT
            )
        elif self._place.is_live:
            self._failure = SourceError(
                f"{name}: the connection broke ({_reason(exc) or 'invalid data'})",
                SourceCause.LOST,
            )
        elif is_invalid and self._read_errors < _MOST_READ_ERRORS:
            self._read_errors += 1
            self._tally.damaged_packets += 1
            self._packets = self._demux()  # an exception ends a generator
            return
        else:
            self._tally.broke_off = _reason(exc) or "it can't be read any further"
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
        if not tally.pictures and self._place.is_live:
            self._learn(frame)
        # A stream may begin with pictures whose references lie before its beginning.
        is_intact = not frame.is_corrupt
        if is_intact or tally.pictures:
            tally.damaged_pictures += not is_intact
        tally.pictures += 1
        picture = self._picture(frame)
        if self._is_raw:
            return Decoded(picture, None, None)
        return Decoded(picture, *self._timeline.place(frame.pts, frame.dts, frame.duration))

    def _picture(self, frame: VideoFrame) -> Picture:
        try:
            return picture_of(frame)
        except (av.FFmpegError, OSError) as exc:
            raise SourceError(
                f"{self._place.name}: its pixel format {frame.format.name} can't be converted "
                f"({_reason(exc)})",
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
        promise = self._promise
        if promise.packets is not None:
            # A fragmented MP4 has told of its later parts meanwhile.
            known = max(promise.packets, len(self._stream.index_entries))
            promise = replace(promise, packets=known)
        lost = loss(promise, self._tally, self._frame_s)
        if lost is not None:
            raise SourceError(f"{self._place.name} is incomplete: {lost}", SourceCause.INCOMPLETE)


def _info_of(
    container: InputContainer, stream: VideoStream, place: _Place, promise: Promise
) -> SourceInfo:
    is_raw = container.format.name in RAW_FORMATS
    is_live = place.is_live
    return SourceInfo(
        kind=place.kind,
        is_live=is_live,
        codec=stream.codec_context.codec.canonical_name,
        width=stream.width,
        height=stream.height,
        rate_fps=declared_rate_fps(stream, is_raw=is_raw),
        time_base=None if is_raw else stream.time_base,
        frame_count=None if is_live else promise.packets or stream.frames or None,
        duration_s=None if is_live or is_raw else duration_s_of(container, stream),
        recorded_at=None if is_live else recorded_at_of(container.metadata, stream.metadata),
    )
