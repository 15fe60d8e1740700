"""The threads that read answers: decode, give the request back, run the chains.

A thread that waited for its answer itself (``call: sync``) does the same by ``handle``.

Their channel holds every request, every passed frame of the windows and one resumption a stream:
its capacity is the sum of those, so that no put ever waits.
"""

from __future__ import annotations

import threading
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
    """A chain that waited for room is to go on.

    The chain itself, and not the stream's name: that may belong to another life by then.
    """

    chain: StreamChain


@dataclass(frozen=True, slots=True)
class Pulse:
    """Asks whether anybody works: the first one to have time says so."""

    answer: threading.Event


NO_STREAM = "#"
"""How the names of frames begin that are of no stream; no stream's id does."""

Work: TypeAlias = Submission | PassedFrame | StreamEnd | Resumption | Pulse


class Workers:
    """What the worker threads share: ``run`` is their loop, the rest is for any thread."""

    def __init__(self, capacity: int, chain_of: Callable[[str], StreamChain]) -> None:
        """Hold at most ``capacity`` pieces of work; ``chain_of`` finds a stream's chain."""
        self._work: Channel[Work] = Channel(capacity)
        self._expected: dict[str, Callable[[FrameResult], None]] = {}
        self._chain_of = chain_of

    def reserve(self, count: int) -> None:
        """Make room for so many more pieces: of a pool's requests, of a stream's window.

        Fewer, where it is negative: of those all have to be done. One thread at a time.
        """
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

    def expect(self, name: str, settle: Callable[[FrameResult], None]) -> None:
        """Hand over the answer to the frame of this name, which begins with ``#``, to ``settle``.

        It is called once, on the thread that reads the answer, and must neither wait nor raise.
        """
        self._expected[name] = settle

    def forget(self, name: str) -> None:
        """Let go of an answer that may come still."""
        self._expected.pop(name, None)

    def resume(self, chain: StreamChain) -> None:
        """A sink behind a chain has room again."""
        if chain.take_stall():
            self.put(Resumption(chain))

    def pulse(self) -> threading.Event:
        """Return what is set once one of the threads has time; takes one place, as other work."""
        answer = threading.Event()
        self.put(Pulse(answer))
        return answer

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
            case Resumption(chain):
                chain.resume()
            case Pulse(answer):
                answer.set()
            case PassedFrame(frame, sequence):
                passed = FrameResult(frame, NO_DETECTIONS, Verdict.PASSED)
                self._chain_of(frame.stream).offer(sequence, passed)
            case StreamEnd(stream, sequence):
                self._chain_of(stream).offer(sequence, work)
            case _ if work.frame.stream.startswith(NO_STREAM):
                result = _result(work)
                settle = self._expected.pop(work.frame.stream, None)
                if settle is not None:
                    settle(result)
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
