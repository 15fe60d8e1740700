"""A request of the pool, and a frame's stay in it: settled once, released once."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from vidpipe.errors import InferenceError
from vidpipe.inference.model import CompiledDetector
from vidpipe.types import Detections, Frame

_CALLBACK_RETURNS_S = 1.0


class Slot:
    """A request and the frame that it is working on.

    OpenVINO keeps the callback, and so the slot and its pool, out of the garbage collector's sight:
    a slot lives until ``let_go``. That also keeps a running request from being destroyed, which
    would wait for its end.
    """

    __slots__ = ("_tie", "detector", "is_spent", "request", "submission")

    def __init__(self, detector: CompiledDetector, answered: Callable[[Slot], None]) -> None:
        """Make a request; ``answered`` is called on a thread of the device, and must not raise.

        Raises:
            ModelError: The device has no room for another.
        """
        self.detector = detector
        self.request = detector.create_request()
        self._tie = tie = [self]

        def call_back() -> None:
            for slot in tie:
                answered(slot)

        self.request.set_callback(call_back)
        self.submission: PooledFrame | None = None
        self.is_spent = False
        """True after an answer: the callback may still be about to return."""

    def settle_down(self) -> None:
        """Wait until the callback of the last inference has returned.

        OpenVINO puts it back in its place only then: a quick inference would call nobody.
        """
        if self.is_spent:
            self.is_spent = False
            self.request.wait(_CALLBACK_RETURNS_S)

    def is_idle(self) -> bool:
        """True if the device is done with the request, well or not; not for one never started."""
        try:
            return self.request.wait(0)
        except InferenceError:
            return True

    def let_go(self) -> None:
        """Allow the request's end; only while it is idle, and not from its callback."""
        self._tie.clear()


class PooledFrame:
    """Implements ``Submission``: one frame's stay in a pool."""

    __slots__ = ("_error", "_frame", "_give_back", "_once", "_sequence", "_slot", "started_at")

    def __init__(
        self, slot: Slot, frame: Frame, sequence: int, give_back: Callable[[Slot], None]
    ) -> None:
        """Begin without an answer; ``give_back`` takes the slot when it is released."""
        self._give_back = give_back
        self._slot: Slot | None = slot
        self._frame = frame
        self._sequence = sequence
        self._error: str | None = None
        # A lock that is taken once and never given back is the cheapest atomic move.
        self._once = threading.Lock()
        self.started_at = math.inf
        """Set once the device has the request: asked before, it would speak of its last frame."""

    @property
    def frame(self) -> Frame:
        """The frame that was submitted."""
        return self._frame

    @property
    def sequence(self) -> int:
        """The frame's place in its stream's order."""
        return self._sequence

    def settle(self) -> bool:
        """Return True to the first that asks, and False ever after; from any thread."""
        return self._once.acquire(blocking=False)

    def fail(self, error: str, *, keeps_request: bool) -> None:
        """Note why there is no answer; call after ``settle``, before the delivery."""
        self._error = error
        if not keeps_request:
            self._slot = None

    def detections(self) -> Detections:
        """Decode the answer; call before ``release``.

        Raises:
            InferenceError: There is none, or it can't be read.
        """
        if self._error is not None:
            raise InferenceError(self._error)
        slot = self._slot
        if slot is None or slot.request.geometry is None:
            raise InferenceError("the request was given back already")
        return slot.detector.decode(slot.request, slot.request.geometry)

    def release(self) -> None:
        """Give the request back to the pool; may be repeated."""
        slot, self._slot = self._slot, None
        if slot is not None:
            self._give_back(slot)
