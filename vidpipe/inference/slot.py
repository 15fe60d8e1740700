"""A request of the pool, and the frames' stay in it: settled once together, released one by one."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from vidpipe.errors import InferenceError
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.model import CompiledDetector
from vidpipe.interfaces import Clock
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.types import Detections, Frame, Picture

_CALLBACK_RETURNS_S = 1.0


class PooledDetector(Protocol):
    """What a pool runs: a detector on its device, compiled for one or several sizes of batch."""

    @property
    def name(self) -> str:
        """The model's name in the configuration."""

    @property
    def optimal_requests(self) -> int:
        """How many requests keep the device busy."""

    @property
    def sizes(self) -> Sequence[CompiledDetector]:
        """The same model for batches of rising size, of which the last is what a slot holds."""


class Slot:
    """A request, or one for each compiled size of batch over the same input, and what it works on.

    OpenVINO keeps the callback, and so the slot and its pool, out of the garbage collector's sight:
    a slot lives until ``let_go``. That also keeps a running request from being destroyed, which
    would wait for its end.

    One thread at a time may fill and start it: whoever holds it.
    """

    __slots__ = (
        "_geometries",
        "_has_started",
        "_in_use",
        "_requests",
        "_rows",
        "_tie",
        "batch",
        "detector",
        "held",
        "is_spent",
        "request",
    )

    def __init__(
        self, detector: PooledDetector, answered: Callable[[Slot], None] | None = None
    ) -> None:
        """Make the requests.

        Args:
            detector: What they run.
            answered: Called on a thread of the device after each answer; must not raise. None: the
                answer is waited for.

        Raises:
            ModelError: The device has no room for another.
        """
        self.detector = detector
        largest = detector.sizes[-1].create_request()
        self._rows = largest.rows
        smaller = [size.create_request(largest.pixels) for size in detector.sizes[:-1]]
        self._requests = (*smaller, largest)
        self._geometries: list[Geometry | None] = [None] * len(self._rows)
        self._in_use = detector.sizes[-1]
        self.request = largest
        """The one that runs, or ran last."""
        self._has_started = False
        self.batch: Batch | None = None
        self.held = 0
        """How many frames of the batch have not been released; the pool's lock guards it."""
        self.is_spent = False
        """True after an answer: the callback may still be about to return."""
        self._tie = tie = [self]
        if answered is None:
            return

        def call_back() -> None:
            for slot in tie:
                answered(slot)

        for request in self._requests:
            request.set_callback(call_back)

    @property
    def places(self) -> int:
        """How many frames it holds at most."""
        return len(self._rows)

    def fill(self, row: int, picture: Picture) -> None:
        """Write a picture into a row of the input."""
        last = self._geometries[row]
        self._geometries[row] = self._in_use.fill_pixels(self._rows[row], picture, last)

    def places_for(self, count: int) -> int:
        """Return the smallest compiled size that holds so many frames."""
        return next(s.batch_size for s in self.detector.sizes if s.batch_size >= count)

    def choose(self, count: int) -> None:
        """Take the request of the smallest size that holds so many frames, to be started."""
        self._settle_down()
        self._has_started = True
        places = self.places_for(count)
        for size, request in zip(self.detector.sizes, self._requests, strict=True):
            if size.batch_size == places:
                self._in_use, self.request = size, request

    def decode(self, row: int) -> Detections:
        """Return what was found in a row's picture.

        Raises:
            InferenceError: The outputs are not what the model promised.
        """
        geometry = self._geometries[row]
        assert geometry is not None
        return self._in_use.decode(self.request, geometry, row)

    def _settle_down(self) -> None:
        """Wait until the callback of the last inference has returned.

        OpenVINO puts it back in its place only then: a quick inference would call nobody.
        """
        if self.is_spent:
            self.is_spent = False
            self.request.wait(_CALLBACK_RETURNS_S)

    def is_idle(self) -> bool:
        """True if the device is done with the request, well or not."""
        try:
            return not self._has_started or self.request.wait(0)
        except InferenceError:
            return True

    def let_go(self) -> None:
        """Allow the request's end; only while it is idle, and not from its callback."""
        self._tie.clear()
        for request in self._requests:
            request.forget_callback()

    @property
    def is_gone(self) -> bool:
        """True once the device holds nothing of it, after ``let_go``."""
        return not self._tie and all(request.is_forgotten for request in self._requests)


class Batch:
    """The frames that one start of a request answers, often a single one: settled once."""

    __slots__ = ("_once", "began_at", "frames", "started_at")

    def __init__(self) -> None:
        """Begin with no frames and no answer."""
        # A lock that is taken once and never given back is the cheapest atomic move.
        self._once = threading.Lock()
        self.frames: list[PooledFrame] = []
        """By row."""
        self.began_at = math.inf
        """When it was about to be started."""
        self.started_at = math.inf
        """Set once the device has the request: asked before, it would speak of its last batch."""

    def settle(self) -> bool:
        """Return True to the first that asks, and False ever after; from any thread."""
        return self._once.acquire(blocking=False)


class PooledFrame:
    """Implements ``Submission``: one frame's stay in a pool."""

    __slots__ = ("_error", "_frame", "_keeper", "_row", "_sequence", "_slot")

    def __init__(self, frame: Frame, sequence: int, keeper: Keeper) -> None:
        """Begin without a place."""
        self._frame = frame
        self._sequence = sequence
        self._keeper = keeper
        self._slot: Slot | None = None
        self._row = 0
        self._error: str | None = None

    @property
    def frame(self) -> Frame:
        """The frame that was submitted."""
        return self._frame

    @property
    def sequence(self) -> int:
        """The frame's place in its stream's order."""
        return self._sequence

    def move_to(self, slot: Slot | None, row: int = 0) -> None:
        """Say where the answer will be, and what ``release`` gives back."""
        self._slot = slot
        self._row = row

    def fail(self, error: str) -> None:
        """Note why there is no answer; before the delivery."""
        self._error = error

    def detections(self) -> Detections:
        """Decode the answer; call before ``release``.

        Raises:
            InferenceError: There is none, or it can't be read.
        """
        if self._error is not None:
            raise InferenceError(self._error)
        slot = self._slot
        if slot is None:
            raise InferenceError("the request was given back already")
        began_at = self._keeper.clock()
        found = slot.decode(self._row)
        self._keeper.stages.record(Stage.BOXES, self._keeper.clock() - began_at)
        return found

    def release(self) -> None:
        """Give the request back to the pool; may be repeated."""
        slot, self._slot = self._slot, None
        if slot is not None:
            self._keeper.release(slot)


class Keeper(Protocol):
    """What a frame's stay knows of its pool."""

    @property
    def clock(self) -> Clock:
        """Monotonic seconds."""

    @property
    def stages(self) -> StageMeters:
        """Where durations are counted."""

    def release(self, slot: Slot) -> None:
        """One frame of a slot's batch is done with it."""
