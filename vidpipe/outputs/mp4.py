"""One H.264 MP4 that grows safely (see ``growing``), its pictures encoded as they come.

There are no B-frames: each picture leaves the encoder with the next one, decoding order is display
order, and nothing waits in the encoder when the power fails.

One thread opens, writes and closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType
from av.video.stream import VideoStream

from vidpipe.errors import SinkError
from vidpipe.outputs.canvas import Canvas, CanvasFormat
from vidpipe.outputs.growing import GrowingFile, require_packets
from vidpipe.types import ColorMatrix, Pixels

LARGEST_SIDE_PX = 16_384
"""What x264 encodes at most."""

KEY_EVERY_S = 4
"""Seconds between the places that a player can jump to."""
_KEY_EVERY_FRAMES = 600
_MATRICES = {ColorMatrix.BT601: 6, ColorMatrix.BT709: 1, ColorMatrix.BT2020: 9}
"""ITU-T H.273, table 4."""
_PRIMARIES = {ColorMatrix.BT601: 1, ColorMatrix.BT709: 1, ColorMatrix.BT2020: 9}
_TRANSFER = 1
"""Tables 2 and 3, BT.709's: pictures don't carry theirs. A browser takes no word of the matrix and
the range where these are missing, and these are the ones that make it change nothing else."""
_LIMITED, _FULL = 1, 2
"""FFmpeg's AVColorRange."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How pictures are encoded.

    Attributes:
        preset: x264's preset: superfast costs least for surveillance pictures of usable size.
        crf: x264's constant rate factor; 18 is nearly transparent, 28 coarse.
        threads: Encoder threads; more than one only helps where streams are fewer than cores.
    """

    preset: str = "superfast"
    crf: float = 23.0
    threads: int = 1


def encoder_options(encoding: Encoding) -> dict[str, str]:
    """Return libx264's options in FFmpeg's words."""
    return {
        "preset": encoding.preset,
        "crf": f"{encoding.crf:g}",
        "threads": str(encoding.threads),
        "bf": "0",
        "rc-lookahead": "0",
        "g": str(_KEY_EVERY_FRAMES),
        "forced-idr": "1",
        "x264-params": "log-level=none",
    }


class Mp4File:
    """A file being written. ``canvas`` is the encoder's own buffer: draw there, then ``write``."""

    def __init__(
        self,
        wanted: Path,
        picture_format: CanvasFormat,
        *,
        stream: str,
        time_base: Fraction,
        rate_fps: float,
        encoding: Encoding | None = None,
    ) -> None:
        """Create the temporary file and the encoder.

        Args:
            wanted: The name in the end.
            picture_format: What the pictures have in common.
            stream: The stream's id, for messages.
            time_base: The unit of all times.
            rate_fps: Roughly, for the encoder's rate control; times are what counts.
            encoding: How to encode.

        Raises:
            SinkError: The file can't be created, or the size can't be encoded.
        """
        width, height = picture_format.size_wh
        if max(width, height) > LARGEST_SIDE_PX:
            raise SinkError(
                f"stream {stream}: {width}x{height} is more than H.264 holds "
                f"({LARGEST_SIDE_PX} pixels a side); set a smaller `scale` for this video"
            )
        self.time_base = time_base
        self.frame_count = 0
        self._key_due = 0
        self._base_key_ticks = round(KEY_EVERY_S / time_base)
        self._file = GrowingFile(wanted, stream=stream)
        with self._file.translated("opened"):
            try:
                self._open(picture_format, rate_fps, encoding or Encoding())
            except BaseException:
                self._file.discard()
                raise
        self._frame = av.VideoFrame(width, height, "yuv420p")
        self.canvas = canvas_on(self._frame, picture_format)

    def _open(self, wanted: CanvasFormat, rate_fps: float, encoding: Encoding) -> None:
        video: VideoStream = self._file.container.add_stream(
            "libx264",
            rate=Fraction(rate_fps).limit_denominator(1001),
            options=encoder_options(encoding),
        )
        video.width, video.height = wanted.size_wh
        video.pix_fmt = "yuv420p"
        video.time_base = self.time_base
        context: VideoCodecContext = video.codec_context
        context.time_base = self.time_base
        set_colors(context, wanted)
        context.open()
        self._video = video

    def write(self, ticks: int, shown_ticks: int) -> None:
        """Encode what is on the canvas.

        Args:
            ticks: When it is shown: at least 0, and later than the frame before.
            shown_ticks: For how long, should it be the last.

        Raises:
            SinkError: The disk is full, or the encoder fails.
        """
        frame = self._frame
        frame.pts, frame.time_base = ticks, self.time_base
        is_key = ticks >= self._key_due
        frame.pict_type = PictureType.I if is_key else PictureType.NONE
        if is_key:
            self._key_due = ticks + self._base_key_ticks
        with self._file.translated("written"):
            self._mux(frame, shown_ticks)
        self.frame_count += 1

    @property
    def path(self) -> Path:
        """The temporary name."""
        return self._file.path

    def sync(self) -> None:
        """Make durable what has been written."""
        self._file.sync()

    def finish(self, shown_ticks: int) -> Path:
        """Write what the encoder holds and the index, check the file, and give it its name.

        Raises:
            SinkError: Any of that fails; the message says where the part is.
        """
        return self._file.finish(lambda: self._mux(None, shown_ticks), self._check)

    def abandon(self) -> None:
        """Let go of everything native; the whole fragments stay, under their temporary name."""
        self._file.abandon()

    def _mux(self, frame: av.VideoFrame | None, shown_ticks: int) -> None:
        if not self._file.is_open:
            return
        for packet in self._video.encode(frame):
            packet.duration = shown_ticks
            self._file.container.mux(packet)
            self._file.note_growth()

    def _check(self, path: Path) -> None:
        """Raise unless the file on the disk has every frame that was encoded."""
        require_packets(path, self.frame_count)


def set_colors(context: VideoCodecContext, wanted: CanvasFormat) -> None:
    """Let the coded stream say how its RGB became YUV."""
    context.colorspace = _MATRICES[wanted.matrix]
    context.color_primaries = _PRIMARIES[wanted.matrix]
    context.color_trc = _TRANSFER
    context.color_range = _FULL if wanted.is_full_range else _LIMITED


def canvas_on(frame: av.VideoFrame, wanted: CanvasFormat) -> Canvas:
    """Return a frame's own planes as a canvas: x264 copies what it is given."""
    width, height = wanted.size_wh
    sizes = ((width, height), (width // 2, height // 2), (width // 2, height // 2))
    planes: list[Pixels] = []
    for plane, (plane_w, plane_h) in zip(frame.planes, sizes, strict=True):
        memory: Any = plane  # a buffer, though its stub doesn't say so
        rows = np.frombuffer(memory, np.uint8).reshape(-1, plane.line_size)
        planes.append(rows[:plane_h, :plane_w])
    return Canvas(planes[0], planes[1], planes[2], wanted)
