"""One H.264 MP4 that grows safely: fragmented while it is written, an ordinary file at the end.

Every second of pictures is a fragment of its own, flushed and synced, so a cut-off at any moment
costs the last second or two and leaves a playable file under its temporary name. At the end the
same bytes get an ordinary index (FFmpeg's ``hybrid_fragmented``), are synced, demuxed and counted,
and only then does the file get its name.

There are no B-frames: each picture leaves the encoder with the next one, decoding order is display
order, and nothing waits in the encoder when the power fails.

One thread opens, writes and closes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.container import OutputContainer
from av.error import FFmpegError
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType
from av.video.stream import VideoStream

from vidpipe.errors import SinkError
from vidpipe.outputs.canvas import Canvas, CanvasFormat
from vidpipe.outputs.naming import open_temporary, publish
from vidpipe.types import ColorMatrix, Pixels

SYNC_EVERY_S = 1.0
LARGEST_SIDE_PX = 16_384
"""What x264 encodes at most."""

_KEY_EVERY_S = 4
"""Seconds between the places that a player can jump to."""
_KEY_EVERY_FRAMES = 600
_CHECKED_WHOLE_BYTES, _CHECKED_WHOLE_FRAMES = 512_000_000, 50_000
"""A larger file is checked by its index and last packets: reading it all would hold the stop."""
_MATRICES = {ColorMatrix.BT601: 6, ColorMatrix.BT709: 1, ColorMatrix.BT2020: 9}
"""ITU-T H.273, table 4."""
_PRIMARIES = {ColorMatrix.BT601: 1, ColorMatrix.BT709: 1, ColorMatrix.BT2020: 9}
_TRANSFER = 1
"""Tables 2 and 3, BT.709's: pictures don't carry theirs. A browser takes no word of the matrix and
the range where these are missing, and these are the ones that make it change nothing else."""
_HEAD_BYTES = 1 << 16
"""More than the header of a file with one video stream."""
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
        self._wanted = wanted
        self._stream = stream
        self.path = wanted
        self.time_base = time_base
        self.frame_count = 0
        self._key_due = 0
        self._base_key_ticks = round(_KEY_EVERY_S / time_base)
        self._container: OutputContainer | None = None
        self._descriptor = -1
        self._whole_bytes = 0
        width, height = picture_format.size_wh
        if max(width, height) > LARGEST_SIDE_PX:
            raise SinkError(
                f"stream {stream}: {width}x{height} is more than H.264 holds "
                f"({LARGEST_SIDE_PX} pixels a side); set a smaller `scale` for this video"
            )
        with self._translated("opened"):
            self._descriptor, self.path = open_temporary(wanted, is_suffix_last=True)
            try:
                self._open(picture_format, rate_fps, encoding or Encoding())
            except BaseException:
                self.abandon()
                self.path.unlink(missing_ok=True)
                raise
        self._frame = av.VideoFrame(width, height, "yuv420p")
        self.canvas = _canvas_on(self._frame, picture_format)

    def _open(self, wanted: CanvasFormat, rate_fps: float, encoding: Encoding) -> None:
        self._container = av.open(
            f"file:{self.path}",
            "w",
            format="mp4",
            options={
                # The header waits for the first fragment: written at once, it has a wrong edit
                # list, or forgets that a recording starts later than 0.
                "movflags": "hybrid_fragmented+delay_moov",
                "frag_duration": "1000000",
                "flush_packets": "1",
            },
        )
        video: VideoStream = self._container.add_stream(
            "libx264",
            rate=Fraction(rate_fps).limit_denominator(1001),
            options={
                "preset": encoding.preset,
                "crf": f"{encoding.crf:g}",
                "threads": str(encoding.threads),
                "bf": "0",
                "rc-lookahead": "0",
                "g": str(_KEY_EVERY_FRAMES),
                "forced-idr": "1",
                "x264-params": "log-level=none",
            },
        )
        video.width, video.height = wanted.size_wh
        video.pix_fmt = "yuv420p"
        video.time_base = self.time_base
        context: VideoCodecContext = video.codec_context
        context.time_base = self.time_base
        context.colorspace = _MATRICES[wanted.matrix]
        context.color_primaries = _PRIMARIES[wanted.matrix]
        context.color_trc = _TRANSFER
        context.color_range = _FULL if wanted.is_full_range else _LIMITED
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
        with self._translated("written"):
            self._mux(frame, shown_ticks)
        self.frame_count += 1

    def sync(self) -> None:
        """Make durable what has been written."""
        with self._translated("synced"):
            os.fdatasync(self._descriptor)

    def finish(self, shown_ticks: int) -> Path:
        """Write what the encoder holds and the index, check the file, and give it its name.

        Raises:
            SinkError: Any of that fails; the message says where the part is.
        """
        with self._translated("finished"):
            try:
                self._mux(None, shown_ticks)
                if self._container is not None:
                    self._container.close()
                    self._container = None
                os.fsync(self._descriptor)
                self._check()
            finally:
                self.abandon()
            return publish(self.path, self._wanted)

    def abandon(self) -> None:
        """Let go of everything native; the whole fragments stay, under their temporary name."""
        container, self._container = self._container, None
        with suppress(FFmpegError, OSError, ValueError):
            if container is not None:
                self._close_without_index(container)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _close_without_index(self, container: OutputContainer) -> None:
        """Close, and undo what the muxer does to the file meanwhile.

        On a full disk it would turn the fragments' header into plain data and then have no room for
        the index that replaces it.
        """
        head = os.pread(self._descriptor, _HEAD_BYTES, 0)[: self._whole_bytes]
        with suppress(FFmpegError, OSError, ValueError):
            container.close()
        os.ftruncate(self._descriptor, self._whole_bytes)
        os.pwrite(self._descriptor, head, 0)
        if not self._whole_bytes:
            self.path.unlink(missing_ok=True)

    def _mux(self, frame: av.VideoFrame | None, shown_ticks: int) -> None:
        if self._container is None:
            return
        for packet in self._video.encode(frame):
            packet.duration = shown_ticks
            self._container.mux(packet)
            # The muxer holds back a fragment until it is whole, then flushes it.
            self._whole_bytes = os.fstat(self._descriptor).st_size

    def _check(self) -> None:
        """Raise unless the file on the disk has every frame that was encoded."""
        with av.open(f"file:{self.path}", format="mp4") as container:
            video = container.streams.video[0]
            counted = video.frames
            size_bytes = self.path.stat().st_size
            if size_bytes > _CHECKED_WHOLE_BYTES or self.frame_count > _CHECKED_WHOLE_FRAMES:
                container.seek(max(0, (video.duration or 0) - 1), stream=video)
                is_whole = any(packet.size for packet in container.demux(video))
            else:
                demuxed = sum(1 for packet in container.demux(video) if packet.size)
                is_whole = demuxed == self.frame_count
        if counted != self.frame_count or not is_whole:
            raise OSError(None, f"the check found {counted} of {self.frame_count} frames in it")

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except (FFmpegError, OSError, ValueError) as exc:
            reason = getattr(exc, "strerror", None) or str(exc)
            raise SinkError(
                f"stream {self._stream}: video {self.path} can't be {what}: {reason}; "
                "check the folder's permissions and the free space"
            ) from exc


def _canvas_on(frame: av.VideoFrame, wanted: CanvasFormat) -> Canvas:
    """Return a frame's own planes as a canvas: x264 copies what it is given."""
    width, height = wanted.size_wh
    sizes = ((width, height), (width // 2, height // 2), (width // 2, height // 2))
    planes: list[Pixels] = []
    for plane, (plane_w, plane_h) in zip(frame.planes, sizes, strict=True):
        memory: Any = plane  # a buffer, though its stub doesn't say so
        rows = np.frombuffer(memory, np.uint8).reshape(-1, plane.line_size)
        planes.append(rows[:plane_h, :plane_w])
    return Canvas(planes[0], planes[1], planes[2], wanted)
