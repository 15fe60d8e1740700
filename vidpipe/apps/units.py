"""The parts of an engine, as it sees them: loops to run and to end, and what they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from vidpipe.apps.outcome import Failure, StreamRecord
from vidpipe.config.stream import StreamConfig
from vidpipe.outputs.fanout import SinkLane
from vidpipe.runtime.meters import StreamMeter, StreamStats
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import CaptureReport, Frame, FrameResult, Overflow, PoolReport


class CaptureLoop(Protocol):
    """A stream's capture, as its thread and the pipeline see it."""

    @property
    def is_live(self) -> bool:
        """True if the source has no end of its own."""

    @property
    def is_held(self) -> bool:
        """True if native code holds a thread of it that was given up."""

    def run(self) -> None:
        """Capture until the source ends or the capture is stopped."""

    def stop(self) -> None:
        """Ask the loop to end."""

    def report(self) -> CaptureReport:
        """Return what became of it so far."""

    @property
    def position(self) -> tuple[int, int]:
        """The epoch and the frame's number that come next: where another life goes on."""


class LaneLoop(Protocol):
    """A stream's place at its dispatcher."""

    def end(self) -> None:
        """Take no more frames."""

    def abort(self) -> None:
        """Drop what waits, too."""

    def depth(self) -> int:
        """Count the frames that wait."""

    def resize(self, window: int) -> None:
        """Let so many frames be on their way from now on."""


class DispatchLoop(Protocol):
    """The lanes that feed a pool."""

    @property
    def waiting_ahead(self) -> int:
        """How many frames of no stream go ahead of the others."""

    def put_ahead(self, frame: Frame, give_up: Callable[[], None]) -> bool:
        """Let a frame of no stream go ahead; False if there is no room."""

    def withdraw(self, frame: Frame) -> None:
        """Forget a frame that was put ahead, if it waits still."""

    def close(self) -> None:
        """Take no more frames at all."""

    def abort(self) -> None:
        """Drop what waits, too."""


class PoolLoop(Protocol):
    """A pool of requests and its reaper."""

    @property
    def capacity(self) -> int:
        """How many frames it takes at once."""

    @property
    def is_held(self) -> bool:
        """True if the device still runs a request."""

    def report(self, name: str) -> PoolReport:
        """Return how it stands, under a name."""

    def reap(self) -> None:
        """Look after requests that don't answer, until closed."""

    def close(self) -> None:
        """Give out no more requests; what runs is cancelled."""

    def rest(self, timeout_s: float) -> None:
        """After ``close``: wait until the device holds nothing any more."""


class Describe(Protocol):
    """Tells what is known of a pool and its model."""

    def __call__(self, *, compares: bool) -> dict[str, Any]:
        """Return it; ``compares``: with what the hint alone would choose in place of overrides."""


class RouteLoop(Protocol):
    """What moves a model's streams between its pools."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def route(self) -> Enum:
        """The pool in use."""

    @property
    def switches(self) -> int:
        """How often it did."""

    def run(self) -> None:
        """Watch until closed."""

    def close(self) -> None:
        """Let ``run`` return."""


class SinkLoops(Protocol):
    """A stream's sinks."""

    def add(self, lane: SinkLane) -> None:
        """Make one more, before the start."""

    def start(self, threads: ThreadGroup) -> None:
        """Start one thread a sink."""

    def close(self) -> None:
        """Let the sinks write what they hold and finish."""

    def abort(self) -> dict[str, int]:
        """Let the sinks finish at once; return what each has lost."""


class WorkerLoop(Protocol):
    """What the worker threads run."""

    def expect(self, name: str, settle: Callable[[FrameResult], None]) -> None:
        """Hand over the answer to the frame of this name, which is of no stream."""

    def forget(self, name: str) -> None:
        """Let go of an answer that may come still."""

    def run(self) -> None:
        """Work until closed."""

    def pulse(self) -> threading.Event:
        """Return what is set once one of them has time."""

    def close(self) -> None:
        """End once nothing is left."""


class StreamPools(Protocol):
    """The pools of a stream's model, as far as the stream goes."""

    def capacity_for(self, stream: str) -> int:
        """Return how many frames the stream's pool takes at once."""

    def sharers_of(self, stream: str) -> int:
        """Return how many streams share the stream's pool, itself included."""

    def dismiss(self, stream: str) -> None:
        """Let go of what was the stream's own; its last frame has come back."""


@dataclass(frozen=True, slots=True)
class StreamUnit:
    """One life of a stream: from where it is added to where it is removed.

    Attributes:
        config: Its section.
        overflow: What its sinks' lanes do when they are full, unless one is told otherwise.
        capture: Reads the source.
        intake: Its place at its model's dispatcher.
        fanout: The sinks.
        meter: What counts; the next life of the same stream goes on with it.
        record: What becomes of it.
        pools: Those of its model.
        reserved: Room that it has in the workers' channel.
        resume: Lets its chain go on after its sinks' lanes were thrown away.
    """

    config: StreamConfig
    overflow: Overflow
    capture: CaptureLoop
    intake: LaneLoop
    fanout: SinkLoops
    meter: StreamMeter
    record: StreamRecord
    pools: StreamPools
    reserved: int
    resume: Callable[[], None]

    @property
    def stream(self) -> str:
        """The stream's id."""
        return self.config.id


@dataclass(frozen=True, slots=True)
class Rest:
    """A stream between two lives, or one that nobody wants for now.

    Attributes:
        config: Its section.
        meter: What its next life goes on counting with.
        position: The epoch and the frame's number with which its next life begins.
        report: What is told of its source meanwhile.
    """

    config: StreamConfig
    meter: StreamMeter
    position: tuple[int, int]
    report: CaptureReport


@dataclass(frozen=True, slots=True)
class Ending:
    """How a life of a stream came to its end.

    Attributes:
        stream: The stream's id.
        report: What became of its source.
        stats: Its counters, over all its lives.
        failures: What failed in it: the source, outputs.
        files: What its outputs have finished.
        lost: What had to be thrown away to end it, for people; empty if it ended in order.
    """

    stream: str
    report: CaptureReport
    stats: StreamStats
    failures: Sequence[Failure]
    files: Sequence[Path]
    lost: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PoolUnit:
    """One pool, by a name of its own, of one model; ``describe`` is for the manifest."""

    name: str
    model: str
    pool: PoolLoop
    describe: Describe


@dataclass(frozen=True, slots=True)
class DispatchUnit:
    """One loop of a dispatcher, by the name of what it feeds or of what it serves.

    A dispatcher has one loop for each of its pools.
    """

    name: str
    run: Callable[[], None]
