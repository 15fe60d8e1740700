"""The shared pool of asynchronous requests: double buffering, and a reaper for the unanswered.

A pool has twice as many requests as the device runs at once, and one: while some execute, others
are being filled and others read, so the device always finds a filled request waiting.

Each submission is settled once, by one atomic move, either by the device's callback or by the
reaper; the loser discards. A request whose inference fails never calls back, so the reaper asks;
one that is not answered in time is cancelled, parked until it is idle, and replaced. When too many
are parked the device's own threads are held, and the pool is rebuilt from a model compiled anew.
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
from vidpipe.inference.request import BoundRequest
from vidpipe.interfaces import Clock, RequestSlot, Submission
from vidpipe.types import Detections, Frame

_REAP_INTERVAL_S = 0.05
_ASK_AFTER_S = 0.1
"""Asking a running request costs a microsecond, but there is no need to ask a healthy one."""

_CALLBACK_RETURNS_S = 1.0

_REBUILD_PAUSE_S = 30.0
"""A model that hangs again and again is compiled again at most so often."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What is chosen about a pool.

    Attributes:
        requests: The number of requests, or None for twice what the device runs at once, and one.
        timeout_s: A request older than this is lost, and replaced.
    """

    requests: int | None = None
    timeout_s: float = 10.0


class _Slot:
    """A request and the submission that it is working on."""

    __slots__ = ("detector", "is_spent", "request", "submission")

    def __init__(self, detector: CompiledDetector, answered: Callable[[_Slot], None]) -> None:
        self.detector = detector
        self.request = detector.create_request()
        self.request.set_callback(lambda: answered(self))
        self.submission: _Submission | None = None
        self.is_spent = False
        """True after an answer: the callback may still be about to return."""

    def settle_down(self) -> None:
        """Wait until the callback of the last inference has returned.

        OpenVINO puts it back in its place only then: a quick inference would call nobody.
        """
        if self.is_spent:
            self.is_spent = False
            self.request.wait(_CALLBACK_RETURNS_S)


class _Submission:
    """Implements ``Submission``: one frame's stay in the pool."""

    __slots__ = ("_error", "_frame", "_once", "_pool", "_sequence", "_slot", "started_at")

    def __init__(self, pool: Pool, slot: _Slot, frame: Frame, sequence: int) -> None:
        self._pool = pool
        self._slot: _Slot | None = slot
        self._frame = frame
        self._sequence = sequence
        self._error: str | None = None
        # A lock that is taken once and never given back is the cheapest atomic move.
        self._once = threading.Lock()
        self.started_at = 0.0

    @property
    def frame(self) -> Frame:
        return self._frame

    @property
    def sequence(self) -> int:
        return self._sequence

    def settle(self) -> bool:
        """Return True to the first that asks, and False ever after."""
        return self._once.acquire(blocking=False)

    def fail(self, error: str, *, keeps_request: bool) -> None:
        """Note why there is no answer; call after ``settle``, before the delivery."""
        self._error = error
        if not keeps_request:
            self._slot = None

    def detections(self) -> Detections:
        if self._error is not None:
            raise InferenceError(self._error)
        slot = self._slot
        if slot is None or slot.request.geometry is None:
            raise InferenceError("the request was given back already")
        return slot.detector.decode(slot.request, slot.request.geometry)

    def release(self) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            self._pool.take_back(slot)


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
        self._running: set[_Slot] = set()
        self._parked: list[BoundRequest] = []
        self._left_behind: list[BoundRequest] = []
        """Held requests of models that were replaced: letting one go would wait for it."""
        self._rebuilt_at = -math.inf
        self._detector = compile_model()
        self._size = settings.requests or 2 * self._detector.optimal_requests + 1
        self._free = deque(_Slot(self._detector, self._answered) for _ in range(self._size))

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
        return len(self._parked) < max(1, self._detector.optimal_requests // 2)

    def acquire(self) -> RequestSlot | None:
        """Wait for a free request; None once the pool is closed."""
        with self._lock:
            while not self._free and not self._is_closed:
                self._has_free.wait()
            return None if self._is_closed else self._free.popleft()

    def give_back(self, slot: RequestSlot) -> None:
        """Return a slot that was not used."""
        assert isinstance(slot, _Slot)
        self.take_back(slot)

    def take_back(self, slot: _Slot) -> None:
        """Let a slot be used again; one of a model that has been replaced is let go instead."""
        with self._lock:
            slot.submission = None
            if slot.detector is self._detector:
                self._free.append(slot)
                self._has_free.notify()

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Fill the request's tensor with the frame and start it; failures are delivered."""
        assert isinstance(slot, _Slot)
        submission = _Submission(self, slot, frame, sequence)
        slot.submission = submission
        try:
            slot.settle_down()
            slot.detector.fill(slot.request, frame.picture)
            submission.started_at = self._clock()
            with self._lock:
                self._running.add(slot)
            slot.request.start()
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one frame fails, no other
            if not isinstance(exc, VidpipeError):
                logger.bind(stream=frame.stream).opt(exception=exc).error("frame {}", frame.number)
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
        """Give out no more requests, cancel what runs, and let ``reap`` return; wakes everyone."""
        with self._lock:
            self._is_closed = True
            self._has_free.notify_all()
            running = list(self._running)
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
            if not self.is_ready and now_s - self._rebuilt_at >= _REBUILD_PAUSE_S:
                self._rebuild(now_s)

    def _answered(self, slot: _Slot) -> None:
        """Take an answer, on a thread of the device: no copy, no start, no wait, no raise."""
        submission = slot.submission
        if submission is not None and submission.settle():
            slot.is_spent = True
            self._finish(slot, submission)

    def _finish(self, slot: _Slot, submission: _Submission) -> None:
        try:
            with self._lock:
                self._running.discard(slot)
                if not self._running:
                    self._is_idle.notify_all()
            self._deliver(submission)
        except Exception as exc:  # noqa: BLE001 - an exception here would abort the process
            logger.opt(exception=exc).critical("an answer could not be handed over")

    def _examine(self, slot: _Slot, now_s: float) -> None:
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

    def _replace(self, slot: _Slot) -> None:
        """Cancel and park a slot's request, and put a new one in its place."""
        slot.request.cancel()
        if slot.detector is not self._detector:
            self._left_behind.append(slot.request)
            return
        try:
            fresh = _Slot(slot.detector, self._answered)
        except VidpipeError as exc:
            logger.error("the pool of {} has lost a request: {}", self._detector.name, exc)
            fresh = None
        with self._lock:
            self._parked.append(slot.request)
        if fresh is not None:
            self.take_back(fresh)

    def _visit_parked(self) -> None:
        """Let go of the requests that have come to rest."""
        with self._lock:
            self._parked = [request for request in self._parked if not _is_idle(request)]
            self._left_behind = [request for request in self._left_behind if not _is_idle(request)]

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
            slots = [_Slot(detector, self._answered) for _ in range(self._size)]
        except VidpipeError as exc:
            logger.error("model {} can't be compiled anew: {}", self._detector.name, exc)
            return
        with self._lock:
            self._detector = detector
            self._left_behind += self._parked
            self._parked = []
            self._free = deque(slots)
            self._has_free.notify_all()


def _is_idle(request: BoundRequest) -> bool:
    try:
        return request.wait(0)
    except InferenceError:
        return True
