"""The requests of a pool: which are free, which are spare, which the device holds for too long.

All are made at once, with the spare ones that take the place of parked ones: the CPU's plugin makes
no further one, and keeps who asks, while one of its threads is held. All have run once before they
are given out. When too many are parked the device's own threads are held, and everything is made
anew from a model compiled anew.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable

from loguru import logger

from vidpipe.errors import ModelError, VidpipeError
from vidpipe.inference.slot import PooledDetector, Slot
from vidpipe.inference.warmup import warm_up

_FIRST_ANSWER_S = 10.0
"""The least time for a first answer, for which much is made ready on some devices."""

_REBUILD_PAUSE_S = 30.0
"""A model that hangs again and again is compiled again at most so often; twice as seldom for each
compiled one that still hangs, since that keeps its memory."""

_REST_TICK_S = 0.002


class Roster:
    """The slots that aren't in use; every method may be called from any thread, but for ``tend``.

    Who takes a slot has it for itself until it is put back or parked.
    """

    def __init__(
        self,
        compile_model: Callable[[], PooledDetector],
        size: int | None,
        timeout_s: float,
        answered: Callable[[Slot], None] | None,
    ) -> None:
        """Compile the model, make its requests and run each of them once.

        Args:
            compile_model: Called now, and again whenever everything is made anew.
            size: The number of requests, or None for twice what the device runs at once, and one.
            timeout_s: How long an answer may take; the first may take longer.
            answered: See ``Slot``.

        Raises:
            ModelError: The model can't be compiled, or its first inference isn't answered.
        """
        self._compile_model = compile_model
        self._timeout_s = timeout_s
        self._answered = answered
        self._lock = threading.Lock()
        self._has_free = threading.Condition(self._lock)
        self._is_closed = False
        self._parked: list[Slot] = []
        self._left_behind: list[Slot] = []
        """Held requests of models that were replaced: letting one go would wait for it."""
        self._made: list[Slot] = []
        """All that there are, whoever has them."""
        self._missing = 0
        """How many parked ones have no spare one in their place."""
        self._rebuilt_at = -math.inf
        self.detector = compile_model()
        """The compiled model in force."""
        self.size = size or 2 * self.detector.optimal_requests + 1
        """The number of requests."""
        self._free, self._spare = self._make_slots(self.detector)

    @property
    def free(self) -> int:
        """The number of requests that can be taken."""
        return len(self._free)

    @property
    def parked(self) -> int:
        """The number of requests that are held by the device beyond their deadline."""
        return len(self._parked)

    @property
    def held(self) -> list[Slot]:
        """All that the device holds beyond their deadline, those of replaced models, too."""
        with self._lock:
            return [*self._parked, *self._left_behind]

    @property
    def is_ready(self) -> bool:
        """False while so many requests are parked that the device can't be trusted to answer."""
        return len(self._parked) < _most_parked(self.detector)

    def take(self) -> Slot | None:
        """Wait for a free slot; None once closed."""
        with self._lock:
            while not self._free and not self._is_closed:
                self._has_free.wait()
            return None if self._is_closed else self._free.popleft()

    def take_now(self) -> Slot | None:
        """Return a free slot, or None if there is none at the moment."""
        with self._lock:
            return self._free.popleft() if self._free else None

    def put_back(self, slot: Slot) -> None:
        """Let a slot be taken again; one of a model that has been replaced is let go instead."""
        with self._lock:
            is_wanted = slot.detector is self.detector and not self._is_closed
            if is_wanted:
                self._free.append(slot)
                self._has_free.notify()
        if not is_wanted:
            slot.let_go()

    def grow(self, size: int) -> None:
        """Make requests until there are so many, and run each of the new ones once.

        Raises:
            ModelError: The device has no room for them, or doesn't answer.
        """
        more = size - self.size
        if more <= 0:
            return
        detector = self.detector
        slots = [Slot(detector, self._answered) for _ in range(more)]
        with self._lock:
            self._made = [slot for slot in self._made if not slot.is_gone] + slots
        warm_up(detector, slots, max(self._timeout_s, _FIRST_ANSWER_S))
        with self._lock:
            self.size = size
        for slot in slots:
            self.put_back(slot)  # or let go, if the model was replaced meanwhile

    def shrink(self, size: int) -> None:
        """Let free requests go until there are no more than so many, or none is free."""
        while self.size > size and (slot := self.take_now()) is not None:
            slot.let_go()
            with self._lock:
                self.size -= 1

    def in_force(self, slot: Slot) -> Slot:
        """Return a free slot in place of an unused one whose model was replaced meanwhile."""
        with self._lock:
            if slot.detector is self.detector or not self._free:
                return slot
            fresh = self._free.popleft()
        slot.let_go()
        return fresh

    def park(self, slot: Slot) -> None:
        """Put a spare slot, if there is one, in the place of one that the device holds."""
        with self._lock:
            if slot.detector is not self.detector:
                self._left_behind.append(slot)
                return
            self._parked.append(slot)
            if not self._spare:
                self._missing += 1
                return
            other = self._spare.pop()
        self.put_back(other)

    def close(self) -> None:
        """Give out nothing more; wakes everyone."""
        with self._lock:
            self._is_closed = True
            self._has_free.notify_all()
            gone = [*self._free, *self._spare]
            self._free.clear()
            self._spare.clear()
        for slot in gone:
            slot.let_go()

    def rest(self, timeout_s: float) -> bool:
        """After ``close``, and once nobody is at work any more: let all go, and see them gone.

        A program that ends while a thread of the device lets go of one is aborted.

        Returns:
            False if the device holds some of them beyond that time.
        """
        until = time.monotonic() + timeout_s
        with self._lock:
            left = self._made
        while left:
            for slot in left:
                if slot.is_idle():
                    slot.let_go()
            left = [slot for slot in left if not slot.is_gone]
            if left and time.monotonic() >= until:
                break
            if left:
                time.sleep(_REST_TICK_S)
        with self._lock:
            self._made = left
        return not left

    def tend(self, now_s: float) -> bool:
        """Take back what has come to rest, and make everything anew if it is time.

        One thread's: the reaper's.

        Returns:
            True if a slot may have become free.
        """
        has_changed = self.visit_parked()
        if not self.is_ready and now_s - self._rebuilt_at >= self._rebuild_pause_s():
            has_changed = self._rebuild(now_s) or has_changed
        return has_changed

    def visit_parked(self) -> bool:
        """Take back what has come to rest; return True if there was something. See ``tend``."""
        rested = {slot for slot in self.held if slot.is_idle()}
        if not rested:
            return False
        with self._lock:
            back = [slot for slot in self._parked if slot in rested]
            gone = [slot for slot in self._left_behind if slot in rested]
            self._parked = _without(self._parked, rested)
            self._left_behind = _without(self._left_behind, rested)
            used = back[: self._missing]
            self._missing -= len(used)
            if self._is_closed:
                gone += back[len(used) :]
            else:
                self._spare += back[len(used) :]
        for slot in gone:
            slot.let_go()
        for slot in used:
            self.put_back(slot)
        return True

    def _make_slots(self, detector: PooledDetector) -> tuple[deque[Slot], list[Slot]]:
        """Return the slots for use, and the spare ones."""
        count = self.size + _most_parked(detector)
        slots = [Slot(detector, self._answered) for _ in range(count)]
        with self._lock:
            self._made = [slot for slot in self._made if not slot.is_gone] + slots
        try:
            warm_up(detector, slots, max(self._timeout_s, _FIRST_ANSWER_S))
        except ModelError:
            with self._lock:
                self._left_behind += slots
            raise
        return deque(slots[: self.size]), slots[self.size :]

    def _rebuild_pause_s(self) -> float:
        hung_models = len({id(slot.detector) for slot in self._left_behind})
        return _REBUILD_PAUSE_S * 2.0 ** min(hung_models, 16)

    def _rebuild(self, now_s: float) -> bool:
        """Compile the model anew: its threads are held by requests that don't end."""
        self._rebuilt_at = now_s
        name = self.detector.name
        logger.warning(
            "model {}: {} requests hang on the device; compiling it anew", name, self.parked
        )
        try:
            detector = self._compile_model()
            free, spare = self._make_slots(detector)
        except VidpipeError as exc:
            logger.error("model {} can't be compiled anew: {}", name, exc)
            return False
        with self._lock:
            old = [*self._free, *self._spare]
            if self._is_closed:
                old = [*free, *spare]
            else:
                self.detector = detector
                self._left_behind += self._parked
                self._parked = []
                self._missing = 0
                self._free, self._spare = free, spare
                self._has_free.notify_all()
        for slot in old:
            slot.let_go()
        return True


def _without(slots: Iterable[Slot], others: Collection[Slot]) -> list[Slot]:
    return [slot for slot in slots if slot not in others]


def _most_parked(detector: PooledDetector) -> int:
    """Return how many parked requests say that the device is held."""
    return max(1, detector.optimal_requests // 2)
