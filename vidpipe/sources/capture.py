"""The loop of a stream's capture thread: open, read, pace, stamp, hand over; and open again.

A recorded source ends, or fails, once. A live one has no end: whatever stops it is a loss, and it
is opened again after a pause that grows. A live source is read on a thread of its own, which is
given up and replaced if a native call doesn't come back in time.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loguru import logger

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Clock, OpenReader, Reader
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.runtime.meters import StreamMeter
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.connection import STUBBORN, Backoff
from vidpipe.sources.frozen import FrozenWatch
from vidpipe.sources.punctuality import Punctuality
from vidpipe.sources.stamping import ASSUMED_RATE_FPS, Stamp, Stamps, wall_time
from vidpipe.sources.states import Move, SourceStates
from vidpipe.sources.vitals import HasVitals, Vitals
from vidpipe.sources.watchdog import Watch
from vidpipe.types import CaptureReport, Decoded, DropCause, Frame, SourceInfo, StreamState

_REMIND_AFTER_S = 60.0
"""A camera that stays down is mentioned again so often, however often it is tried."""

_QUIET_SHARE = 0.5
"""A live source is called stalled after this share of the silence that makes it lost."""

_EARLIEST = 0.5
"""Of a frame's time passes before the next one of a paced file is decoded: a camera's has not come
yet then, and the model has the cores to itself."""

_MOST_HELD = 4
"""Reads of one stream that may hang in native code at once; no more are begun until one ends."""


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
        open_timeout_s: What an open is given, by whoever opens.
        read_timeout_s: What a read is given.
        frozen_s: A live source that shows nothing new for so long is called frozen; 0: never.
        first_epoch: Where a stream that was captured before goes on counting.
        first_number: Likewise, of its frames.
    """

    stream: str
    is_live: bool
    loop: bool = False
    realtime: bool = False
    max_late_s: float = 0.5
    backoff: Backoff = field(default_factory=Backoff)
    open_timeout_s: float = 5.0
    read_timeout_s: float = 5.0
    frozen_s: float = 0.0
    first_epoch: int = 0
    first_number: int = 0

    @property
    def open_limit_s(self) -> float:
        """When an open that doesn't return is given up: the timeouts inside of it come first."""
        return self.open_timeout_s * 1.25 + 1.5

    @property
    def read_limit_s(self) -> float:
        """When a read that doesn't return is given up."""
        return self.read_timeout_s * 1.25 + 0.5


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
        stages: StageMeters | None = None,
        tell_overtaken: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin closed; ``hand_over`` may wait, and returns False if the frame was not taken.

        ``tell_overtaken`` is called when frames were passed over for want of time.
        """
        self._policy = policy
        self._open_reader = open_reader
        self._hand_over = hand_over
        self._meter = meter
        self._clock = clock
        self._jitter = jitter
        self._stages = stages or StageMeters()
        self._tell_overtaken = tell_overtaken
        self._stop = threading.Event()
        self._log = logger.bind(stream=policy.stream)
        self._states = SourceStates()
        self._threads = ThreadGroup()
        self._held: list[threading.Event] = []
        self._is_live = policy.is_live
        self._punctuality = Punctuality(policy.max_late_s, self._log)
        self._frozen = FrozenWatch(policy.frozen_s)
        self._epoch = policy.first_epoch
        self._number = policy.first_number
        self._failures = 0
        self._next_pts_s: float | None = None
        self._reminded_at = float("-inf")

    def report(self) -> CaptureReport:
        """Return what became of the capture so far."""
        return self._states.report()

    def moves(self) -> tuple[Move, ...]:
        """Return its latest changes of state, the newest last."""
        return self._states.moves()

    @property
    def is_live(self) -> bool:
        """True if the source, as far as it is known, has no end of its own."""
        return self._is_live

    @property
    def is_held(self) -> bool:
        """True if native code holds a thread of it that was given up."""
        return not all(done.is_set() for done in self._held)

    @property
    def position(self) -> tuple[int, int]:
        """The epoch and the frame's number that come next: where another capture goes on."""
        return self._epoch + 1, self._number

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
                self._states.fail(error)
                return
            elif not self._policy.loop:
                self._states.end("end of file")
                return
            elif self._number == frames_before:
                error = SourceError("it has no frames to loop over", SourceCause.FORMAT)
                self._log.error("the source has no frames to loop over")
                self._states.fail(error)
                return
            self._epoch += 1
        self._states.end("stopped")

    def _run_epoch(self) -> SourceError | None:
        """Open the source and read it to its end; return why it failed, if it did."""
        self._states.connect()
        watch = Watch(self._clock, self._policy.read_timeout_s * _QUIET_SHARE)
        return self._supervise(watch) if self._policy.is_live else self._attempt(watch)

    def _supervise(self, watch: Watch) -> SourceError | None:
        """Have a live source read by a thread of its own; return why that ended."""
        self._held = [done for done in self._held if not done.is_set()]
        if len(self._held) >= _MOST_HELD:
            return SourceError(
                f"{len(self._held)} reads of it hang in native code: it is opened again once one "
                "of them has ended",
                SourceCause.TIMEOUT,
            )
        errors: list[SourceError | None] = []
        done = threading.Event()

        def attempt() -> None:
            try:
                errors.append(self._attempt(watch))
            finally:
                done.set()

        self._threads.spawn(f"vp-read-{self._policy.stream}", attempt, may_hang=True)
        while not done.wait(watch.rest_s()):
            watch.if_quiet(self._say_stalled)
            # A stop leaves the thread behind, and says so.
            if not self._stop.is_set() and watch.give_up_if_overdue():
                self._held.append(done)
                return SourceError(
                    "nothing came, and the library doesn't return: its thread is left behind",
                    SourceCause.TIMEOUT,
                )
        return errors[0] if errors else None

    def _say_stalled(self) -> None:
        self._states.stall("nothing comes")

    def _attempt(self, watch: Watch) -> SourceError | None:
        """Open and read once; once the watch is given up, nothing of this capture is touched."""
        opened_at = self._clock()
        try:
            watch.begin(self._policy.open_limit_s)
            reader = self._open_reader()
            try:
                if watch.end():
                    self._is_live = reader.info.is_live
                    self._read_all(reader, watch, opened_at)
            finally:
                watch.begin(self._policy.read_limit_s)  # a close may hang as well
                reader.close()
                watch.end()
        except SourceError as exc:
            return exc
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one stream fails, no other
            if not watch.is_given_up:
                self._log.error("the source failed in an unforeseen way: {}", trace_of(exc))
            return SourceError(redact(f"{type(exc).__name__}: {exc}"), SourceCause.FORMAT)
        return None

    def _read_all(self, reader: Reader, watch: Watch, opened_at: float) -> None:
        info = reader.info
        vitals = reader.vitals if isinstance(reader, HasVitals) else None
        stamps = Stamps(info, self._next_pts_s, opened_at)
        is_paced = self._policy.realtime and not info.is_live
        while not self._stop.is_set():
            try:
                decoded = self._read(reader, watch, vitals)
            finally:
                if vitals is not None and vitals.overtaken:
                    stamps.pass_over(self._count_overtaken(vitals, is_paced=is_paced))
                    self._next_pts_s = stamps.next_pts_s
            if decoded is None:
                if self._has_more(vitals, is_paced=is_paced):
                    continue
                return
            now_s = self._clock()
            if self._states.state is not StreamState.LIVE:
                info = reader.info  # a live stream's rotation is known with its first picture
                self._come_up(info, now_s, has_pts=decoded.pts_s is not None)
            if info.is_live:
                self._look_after(decoded, vitals, now_s)
            number = self._number if decoded.number is None else decoded.number
            self._number = number + 1
            stamp = stamps.stamp(decoded, number, now_s)
            self._next_pts_s = stamps.next_pts_s
            is_in_time = not is_paced or self._is_in_time(stamp.media_s)
            if vitals is not None and (is_paced or info.is_live):
                self._punctuality.keep_up(reader, vitals, stamp.media_s, self._clock())
            if not is_in_time:
                self._count_lost(DropCause.PACING)
                continue
            captured_at = self._clock() if is_paced else stamp.captured_at
            self._offer(decoded, number, replace(stamp, captured_at=captured_at), info)
            if is_paced:
                self._rest(stamp.media_s + _EARLIEST * stamps.frame_s)

    def _read(self, reader: Reader, watch: Watch, vitals: Vitals | None) -> Decoded | None:
        """Return the next picture, or None if there is none or nobody waits for it any more."""
        policy = self._policy
        if vitals is not None:
            watch.begin(policy.read_limit_s, lambda: vitals.heard_at)
        elif self._states.state is StreamState.CONNECTING:
            watch.begin(policy.open_limit_s + policy.read_limit_s)  # a key frame is waited for
        else:
            watch.begin(policy.read_limit_s)
        started_at = self._clock()
        decoded = reader.read()
        if not watch.end():
            return None
        self._stages.record(Stage.DECODE, self._clock() - started_at)
        return decoded

    def _look_after(self, decoded: Decoded, vitals: Vitals | None, now_s: float) -> None:
        """Note what a live source's picture says of its health, beside what it shows."""
        self._states.note_frame(now_s)
        if vitals is not None and vitals.discarded:
            lost, vitals.discarded = vitals.discarded, 0
            self._number += lost
            for _ in range(lost):
                self._count_lost(DropCause.ERROR)
        repeats = vitals.clock_repeats if vitals is not None else 0
        was_frozen = bool(self._frozen.reason)
        is_frozen = self._frozen.look(decoded.picture, now_s, repeats)
        if is_frozen and not was_frozen:
            self._log.warning("frozen: {}", self._frozen.reason)
            self._states.freeze(f"frozen: {self._frozen.reason}")
        elif was_frozen and not is_frozen:
            self._log.info("no longer frozen")
            self._states.thaw()

    def _offer(self, decoded: Decoded, number: int, stamp: Stamp, info: SourceInfo) -> None:
        """Hand over a frame; once none is taken any more, the loop is over."""
        frame = Frame(
            stream=self._policy.stream,
            epoch=self._epoch,
            number=number,
            pts_s=stamp.pts_s,
            captured_at=stamp.captured_at,
            time=wall_time(info, decoded.pts_s),
            size_wh=decoded.picture.size_wh,
            picture=decoded.picture,
            source=info,
        )
        self._meter.count_captured()
        if not self._hand_over(frame):
            self._meter.count_dropped(DropCause.STOP)
            self._stop.set()  # the lane has ended: opening the source again would be in vain

    def _has_more(self, vitals: Vitals | None, *, is_paced: bool) -> bool:
        """After a read that returned nothing: tell whether more comes, once its time is here."""
        if is_paced and self._next_pts_s is not None:
            self._rest(self._next_pts_s)  # what was passed over takes its time, too
        return vitals is not None and vitals.is_holding

    def _rest(self, media_s: float) -> None:
        """Wait for a moment of a paced file's clock."""
        if early_s := self._punctuality.pacer.early_s(media_s, self._clock()):
            self._stop.wait(early_s)

    def _count_overtaken(self, vitals: Vitals, *, is_paced: bool) -> int:
        overtaken, vitals.overtaken = vitals.overtaken, 0
        self._number += overtaken
        for _ in range(overtaken):
            self._count_lost(DropCause.PACING if is_paced else DropCause.AGE)
        self._tell_overtaken()
        self._punctuality.pacer.pass_over()
        return overtaken

    def _count_lost(self, cause: DropCause) -> None:
        self._meter.count_captured()
        self._meter.count_dropped(cause)

    def _is_in_time(self, media_s: float) -> bool:
        """Wait until a paced frame is due; False if it is too late for it."""
        wait_s = self._punctuality.pacer.wait_s(media_s, self._clock())
        if wait_s > 0:
            self._stop.wait(wait_s)
        return wait_s > -self._policy.max_late_s

    def _come_up(self, info: SourceInfo, now_s: float, *, has_pts: bool) -> None:
        if self._failures or info != self._states.report().info:  # a loop says it once
            kind = "live" if info.is_live else "recorded"
            self._log.info("{} {}x{}, {}", info.codec, info.width, info.height, kind)
            if info.time_base is None and not has_pts and not info.is_live:
                rate_fps = info.rate_fps or ASSUMED_RATE_FPS
                self._log.warning(
                    "no timestamps: pts is null, and video is written at {:g} frame{} a second",
                    rate_fps,
                    "" if rate_fps == 1 else "s",
                )
        self._failures = 0
        self._states.come_up(info, now_s)

    def _pause(self, error: SourceError) -> None:
        """Say why a live source is down, now and then, and wait before the next try."""
        delay_s = self._policy.backoff.rest_s(error.cause, self._failures, self._jitter())
        self._failures += 1
        was_up = self._states.state in (StreamState.LIVE, StreamState.STALLED)
        now_s = self._clock()
        if was_up or now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._reminded_at = now_s
            self._log.warning("{}; trying again, next in {:.1f} s", error, delay_s)
        self._meter.count_error("capture")
        if error.cause in STUBBORN:
            self._states.fail(error)
        else:
            self._states.rest(error)
        # Not where a file is played again: its time goes on, and so does its lateness.
        self._punctuality.begin()
        if not self._stop.wait(delay_s):
            self._meter.count_reconnect()
