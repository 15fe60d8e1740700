"""The loop of a stream's capture thread: open, read, pace, stamp, hand over; and open again.

A recorded source ends, or fails, once. A live one has no end: whatever stops it is a loss, and it
is opened again after a pause that grows.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from loguru import logger

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Clock, OpenReader, Reader
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.meters import StreamMeter
from vidpipe.sources.connection import Backoff
from vidpipe.sources.pacing import Pacer
from vidpipe.types import CaptureReport, DropCause, Frame, SourceInfo, StreamState

_ASSUMED_RATE_FPS = 25.0
_REMIND_AFTER_S = 60.0
"""A camera that stays down is mentioned again so often, however often it is tried."""


@dataclass(frozen=True, slots=True)
class CapturePolicy:
    """How a stream is captured.

    Attributes:
        stream: The stream's id.
        is_live: What to take the source for until it has said so itself.
        loop: Start a recorded source again at its end.
        realtime: Pace a recorded source by its timestamps.
        max_late_s: A paced frame that is later than this is skipped.
        backoff: How long a live source rests before it is opened again.
    """

    stream: str
    is_live: bool
    loop: bool = False
    realtime: bool = False
    max_late_s: float = 0.5
    backoff: Backoff = field(default_factory=Backoff)


class Capture:
    """The capture of one stream. ``run`` is its thread's loop; the rest is for any thread."""

    def __init__(
        self,
        policy: CapturePolicy,
        open_reader: OpenReader,
        hand_over: Callable[[Frame], bool],
        meter: StreamMeter,
        clock: Clock,
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Begin closed; ``hand_over`` may wait, and returns False if the frame was not taken."""
        self._policy = policy
        self._open_reader = open_reader
        self._hand_over = hand_over
        self._meter = meter
        self._clock = clock
        self._jitter = jitter
        self._stop = threading.Event()
        self._log = logger.bind(stream=policy.stream)
        self._report = CaptureReport(
            StreamState.CONNECTING, "", has_been_up=False, error=None, info=None
        )
        self._is_live = policy.is_live
        self._pacer = Pacer()
        self._epoch = 0
        self._number = 0
        self._failures = 0
        self._offset_s = 0.0
        self._next_pts_s = 0.0
        self._reminded_at = float("-inf")

    def report(self) -> CaptureReport:
        """Return what became of the capture so far."""
        return self._report

    @property
    def is_live(self) -> bool:
        """True if the source, as far as it is known, has no end of its own."""
        return self._is_live

    def stop(self) -> None:
        """Ask the loop to end after the frame at hand; a native call may hold it longer."""
        self._stop.set()

    def run(self) -> None:
        """Capture until the source ends or fails for good, or the capture is stopped."""
        while not self._stop.is_set():
            frames_before = self._number
            error = self._run_epoch()
            if self._stop.is_set():
                break
            if self._is_live:
                self._pause(error or SourceError("the stream ended", SourceCause.LOST))
            elif error is not None:
                self._log.error("{}", error)
                self._note(StreamState.FAILED, str(error), error=str(error))
                return
            elif not self._policy.loop:
                self._note(StreamState.ENDED, "end of file")
                return
            elif self._number == frames_before:
                self._log.error("the source has no frames to loop over")
                self._note(StreamState.FAILED, "no frames", error="it has no frames to loop over")
                return
            self._epoch += 1
            self._offset_s = self._next_pts_s
        self._note(StreamState.ENDED, "stopped", error=self._report.error)

    def _run_epoch(self) -> SourceError | None:
        """Open the source and read it to its end; return why it failed, if it did."""
        self._note(StreamState.CONNECTING, "opening", error=self._report.error)
        try:
            with closing(self._open_reader()) as reader:
                self._is_live = reader.info.is_live
                self._read_all(reader)
        except SourceError as exc:
            return exc
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one stream fails, no other
            self._log.error("the source failed in an unforeseen way: {}", trace_of(exc))
            return SourceError(redact(f"{type(exc).__name__}: {exc}"), SourceCause.FORMAT)
        return None

    def _read_all(self, reader: Reader) -> None:
        info = reader.info
        is_paced = self._policy.realtime and not info.is_live
        shift_s: float | None = None
        while not self._stop.is_set() and (decoded := reader.read()) is not None:
            if self._report.state is not StreamState.LIVE:
                info = reader.info  # a live stream's rotation is known with its first picture
                self._come_up(info)
            pts_s = decoded.pts_s
            if pts_s is not None and self._offset_s > 0:
                shift_s = self._offset_s - pts_s if shift_s is None else shift_s
                pts_s += shift_s
            number, self._number = self._number, self._number + 1
            rate_fps = info.rate_fps or _ASSUMED_RATE_FPS
            media_s = number / rate_fps if pts_s is None else pts_s
            self._next_pts_s = media_s + (decoded.duration_s or 1.0 / rate_fps)
            if is_paced and not self._is_in_time(media_s):
                self._meter.count_captured()
                self._meter.count_dropped(DropCause.PACING)
                continue
            frame = Frame(
                stream=self._policy.stream,
                epoch=self._epoch,
                number=number,
                pts_s=pts_s,
                captured_at=self._clock(),
                time=_wall_time(info, decoded.pts_s),
                size_wh=decoded.picture.size_wh,
                picture=decoded.picture,
                source=info,
            )
            self._meter.count_captured()
            if not self._hand_over(frame):
                self._meter.count_dropped(DropCause.STOP)
                self._stop.set()  # the lane has ended: opening the source again would be in vain
                return

    def _is_in_time(self, media_s: float) -> bool:
        """Wait until a paced frame is due; False if it is too late for it."""
        wait_s = self._pacer.wait_s(media_s, self._clock())
        if wait_s > 0:
            self._stop.wait(wait_s)
        return wait_s > -self._policy.max_late_s

    def _come_up(self, info: SourceInfo) -> None:
        if self._failures or info != self._report.info:  # a loop says it once
            kind = "live" if info.is_live else "recorded"
            self._log.info("{} {}x{}, {}", info.codec, info.width, info.height, kind)
            if info.time_base is None and not info.is_live:
                rate_fps = info.rate_fps or _ASSUMED_RATE_FPS
                self._log.warning(
                    "no timestamps: pts is null, and video is written at {:g} frames a second",
                    rate_fps,
                )
        self._failures = 0
        self._report = CaptureReport(StreamState.LIVE, "", has_been_up=True, error=None, info=info)

    def _pause(self, error: SourceError) -> None:
        """Say why a live source is down, now and then, and wait before the next try."""
        delay_s = self._policy.backoff.delay_s(self._failures, self._jitter())
        self._failures += 1
        was_up = self._report.state is StreamState.LIVE
        now_s = self._clock()
        if was_up or now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._reminded_at = now_s
            self._log.warning("{}; trying again, next in {:.1f} s", error, delay_s)
        self._meter.count_error("capture")
        self._note(StreamState.BACKING_OFF, str(error), error=str(error))
        if not self._stop.wait(delay_s):
            self._meter.count_reconnect()

    def _note(self, state: StreamState, detail: str, *, error: str | None = None) -> None:
        last = self._report
        self._report = CaptureReport(
            state, redact(detail), last.has_been_up, redact(error) if error else None, last.info
        )


def _wall_time(info: SourceInfo, pts_s: float | None) -> datetime | None:
    """Return when a frame arrived (live) or was recorded (a file that says it), in UTC."""
    if info.is_live:
        return datetime.now(UTC)
    if info.recorded_at is None or pts_s is None:
        return None
    try:
        return info.recorded_at + timedelta(seconds=pts_s)
    except OverflowError:
        return None  # a damaged timestamp, thousands of years away
