"""The shared pool of asynchronous requests: double buffering, and a reaper for the unanswered.

A pool has twice as many requests as the device runs at once, and one: while some execute, others
are being filled and others read, so the device always finds a filled request waiting.

Each submission is settled once, by one atomic move, either by the device's callback or by the
reaper; the loser discards. A request whose inference fails never calls back, so the reaper asks;
one that is not answered in time is cancelled, parked until it is idle, and replaced. When too many
are parked the device's own threads are held, and the pool is rebuilt from a model compiled anew.

All requests are made at once, with the spare ones that take the place of parked ones: the CPU's
plugin makes no further one, and keeps who asks, while one of its threads is held.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from loguru import logger

from vidpipe.errors import InferenceError, VidpipeError
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.slot import PooledFrame, Slot
from vidpipe.interfaces import Clock, RequestSlot, Submission
from vidpipe.runtime.logs import trace_of
from vidpipe.types import Frame

_REAP_INTERVAL_S = 0.05
_ASK_AFTER_S = 0.1
"""Asking a running request costs a microsecond, but there is no need to ask a healthy one."""

_REBUILD_PAUSE_S = 30.0
"""A model that hangs again and again is compiled again at most so often; twice as seldom for each
compiled one that still hangs, since that keeps its memory."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What is chosen about a pool.

    Attributes:
        requests: The number of requests, or None for twice what the device runs at once, and one.
        timeout_s: A request older than this is lost, and replaced.
    """

    requests: int | None = None
    timeout_s: float = 10.0


class Pool:
    """Implements ``RequestPool``. ``reap`` runs on a thread of its own until ``close``."""

    def __init__(
        self,
        compile_model: Callable[[], CompiledDetector],
        settings: PoolSettings,
        deliver: Callable[[Submission], None],
        clock: Clock,
    ) -> None:
        """Compile the model and make its requests.

        Args:
            compile_model: Called now, and again whenever the pool has to be rebuilt.
            settings: Numbers and deadlines.
            deliver: Takes each settled submission, on a thread of the device; must not block.
            clock: Monotonic seconds.

        Raises:
            ModelError: The model can't be compiled.
        """
        self._compile_model = compile_model
        self._settings = settings
        self._deliver = deliver
        self._clock = clock
        self._lock = threading.Lock()
        self._has_free = threading.Condition(self._lock)
        self._is_idle = threading.Condition(self._lock)
        self._wakes_reaper = threading.Event()
        self._is_closed = False
        self._running: set[Slot] = set()
        self._parked: list[Slot] = []
        self._left_behind: list[Slot] = []
        """Held requests of models that were replaced: letting one go would wait for it."""
        self._missing = 0
        self._rebuilt_at = -math.inf
        self._detector = compile_model()
        self._size = settings.requests or 2 * self._detector.optimal_requests + 1
        self._free, self._spare = self._make_slots(self._detector)

    @property
    def size(self) -> int:
        """The number of requests."""
        return self._size

    @property
    def detector(self) -> CompiledDetector:
        """The compiled model in force."""
        return self._detector

    @property
    def parked(self) -> int:
        """The number of requests that are held by the device beyond their deadline."""
        return len(self._parked)

    @property
    def is_ready(self) -> bool:
        """False while so many requests are parked that the device can't be trusted to answer."""
        return len(self._parked) < _most_parked(self._detector)

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request of this pool: letting it go would wait for it."""
        with self._lock:
            slots = [*self._running, *self._parked, *self._left_behind]
        return not all(slot.is_idle() for slot in slots)

    def acquire(self) -> RequestSlot | None:
        """Wait for a free request; None once the pool is closed."""
        with self._lock:
            while not self._free and not self._is_closed:
                self._has_free.wait()
            return None if self._is_closed else self._free.popleft()

    def give_back(self, slot: RequestSlot) -> None:
        """Return a slot that was not used."""
        assert isinstance(slot, Slot)
        self.take_back(slot)

    def take_back(self, slot: Slot) -> None:
        """Let a slot be used again; one of a model that has been replaced is let go instead."""
        with self._lock:
            slot.submission = None
            is_wanted = slot.detector is self._detector and not self._is_closed
            if is_wanted:
                self._free.append(slot)
                self._has_free.notify()
        if not is_wanted:
            slot.let_go()

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Fill the request's tensor with the frame and start it; failures are delivered."""
        assert isinstance(slot, Slot)
        slot = self._in_force(slot)
        submission = PooledFrame(slot, frame, sequence, self.take_back)
        slot.submission = submission
        try:
            slot.settle_down()
            slot.detector.fill(slot.request, frame.picture)
            with self._lock:
                self._running.add(slot)
            slot.request.start()
            submission.started_at = self._clock()
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one frame fails, no other
            if not isinstance(exc, VidpipeError):
                logger.bind(stream=frame.stream).error("frame {}: {}", frame.number, trace_of(exc))
            if submission.settle():
                submission.fail(str(exc) or repr(exc), keeps_request=True)
                self._finish(slot, submission)

    def drain(self, timeout_s: float) -> int:
        """Wait until no request is running; return how many still are."""
        deadline = self._clock() + timeout_s
        with self._lock:
            while self._running and (left_s := deadline - self._clock()) > 0:
                self._is_idle.wait(left_s)
            return len(self._running)

    def close(self) -> None:
        """Give out no more requests, cancel what runs, and let ``reap`` return; wakes everyone.

        What runs is never delivered.
        """
        with self._lock:
            self._is_closed = True
            self._has_free.notify_all()
            running = list(self._running)
            free = list(self._free)
            self._free.clear()
        for slot in free:
            slot.let_go()
        for slot in running:
            if slot.submission is not None and slot.submission.settle():
                slot.request.cancel()
        self._wakes_reaper.set()

    def reap(self) -> None:
        """Look after requests that don't call back, until the pool is closed."""
        while not self._wakes_reaper.wait(_REAP_INTERVAL_S):
            now_s = self._clock()
            with self._lock:
                running = list(self._running)
            for slot in running:
                self._examine(slot, now_s)
            self._visit_parked()
            if not self.is_ready and now_s - self._rebuilt_at >= self._rebuild_pause_s():
                self._rebuild(now_s)
        self._visit_parked()
        for slot in self._spare:
            slot.let_go()
        self._spare.clear()

    def _in_force(self, slot: Slot) -> Slot:
        """Return a free slot in place of one whose model was replaced while it was held."""
        with self._lock:
            if slot.detector is self._detector or not self._free:
                return slot
            fresh = self._free.popleft()
        slot.let_go()
        return fresh

    def _answered(self, slot: Slot) -> None:
        """Take an answer, on a thread of the device: no copy, no start, no wait, no raise."""
        submission = slot.submission
        if submission is not None and submission.settle():
            slot.is_spent = True
            self._finish(slot, submission)

    def _finish(self, slot: Slot, submission: PooledFrame) -> None:
        try:
            with self._lock:
                self._running.discard(slot)
                if not self._running:
                    self._is_idle.notify_all()
            self._deliver(submission)
        except Exception as exc:  # noqa: BLE001 - an exception here would abort the process
            logger.critical("an answer could not be handed over: {}", trace_of(exc))

    def _examine(self, slot: Slot, now_s: float) -> None:
        """Settle a submission that the device doesn't call back for."""
        submission = slot.submission
        if submission is None or now_s - submission.started_at < _ASK_AFTER_S:
            return
        try:
            if slot.request.wait(0) and submission.settle():
                self._finish(slot, submission)  # answered, and nobody was called
        except InferenceError as exc:
            if submission.settle():
                submission.fail(str(exc), keeps_request=True)
                self._finish(slot, submission)
            return
        if now_s - submission.started_at > self._settings.timeout_s and submission.settle():
            self._replace(slot)
            submission.fail(
                f"no answer within {self._settings.timeout_s:g} s (timeout_s of model"
                f" {self._detector.name})",
                keeps_request=False,
            )
            self._finish(slot, submission)

    def _make_slots(self, detector: CompiledDetector) -> tuple[deque[Slot], list[Slot]]:
        """Return the requests for use, and the spare ones."""
        slots = [Slot(detector, self._answered) for _ in range(self._size + _most_parked(detector))]
        return deque(slots[: self._size]), slots[self._size :]

    def _replace(self, slot: Slot) -> None:
        """Cancel and park a slot's request, and put a spare one in its place, if there is one."""
        slot.request.cancel()
        slot.submission = None  # its frame's pixels can go
        is_old = slot.detector is not self._detector
        with self._lock:
            (self._left_behind if is_old else self._parked).append(slot)
        if is_old:
            return
        if self._spare:
            self.take_back(self._spare.pop())
        else:
            self._missing += 1

    def _visit_parked(self) -> None:
        """Put the requests that have come to rest to use again; let go of those left behind."""
        rested = [slot for slot in (*self._parked, *self._left_behind) if slot.is_idle()]
        if not rested:
            return
        with self._lock:
            self._parked = [slot for slot in self._parked if slot not in rested]
            self._left_behind = [slot for slot in self._left_behind if slot not in rested]
        for slot in rested:
            if slot.detector is not self._detector:
                slot.let_go()
            elif self._missing:
                self._missing -= 1
                self.take_back(slot)
            else:
                self._spare.append(slot)

    def _rebuild_pause_s(self) -> float:
        hung_models = len({id(slot.detector) for slot in self._left_behind})
        return _REBUILD_PAUSE_S * 2.0 ** min(hung_models, 16)

    def _rebuild(self, now_s: float) -> None:
        """Compile the model anew: its threads are held by requests that don't end."""
        self._rebuilt_at = now_s
        logger.warning(
            "model {}: {} requests hang on the device; compiling it anew",
            self._detector.name,
            len(self._parked),
        )
        try:
            detector = self._compile_model()
            free, spare = self._make_slots(detector)
        except VidpipeError as exc:
            logger.error("model {} can't be compiled anew: {}", self._detector.name, exc)
            return
        with self._lock:
            self._detector = detector
            self._left_behind += self._parked
            self._parked = []
            self._missing = 0
            old = [*self._free, *self._spare]
            self._free, self._spare = free, spare
            self._has_free.notify_all()
        for slot in old:
            slot.let_go()


def _most_parked(detector: CompiledDetector) -> int:
    """Return how many parked requests say that the device is held."""
    return max(1, detector.optimal_requests // 2)
