"""The pushing sink: one stream's annotated pictures as H.264 to an RTSP or RTMP server.

Nothing is drawn or encoded while the server isn't there, or doesn't keep up: such results are
counted as lost. Every connection begins with a key frame, and at time 0.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
from av.codec.context import Flags
from av.error import FFmpegError
from av.video.frame import PictureType
from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.canvas import CanvasFormat, format_for, paint_picture
from vidpipe.outputs.link import Address, Link
from vidpipe.outputs.mp4 import Encoding, canvas_on, encoder_options, set_colors
from vidpipe.outputs.timeline import Thinning, Timeline
from vidpipe.types import FrameResult

_TIME_BASE = Fraction(1, 90_000)
_KEY_EVERY_S = 2
"""Seconds that who tunes in waits at most for the first picture."""


@dataclass(frozen=True, slots=True)
class PushOptions:
    """What was asked for.

    Attributes:
        url: Where to; holds secrets.
        scale: A factor above 0 and up to 1, or None for the source's size.
        fit_wh: A size to fit into, aspect kept, or None; wins over ``scale``.
        max_fps: The most frames a second, or None for all.
    """

    url: str
    scale: float | None = None
    fit_wh: tuple[int, int] | None = None
    max_fps: float | None = None

    def __repr__(self) -> str:
        """Show where to, without secrets."""
        return f"PushOptions({Address(self.url)})"


class _Encoder:
    """An encoder of one size; its ``stream`` describes what it makes."""

    def __init__(self, wanted: CanvasFormat, rate_fps: float) -> None:
        self._shelf: Any = av.open(io.BytesIO(), "w", format="null")
        options = encoder_options(Encoding()) | {"tune": "zerolatency"}
        self.stream: Any = self._shelf.add_stream(
            "libx264", rate=Fraction(rate_fps).limit_denominator(1001), options=options
        )
        self.stream.width, self.stream.height = wanted.size_wh
        self.stream.pix_fmt = "yuv420p"
        self.stream.time_base = _TIME_BASE
        context = self.stream.codec_context
        context.time_base = _TIME_BASE
        context.flags |= Flags.global_header
        set_colors(context, wanted)
        context.open()
        self._shelf.start_encoding()  # fills in what others read of the stream
        self._frame = av.VideoFrame(*wanted.size_wh, "yuv420p")
        self.canvas = canvas_on(self._frame, wanted)

    def encode(self, ticks: int, *, is_key: bool) -> list[Any]:
        """Encode what is on the canvas."""
        self._frame.pts, self._frame.time_base = ticks, _TIME_BASE
        self._frame.pict_type = PictureType.I if is_key else PictureType.NONE
        return list(self.stream.encode(self._frame))


class PushSink:
    """Implements ``Sink`` for one stream."""

    needs_picture = True

    def __init__(
        self,
        options: PushOptions,
        annotator: Annotator,
        *,
        stream: str,
        clock: Clock = time.monotonic,
        make_link: Callable[..., Link] = Link,
    ) -> None:
        """Connect to nothing yet.

        Args:
            options: What was asked for.
            annotator: Draws; this sink's own.
            stream: The stream's id.
            clock: Says when to remind of a server that is away.
            make_link: Connects.
        """
        self._options = options
        self._annotator = annotator
        self._stream = stream
        self._clock = clock
        self._make_link = make_link
        self._timeline: Timeline | None = None
        self._thinning: Thinning | None = None
        self._format: CanvasFormat | None = None
        self._encoder: _Encoder | None = None
        self._link: Link | None = None
        self._connections = 0
        """Of links that are gone."""
        self._connection = 0
        self._base_ticks = 0
        self._key_due = 0
        self._losses = 0

    @property
    def connections(self) -> int:
        """How often the server has been reached."""
        return self._connections + (self._link.connections if self._link is not None else 0)

    def take_losses(self) -> int:
        """Return how many results were not sent since the last call."""
        losses, self._losses = self._losses, 0
        return losses

    def write(self, result: FrameResult) -> None:
        """Draw, encode and send one result, if the server is there.

        Raises:
            SinkError: It can't be encoded.
        """
        frame = result.frame
        if self._timeline is None or self._thinning is None:
            self._timeline = Timeline(frame)
            self._thinning = Thinning(self._options.max_fps, self._timeline.time_base)
        own_ticks = self._timeline.place(frame)
        if not self._thinning.should_keep(own_ticks):
            return
        ticks = round(own_ticks * self._timeline.time_base / _TIME_BASE)
        options = self._options
        wanted = format_for(frame.picture, scale=options.scale, fit_wh=options.fit_wh)
        try:
            self._send(result, ticks, *self._parts_for(wanted))
        except (FFmpegError, ValueError) as exc:
            raise SinkError(
                f"stream {self._stream}: the picture for {Address(options.url)} can't be encoded: "
                f"{getattr(exc, 'strerror', None) or exc}"
            ) from None

    def close(self) -> list[str]:
        """Part from the server; there are no files. A second call does nothing.

        Raises:
            SinkError: There never was a connection.
        """
        link, self._link = self._link, None
        if link is None:
            return []
        self._part(link)
        if not self._connections:
            raise SinkError(
                f"stream {self._stream}: {Address(self._options.url)} was never reached "
                f"({link.last_error or 'no answer'}): check the address and the server"
            )
        return []

    def _parts_for(self, wanted: CanvasFormat) -> tuple[_Encoder, Link]:
        """Return encoder and connection; another size needs others."""
        if self._encoder is None or self._link is None or wanted != self._format:
            if self._link is not None:
                self._part(self._link)
            assert self._timeline is not None
            rate_fps = float(1 / (self._timeline.usual_gap * self._timeline.time_base))
            self._encoder = _Encoder(wanted, max(1.0, min(rate_fps, 240.0)))
            self._link = self._make_link(
                Address(self._options.url),
                self._encoder.stream,
                stream=self._stream,
                clock=self._clock,
            )
            self._format, self._connection = wanted, 0
        return self._encoder, self._link

    def _part(self, link: Link) -> None:
        if not link.stop():
            logger.bind(stream=self._stream).info(
                "{} holds its connection, which is left behind", Address(self._options.url)
            )
        self._connections += link.connections

    def _send(self, result: FrameResult, ticks: int, encoder: _Encoder, link: Link) -> None:
        if not link.has_room:
            self._losses += 1
            self._key_due = ticks  # what follows can't refer to what is missing
            return
        if link.connections != self._connection:
            self._connection = link.connections
            self._base_ticks = self._key_due = ticks
        paint_picture(encoder.canvas, result.frame.picture)
        self._annotator.draw(encoder.canvas, result)
        is_key = ticks >= self._key_due
        if is_key:
            self._key_due = ticks + round(_KEY_EVERY_S / _TIME_BASE)
        for packet in encoder.encode(ticks, is_key=is_key):
            packet.pts -= self._base_ticks
            packet.dts -= self._base_ticks
            if not link.put(packet):
                self._losses += 1
                self._key_due = ticks
