"""The seams between the stages: what one may ask of another without knowing it.

Every Protocol names the threads that call it and the errors that it may raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from vidpipe.types import (
    Decoded,
    Detections,
    Frame,
    FrameResult,
    SinkRequest,
    SourceInfo,
    SourceRequest,
)

Clock: TypeAlias = Callable[[], float]
"""Monotonic seconds; handed in, so that a test can hold time still."""


class Reader(Protocol):
    """An open source of pictures. One thread reads and closes it."""

    @property
    def info(self) -> SourceInfo:
        """What the source says of itself."""

    def read(self) -> Decoded | None:
        """Return the next picture, or None at the end of a recorded source.

        Raises:
            SourceError: The source failed, or ended before its time (cause INCOMPLETE, once all
                that could be decoded has been returned). A live source never returns None: its end
                is a loss.
        """

    def close(self) -> None:
        """Release everything that the source holds; may be called twice; never raises."""


OpenReader: TypeAlias = Callable[[], Reader]
"""Opens a source anew; raises SourceError; may block in native code beyond its timeout."""


class Submission(Protocol):
    """One frame's stay in a request pool, delivered when settled; one worker handles it."""

    @property
    def frame(self) -> Frame:
        """The frame that was submitted."""

    @property
    def sequence(self) -> int:
        """The frame's place in its stream's order."""

    def detections(self) -> Detections:
        """Decode the answer; call before ``release``.

        Raises:
            InferenceError: The device failed, or the deadline passed, or the outputs can't be read.
        """

    def release(self) -> None:
        """Give the request back to the pool, to be overwritten at once; never raises or blocks."""


class RequestSlot(Protocol):
    """A free request, held by its dispatcher: the credit to start one inference."""


class RequestPool(Protocol):
    """The requests of one compiled model, as a dispatcher's thread sees them."""

    def acquire(self) -> RequestSlot | None:
        """Wait for room for one frame; None once the pool is closed."""

    def submit(self, slot: RequestSlot, frame: Frame, sequence: int) -> None:
        """Fill the request's tensor with the frame and start it.

        Never raises: whatever fails is delivered as a failed submission. The slot is the pool's
        again.
        """

    def give_back(self, slot: RequestSlot) -> None:
        """Return a slot that was not used."""

    def flush_in_s(self) -> float | None:
        """Return in how many seconds gathered frames must be started; None if none are waiting."""

    def flush(self) -> None:
        """Start the frames that have been gathered; the slot that was acquired last is void."""


class ResultOutlet(Protocol):
    """Where one stream's results go, in order: its sinks' lanes, as its chain sees them."""

    @property
    def has_room(self) -> bool:
        """True if every blocking lane takes one result more; only ``write`` makes it False."""

    def write(self, result: FrameResult) -> None:
        """Hand a result to every lane; never waits, never raises. One thread at a time."""

    def close(self) -> None:
        """No result follows: the sinks write what they hold and finish. Returns at once."""


class Sink(Protocol):
    """One output of one stream. Its own thread opens, writes and closes it."""

    @property
    def needs_picture(self) -> bool:
        """False if pictures are never looked at; passed frames are not sent here then."""

    def write(self, result: FrameResult) -> None:
        """Write one result; opens the output with the first.

        Raises:
            SinkError: The output failed; nothing more will be written to it.
        """

    def close(self) -> list[str]:
        """Finish, check and publish what was written; return the paths of the finished files.

        Raises:
            SinkError: What was written can't be finished; the message says where the part is.
        """


class SourcePlugin(Protocol):
    """What an entry point of the group ``vidpipe.sources`` names: an object, or a whole module.

    The entry point's name is the scheme: ``slideshow`` opens ``slideshow:...``.
    """

    @property
    def is_live(self) -> bool:
        """True if what it opens can't wait and is opened again when it is lost, as a camera."""

    def open(self, request: SourceRequest) -> Reader:
        """Open an address, on the stream's capture thread.

        Raises:
            SourceError: It can't be opened; a live stream tries again.
        """


class SinkPlugin(Protocol):
    """What an entry point of the group ``vidpipe.sinks`` names: often the sink's class itself.

    The entry point's name is the output's type.
    """

    def __call__(self, request: SinkRequest) -> Sink:
        """Return a sink for one output of one stream, without opening anything yet.

        Raises:
            ValueError: A key of the output is wrong; the text says which, and is reported as a
                fault of the configuration.
        """
