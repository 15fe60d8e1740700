"""The threads that read answers: decode, give the request back, run the chains.

A thread that waited for its answer itself (``call: sync``) does the same by ``handle``.

Their channel holds every request, every passed frame of the windows and one resumption a stream:
its capacity is the sum of those, so that no put ever waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from loguru import logger

from vidpipe.analytics.chain import StreamChain
from vidpipe.errors import InferenceError
from vidpipe.interfaces import Submission
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import redact, trace_of
from vidpipe.types import NO_DETECTIONS, FrameResult, PassedFrame, StreamEnd, Verdict


@dataclass(frozen=True, slots=True)
class Resumption:
    """A chain that waited for room is to go on."""

    stream: str


Work: TypeAlias = Submission | PassedFrame | StreamEnd | Resumption


class Workers:
    """What the worker threads share: ``run`` is their loop, the rest is for any thread."""

    def __init__(self, capacity: int, chain_of: Callable[[str], StreamChain]) -> None:
        """Hold at most ``capacity`` pieces of work; ``chain_of`` finds a stream's chain."""
        self._work: Channel[Work] = Channel(capacity)
        self._chain_of = chain_of

    def reserve(self, count: int) -> None:
        """Make room for so many more pieces: of a pool's requests, of a stream's window."""
        self._work.capacity += count

    def put(self, work: Work) -> None:
        """Leave a piece of work; never waits. What comes after ``close`` is discarded.

        Raises:
            RuntimeError: The capacity was reckoned too small.
        """
        try:
            has_fitted = self._work.put(work, timeout_s=0)
        except ChannelClosedError:
            return
        if not has_fitted:
            raise RuntimeError(f"the workers' channel of {self._work.capacity} is full")

    def resume(self, stream: str) -> None:
        """A sink of the stream has room again."""
        if self._chain_of(stream).take_stall():
            self.put(Resumption(stream))

    def close(self) -> None:
        """Let the threads finish what is left, and end."""
        self._work.close()

    def run(self) -> None:
        """Work until closed."""
        for work in self._work:
            self.handle(work)

    def handle(self, work: Work) -> None:
        """Do a piece of work, on any thread."""
        match work:
            case Resumption(stream):
                self._chain_of(stream).resume()
            case PassedFrame(frame, sequence):
                passed = FrameResult(frame, NO_DETECTIONS, Verdict.PASSED)
                self._chain_of(frame.stream).offer(sequence, passed)
            case StreamEnd(stream, sequence):
                self._chain_of(stream).offer(sequence, work)
            case _:
                self._chain_of(work.frame.stream).offer(work.sequence, _result(work))


def _result(submission: Submission) -> FrameResult:
    """Read a submission's answer and give its request back at once."""
    frame = submission.frame
    try:
        return FrameResult(frame, submission.detections())
    except InferenceError as exc:
        error = str(exc) or repr(exc)
    except Exception as exc:  # noqa: BLE001 - the boundary of a stage: one frame fails, no other
        logger.bind(stream=frame.stream).error("frame {}: {}", frame.number, trace_of(exc))
        error = f"{type(exc).__name__}: {exc}"
    finally:
        submission.release()
    return FrameResult(frame, NO_DETECTIONS, Verdict.FAILED, redact(error))
