"""The annotated video sink: one stream's results as H.264 in MP4, at the source's timestamps.

Frames that ``max_fps`` leaves out cost nothing: they go before any pixel is touched. The others
are copied once, into the encoder's own buffer, drawn on there and encoded. A new segment, another
picture size or other colours begin a new file; every file starts with a key frame.

No frame, no file. The thread that writes also closes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from loguru import logger

from vidpipe.errors import SinkError
from vidpipe.interfaces import Clock
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.canvas import CanvasFormat, format_for, paint_picture
from vidpipe.outputs.finished import FinishedFiles
from vidpipe.outputs.growing import SYNC_EVERY_S
from vidpipe.outputs.mp4 import Encoding, Mp4File
from vidpipe.outputs.naming import path_from_template, utc_now
from vidpipe.outputs.segments import segment_of
from vidpipe.outputs.timeline import Thinning, Timeline
from vidpipe.types import Frame, FrameResult

MOST_FRAMES_IN_A_LIVE_FILE = 500_000
"""The index of a file being written is held in memory, 75 bytes a frame: a camera without segments,
left alone for months, goes on in a new file (after four hours and a half at 30 frames a second)."""


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """What a video output was asked for.

    Attributes:
        template: The path, with ``{stream}``, ``{start}`` (UTC of the file's first frame) and
            ``{n}`` (the file's number from 1).
        scale: A factor above 0 and up to 1, or None for the source's size.
        fit_wh: A size to fit into, aspect kept, or None; wins over ``scale``.
        max_fps: The most frames a second, or None for all.
        segment_s: A new file begins at multiples of this many seconds, of the clock (live) or of
            the stream; or None.
        encoding: How to encode.
    """

    template: str
    scale: float | None = None
    fit_wh: tuple[int, int] | None = None
    max_fps: float | None = None
    segment_s: float | None = None
    encoding: Encoding = field(default_factory=Encoding)


class VideoSink:
    """Implements ``Sink`` for one stream."""

    needs_picture = True

    def __init__(
        self,
        options: VideoOptions,
        annotator: Annotator,
        *,
        stream: str,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Open nothing yet.

        Args:
            options: What was asked for.
            annotator: Draws; this sink's own.
            stream: The stream's id.
            clock: Says when to sync.
            wall_clock: Gives ``{start}`` where a file's first frame has no time of its own.
        """
        self._options = options
        self._annotator = annotator
        self._stream = stream
        self._clock = clock
        self._wall_clock = wall_clock
        self._timeline: Timeline | None = None
        self._thinning: Thinning | None = None
        self._file: Mp4File | None = None
        self._format: CanvasFormat | None = None
        self._segment = 0
        self._base_ticks = 0
        self._file_count = 0
        self._synced_at = 0.0
        self._finished = FinishedFiles("video", stream)
        self._has_failed = False

    def write(self, result: FrameResult) -> None:
        """Draw and encode one result; passed and failed frames too.

        Raises:
            SinkError: A file can't be opened, written or finished; finished ones stay.
        """
        if self._has_failed:
            return
        try:
            self._write(result)
        except SinkError:
            self._has_failed = True
            raise

    def close(self) -> list[str]:
        """Finish the file; return the paths of the last finished ones. A second call adds none.

        Raises:
            SinkError: The file can't be finished.
        """
        if self._has_failed and self._file is not None:
            self._file.abandon()
            self._file = None
        try:
            self._finish()
        except SinkError:
            self._has_failed = True
            raise
        if self._timeline is not None and self._timeline.mended_count:
            logger.bind(stream=self._stream).info(
                "video: {} timestamps were mended", self._timeline.mended_count
            )
        return self._finished.take()

    def _write(self, result: FrameResult) -> None:
        frame = result.frame
        if self._timeline is None or self._thinning is None:
            self._timeline = Timeline(frame)
            self._thinning = Thinning(self._options.max_fps, self._timeline.time_base)
        ticks = self._timeline.place(frame)
        if not self._thinning.should_keep(ticks):
            return
        file = self._file_for(frame, ticks, self._timeline)
        paint_picture(file.canvas, frame.picture)
        self._annotator.draw(file.canvas, result)
        file.write(ticks - self._base_ticks, self._shown_ticks(self._timeline))
        if self._clock() - self._synced_at >= SYNC_EVERY_S:
            file.sync()
            self._synced_at = self._clock()

    def _file_for(self, frame: Frame, ticks: int, timeline: Timeline) -> Mp4File:
        """Return the file that a frame belongs to; finish the one before."""
        wanted = format_for(frame.picture, scale=self._options.scale, fit_wh=self._options.fit_wh)
        segment = self._segment_of(frame, ticks, timeline)
        if self._file is not None:
            is_full = frame.source.is_live and self._file.frame_count >= MOST_FRAMES_IN_A_LIVE_FILE
            if (wanted, segment) == (self._format, self._segment) and not is_full:
                return self._file
            self._finish()
        self._format, self._segment = wanted, segment
        self._file = self._open(frame, ticks, wanted, timeline)
        return self._file

    def _segment_of(self, frame: Frame, ticks: int, timeline: Timeline) -> int:
        """Return a number for the segment: of the clock (live), or of the stream's own time."""
        if self._options.segment_s is None:
            return 0
        if frame.source.is_live and frame.time is not None:
            return segment_of(frame.time, self._options.segment_s)
        return int(ticks * timeline.time_base / _exact(self._options.segment_s))

    def _open(self, frame: Frame, ticks: int, wanted: CanvasFormat, timeline: Timeline) -> Mp4File:
        keeps_time = (
            self._file_count == 0 and self._options.segment_s is None and not frame.source.is_live
        )
        self._base_ticks = 0 if keeps_time else ticks
        self._file_count += 1
        start = frame.time or self._wall_clock()
        path = path_from_template(
            self._options.template, stream=self._stream, start=start, number=self._file_count
        )
        self._synced_at = self._clock()
        rate_fps = min(float(1 / (timeline.usual_gap * timeline.time_base)), 240.0)
        return Mp4File(
            path,
            wanted,
            stream=self._stream,
            time_base=timeline.time_base,
            rate_fps=max(rate_fps, 1.0),
            encoding=self._options.encoding,
        )

    def _finish(self) -> None:
        file, self._file = self._file, None
        if file is not None and self._timeline is not None:
            self._finished.add(file.finish(self._shown_ticks(self._timeline)))

    def _shown_ticks(self, timeline: Timeline) -> int:
        """How long a frame is shown should it be the last: as long as those before it."""
        if self._options.max_fps is None:
            return timeline.usual_gap
        return max(timeline.usual_gap, round(1 / (self._options.max_fps * timeline.time_base)))


def _exact(seconds: float) -> Fraction:
    return Fraction(seconds).limit_denominator(1_000_000)
