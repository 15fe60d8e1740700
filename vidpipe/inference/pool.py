"""The shared pool of requests: double buffering, and a reaper for the unanswered.

A pool has twice as many requests as the device runs at once, and one: while some execute, others
are being filled and others read, so the device always finds a filled request waiting. Where callers
wait for their own answers (sync) it needs one for each of them.

What a request answers is settled once, by one atomic move, by the device's callback, by the reaper
or by the caller that waits for it; the losers discard. A request whose inference fails never calls
back, so the reaper asks; one that is not answered in time is cancelled, parked until it is idle,
and replaced. Several frames in one request whose inference fails are asked about again, one by
one, as requests become free.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from loguru import logger

from vidpipe.errors import InferenceError, VidpipeError
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.roster import Roster
from vidpipe.inference.slot import Batch, PooledDetector, PooledFrame, Slot
from vidpipe.interfaces import Clock, RequestSlot, Submission
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.logs import trace_of
from vidpipe.types import Frame, PoolReport

_REAP_INTERVAL_S = 0.05
_ASK_AFTER_S = 0.1
"""Asking a running request costs a microsecond, but there is no need to ask a healthy one."""

_SYNC_LOOK_S = 0.1
"""How often who waits for an answer looks whether the pool has been closed."""


class Call(StrEnum):
    """Who waits for an answer."""

    ASYNC = "async"
    """Nobody: the device calls back."""
    SYNC = "sync"
    """The thread that submits; it delivers, too."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What is chosen about a pool.

    Attributes:
        requests: The number of requests, or None for twice what the device runs at once, and one.
        timeout_s: A request older than this is lost, and replaced.
        call: Who waits for an answer.
    """

    requests: int | None = None
    timeout_s: float = 10.0
    call: Call = Call.ASYNC


class Pool:
    """Implements ``RequestPool``, for any number of threads at once.

    ``reap`` runs on a thread of its own until ``close``.
    """

    def __init__(
        self,
        compile_model: Callable[[], PooledDetector],
        settings: PoolSettings,
        deliver: Callable[[Submission], None],
        clock: Clock,
        stages: StageMeters | None = None,
    ) -> None:
        """Compile the model, make its requests and run each of them once.

        Args:
            compile_model: Called now, and again whenever the pool has to be rebuilt.
            settings: Numbers and deadlines.
            deliver: Takes each settled submission. On a thread of the device or the reaper's, where
                it must not block; with ``sync`` on the thread that submitted.
            clock: Monotonic seconds.
            stages: Where the durations of filling, inference and decoding are counted.

        Raises:
            ModelError: The model can't be compiled, or its first inference isn't answered.
        """
        self.clock = clock
        self.stages = stages or StageMeters()
        self._timeout_s = settings.timeout_s
        self._is_sync = settings.call is Call.SYNC
        self._deliver = deliver
        self._lock = threading.Lock()
        self._wakes_reaper = threading.Event()
        self._is_closed = False
        self._running: set[Slot] = set()
        self._again: deque[PooledFrame] = deque()
        """Frames of a batch that failed, each to be asked about on its own."""
        self._roster = Roster(
            compile_model,
            settings.requests,
            settings.timeout_s,
            None if self._is_sync else self._answered,
        )

    @property
    def size(self) -> int:
        """The number of requests."""
        return self._roster.size

    @property
    def capacity(self) -> int:
        """How many frames it takes at once."""
        return self.size * self.detector.batch_size

    @property
    def detector(self) -> CompiledDetector:
        """The compiled model in force; for batches the one for the largest."""
        return self._roster.detector.sizes[-1]

    @property
    def parked(self) -> int:
        """The number of requests that are held by the device beyond their deadline."""
        return self._roster.parked

    @property
    def is_ready(self) -> bool:
        """False while so many requests are parked that the device can't be trusted to answer."""
        return self._roster.is_ready

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request of this pool: letting it go would wait for it."""
        with self._lock:
            running = list(self._running)
        return not all(slot.is_idle() for slot in (*running, *self._roster.held))

    def report(self, name: str) -> PoolReport:
        """Return how it stands, under a name; a request that is filled or read is in no count."""
        requests = {
            "free": self._roster.free,
            "running": len(self._running),
            "parked": self._roster.parked,
        }
        return PoolReport(name, self.detector.name, requests, is_ready=self.is_ready)

    def acquire(self) -> Slot | None:
        """Wait for a free request; None once the pool is closed."""
        return self._roster.take()

    def give_back(self, slot: RequestSlot) -> None:
        """Return a slot that was not used, or whose frames are done with it."""
        assert isinstance(slot, Slot)
        slot.batch = None
        self._roster.put_back(slot)
        self._ask_again()

    def release(self, slot: Slot) -> None:
        """One frame of a slot's batch is done with it: free it with the last one."""
        with self._lock:
            slot.held -= 1
            is_over = slot.held == 0
        if is_over:
            self.give_back(slot)

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Fill the request's tensor with the frame and start it; failures are delivered.

        With ``sync`` it returns once the frame has been delivered, or the pool is closed.
        """
        assert isinstance(slot, Slot)
        slot = self._roster.in_force(slot)
        if self.fill(slot, frame, sequence):
            self.start(slot)
        else:
            self.give_back(slot)

    def widen(self, requests: int) -> None:
        """Make requests until there are so many: one more caller may wait for an answer.

        Raises:
            ModelError: The device has no room for them, or doesn't answer.
        """
        self._roster.grow(requests)

    def narrow(self, requests: int) -> None:
        """Let go of free requests until there are no more than so many."""
        self._roster.shrink(requests)

    def flush_in_s(self) -> float | None:
        """Return None: every frame is started at once."""
        return None

    def flush(self) -> None:
        """Do nothing: every frame is started at once."""

    def fill(self, slot: Slot, frame: Frame, sequence: int) -> bool:
        """Write a frame into the next row of a slot that has room.

        Returns:
            False if it can't be written: that has been delivered, and the row is free still.
        """
        submission = PooledFrame(frame, sequence, self)
        batch = slot.batch = slot.batch or Batch()
        row = len(batch.frames)
        began_at = self.clock()
        try:
            slot.fill(row, frame.picture)
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one frame fails, no other
            logger.bind(stream=frame.stream).error("frame {}: {}", frame.number, trace_of(exc))
            submission.fail(str(exc) or repr(exc))
            self._hand_over(submission)
            return False
        self.stages.record(Stage.FILL, self.clock() - began_at)
        submission.move_to(slot, row)
        batch.frames.append(submission)
        return True

    def start(self, slot: Slot) -> None:
        """Start a slot with the frames that were written into it; failures are delivered."""
        batch = slot.batch
        assert batch is not None
        if len(batch.frames) > 1 and slot.detector is not self._roster.detector:
            # Gathered while the model was replaced, whose device is held.
            self.again(batch)
            self.give_back(slot)
            return
        slot.held = len(batch.frames)
        try:
            slot.choose(slot.held)
            with self._lock:
                if self._is_closed:
                    slot.let_go()
                    return
                self._running.add(slot)
            batch.began_at = self.clock()
            slot.request.start()
            batch.started_at = self.clock()
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one batch fails, no other
            if not isinstance(exc, VidpipeError):
                logger.error("model {}: {}", self.detector.name, trace_of(exc))
            if batch.settle():
                self._fail(slot, batch, str(exc) or repr(exc))
            return
        if self._is_sync:
            self._await(slot, batch)

    def again(self, batch: Batch) -> None:
        """Ask about each frame of a batch on its own; its slot is no concern of theirs any more."""
        with self._lock:
            for submission in batch.frames:
                submission.move_to(None)
                self._again.append(submission)
        self._ask_again()

    def close(self) -> None:
        """Give out no more requests, cancel what runs, and let ``reap`` return; wakes everyone.

        What runs is never delivered.
        """
        with self._lock:
            self._is_closed = True
            running = list(self._running)
            self._again.clear()
        self._roster.close()
        for slot in running:
            if slot.batch is not None and slot.batch.settle():
                slot.request.cancel()
        self._wakes_reaper.set()

    def rest(self, timeout_s: float) -> None:
        """After ``close``, and once nobody is at work any more: wait until the device is at rest.

        What it holds beyond that time is left to it.
        """
        self._roster.rest(timeout_s)

    def reap(self) -> None:
        """Look after requests that don't call back, until the pool is closed."""
        while not self._wakes_reaper.wait(_REAP_INTERVAL_S):
            now_s = self.clock()
            with self._lock:
                # With ``sync`` each has a thread that waits for it.
                running = [] if self._is_sync else list(self._running)
            for slot in running:
                self._examine(slot, now_s)
            if self._roster.tend(now_s):
                self._ask_again()
        self._roster.visit_parked()

    def _await(self, slot: Slot, batch: Batch) -> None:
        """Wait for an answer on the thread that asked, and deliver it."""
        try:
            while not slot.request.wait(min(_SYNC_LOOK_S, self._left_s(batch))):
                if self._is_closed:  # and so `close` has settled it
                    return
                if self._left_s(batch) <= 0:
                    if batch.settle():
                        self._lose(slot, batch)
                    return
        except InferenceError as exc:
            if batch.settle():
                self._fail(slot, batch, str(exc))
            return
        if batch.settle():
            self._measure(batch)
            self._finish(slot, batch)

    def _answered(self, slot: Slot) -> None:
        """Take an answer, on a thread of the device: no copy, no start, no wait, no raise."""
        batch = slot.batch
        if batch is not None and batch.settle():
            slot.is_spent = True
            self._measure(batch)
            self._finish(slot, batch)

    def _examine(self, slot: Slot, now_s: float) -> None:
        """Settle a batch that the device doesn't call back for."""
        batch = slot.batch
        if batch is None or now_s - batch.started_at < _ASK_AFTER_S:
            return
        try:
            if slot.request.wait(0) and batch.settle():
                self._finish(slot, batch)  # answered, and nobody was called
        except InferenceError as exc:
            if batch.settle():
                self._fail(slot, batch, str(exc))
            return
        if self._left_s(batch) < 0 and batch.settle():
            self._lose(slot, batch)

    def _left_s(self, batch: Batch) -> float:
        return batch.started_at + self._timeout_s - self.clock()

    def _measure(self, batch: Batch) -> None:
        took_s = self.clock() - batch.began_at
        for _ in batch.frames:
            self.stages.record(Stage.INFER, took_s)

    def _finish(self, slot: Slot, batch: Batch) -> None:
        """Hand over what has been settled."""
        with self._lock:
            self._running.discard(slot)
        for submission in batch.frames:
            self._hand_over(submission)

    def _hand_over(self, submission: PooledFrame) -> None:
        try:
            self._deliver(submission)
        except Exception as exc:  # noqa: BLE001 - an exception here would abort the process
            logger.critical("an answer could not be handed over: {}", trace_of(exc))

    def _fail(self, slot: Slot, batch: Batch, reason: str) -> None:
        """Answer a frame with an error; of several each gets another chance, on its own."""
        if len(batch.frames) == 1:
            batch.frames[0].fail(reason)
            self._finish(slot, batch)
            return
        with self._lock:
            self._running.discard(slot)
        self.again(batch)
        self.give_back(slot)

    def _lose(self, slot: Slot, batch: Batch) -> None:
        """Answer with errors what the device holds for too long, and replace its slot."""
        slot.request.cancel()
        slot.batch = None  # its frames' pixels can go
        with self._lock:
            self._running.discard(slot)
        self._roster.park(slot)
        for submission in batch.frames:
            submission.move_to(None)
            submission.fail(
                f"no answer within {self._timeout_s:g} s (timeout_s of model {self.detector.name})"
            )
            self._hand_over(submission)
        self._ask_again()

    def _ask_again(self) -> None:
        """Give free requests to the frames of batches that failed."""
        while self._again:
            slot = self._roster.take_now()
            if slot is None:
                return
            try:
                old = self._again.popleft()
            except IndexError:  # another thread was quicker
                self._roster.put_back(slot)
                return
            self.submit(slot, old.frame, old.sequence)
