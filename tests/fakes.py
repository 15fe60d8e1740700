"""Real classes that stand in for cameras, devices and disks; each implements a seam's Protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tests.builders import make_picture, make_source
from vidpipe.errors import InferenceError
from vidpipe.interfaces import RequestSlot, Submission
from vidpipe.types import NO_DETECTIONS, Decoded, Detections, Frame, FrameResult, SourceInfo


class FakeClock:
    """Monotonic seconds that only the test moves."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.now_s = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


class FakeReader:
    """A source that returns what it is given: pictures, or an error in place of one."""

    def __init__(
        self, script: Sequence[Decoded | Exception], info: SourceInfo | None = None
    ) -> None:
        """Play the script once."""
        self._script = list(script)
        self._info = info or make_source()
        self.is_closed = False

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself."""
        return self._info

    def read(self) -> Decoded | None:
        """Return or raise what comes next."""
        if not self._script:
            return None
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        """Note it."""
        self.is_closed = True


def decoded(count: int, *, rate_fps: float = 25.0, first: int = 0) -> list[Decoded]:
    """Return so many grey pictures in even steps of time."""
    picture = make_picture()
    return [
        Decoded(picture, number / rate_fps, 1.0 / rate_fps)
        for number in range(first, first + count)
    ]


class FakeSubmission:
    """A frame's stay in the fake pool; the test says when it is settled."""

    def __init__(self, pool: FakePool, frame: Frame, sequence: int) -> None:
        """Begin without an answer."""
        self._pool = pool
        self._frame = frame
        self._sequence = sequence
        self.answer: Detections | Exception = NO_DETECTIONS

    @property
    def frame(self) -> Frame:
        """The frame."""
        return self._frame

    @property
    def sequence(self) -> int:
        """Its place."""
        return self._sequence

    def detections(self) -> Detections:
        """Return or raise the answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def release(self) -> None:
        """Give the request back."""
        self._pool.give_back(object())


class FakePool:
    """A pool whose device is a function of the frame, answering at once or when told.

    ``device`` returns the detections, or raises InferenceError.
    """

    def __init__(
        self,
        size: int,
        deliver: Callable[[Submission], None] | None = None,
        device: Callable[[Frame], Detections] = lambda _: NO_DETECTIONS,
    ) -> None:
        """Begin with all requests free; without ``deliver``, answers wait in ``submitted``."""
        self._size = size
        self._deliver = deliver
        self._device = device
        self._credits = threading.Semaphore(size)
        self._is_closed = False
        self.submitted: list[FakeSubmission] = []

    @property
    def size(self) -> int:
        """The number of requests."""
        return self._size

    def acquire(self) -> RequestSlot | None:
        """Wait for a credit."""
        self._credits.acquire()
        return None if self._is_closed else object()

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Answer at once, or keep for the test."""
        submission = FakeSubmission(self, frame, sequence)
        try:
            submission.answer = self._device(frame)
        except InferenceError as exc:
            submission.answer = exc
        self.submitted.append(submission)
        if self._deliver is not None:
            self._deliver(submission)

    def give_back(self, slot: RequestSlot) -> None:
        """Return a credit."""
        self._credits.release()

    def flush_in_s(self) -> float | None:
        """Return None: frames go one by one."""
        return None

    def flush(self) -> None:
        """Do nothing: nothing is gathered."""

    def close(self) -> None:
        """Wake the dispatcher for good."""
        self._is_closed = True
        self._credits.release()


class RecordingSink:
    """A sink that keeps what it is given; ``gate`` holds it, ``error`` makes it fail."""

    def __init__(
        self,
        *,
        needs_picture: bool = True,
        gate: threading.Event | None = None,
        error: Exception | None = None,
    ) -> None:
        """Begin empty."""
        self._needs_picture = needs_picture
        self._gate = gate
        self._error = error
        self.results: list[FrameResult] = []
        self.is_closed = threading.Event()

    @property
    def needs_picture(self) -> bool:
        """As told."""
        return self._needs_picture

    def write(self, result: FrameResult) -> None:
        """Keep a result, once the gate is open, or fail."""
        if self._gate is not None:
            self._gate.wait()
        if self._error is not None:
            raise self._error
        self.results.append(result)

    def close(self) -> list[str]:
        """Note it."""
        self.is_closed.set()
        return []

    @property
    def numbers(self) -> list[int]:
        """The frames' numbers, in the order of writing."""
        return [result.frame.number for result in self.results]
