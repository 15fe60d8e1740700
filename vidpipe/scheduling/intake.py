"""One stream's place at a dispatcher: its lane, its window and its route.

A place is taken by one life of a stream. A stream that is removed and added again gets a new one,
and what is late of its former life can't touch it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from vidpipe.runtime.meters import StreamMeter
from vidpipe.scheduling.lanes import Lane, LanePolicy
from vidpipe.scheduling.sampling import DetectRate
from vidpipe.types import DropCause, Frame


@dataclass(frozen=True, slots=True)
class DispatchPolicy:
    """How one stream shares the pool.

    Attributes:
        lane: What waits, and what gives way.
        window: Frames of the stream between dispatch and their last blocking sink, at most.
        weight: The stream's share relative to the others'.
        detect_fps: How many frames a second the model is asked about; None for all.
    """

    lane: LanePolicy
    window: int
    weight: float = 1.0
    detect_fps: float | None = None


class Intake:
    """A stream's place: a part is for any thread.

    The rest is for the dispatcher, with its lock held.
    """

    def __init__(
        self,
        policy: DispatchPolicy,
        meter: StreamMeter,
        lock: threading.Lock,
        has_work: threading.Condition,
        excuse: Callable[[], None],
    ) -> None:
        """Begin open and empty, on route 0.

        Args:
            policy: How the stream shares the pool.
            meter: Where what is lost is counted.
            lock: The dispatcher's.
            has_work: Over the lock; wakes the dispatcher.
            excuse: What ``excuse`` comes to, with the lock held.
        """
        self.route = 0
        self.lane = Lane(policy.lane, meter.count_dropped)
        self.sampler = DetectRate(policy.detect_fps)
        self.is_open = True
        self._lock = lock
        self._has_work = has_work
        self._has_room = threading.Condition(lock)
        self._window = policy.window
        self._excuse = excuse
        self._out = 0
        self._sequence = 0

    # ---- For any thread ------------------------------------------------------------------------

    def put(self, frame: Frame) -> bool:
        """Append a frame to the lane, waiting for room where the lane blocks.

        Returns:
            False if the lane has ended: the frame was not taken.
        """
        with self._lock:
            while self.is_open and self.lane.must_wait:
                self._has_room.wait()
            if not self.is_open:
                return False
            self.lane.put(frame)
            self._has_work.notify_all()
            return True

    def end(self) -> None:
        """Take no more frames; what waits still goes its way. May be repeated."""
        with self._lock:
            self.shut()

    def abort(self) -> None:
        """Drop what waits, with cause ``stop``, and take no more, full window or not."""
        with self._lock:
            self.lane.discard(DropCause.STOP)
            self.shut()

    def release(self) -> None:
        """A frame of the stream has left its last blocking sink: the window moves on."""
        with self._lock:
            self._out -= 1
            self._has_work.notify_all()

    def resize(self, window: int) -> None:
        """Let so many frames be out from now on; those that are out already stay."""
        with self._lock:
            self._window = window
            self._has_work.notify_all()

    def excuse(self) -> None:
        """Frames of the stream were passed over for want of time: it shall catch up."""
        with self._lock:
            self._excuse()

    def depth(self) -> int:
        """Count the frames that wait in the lane."""
        with self._lock:
            return len(self.lane)

    # ---- For the dispatcher --------------------------------------------------------------------

    @property
    def may_bring_more(self) -> bool:
        """True if a frame can come of itself, before any that is out has come to its end."""
        return self.is_open and self._out < self._window

    @property
    def is_ready(self) -> bool:
        """True if there is something to take."""
        if len(self.lane) > 0:
            return self._out < self._window
        return not self.is_open  # the end is no frame: it needs no place in the window

    def shut(self) -> None:
        """Take no more frames."""
        self.is_open = False
        self._has_room.notify_all()
        self._has_work.notify_all()

    def wake_producer(self) -> None:
        """Wake who waits for room, where it is worth while."""
        if self.lane.is_half_empty:
            # Not at every frame: waking a thread costs more than anything else here.
            self._has_room.notify()

    def next_sequence(self) -> int:
        """Send one more out; return its place in the stream's order."""
        self._sequence += 1
        self._out += 1
        return self._sequence - 1
