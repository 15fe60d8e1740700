"""What a run in several processes says through its pipes: plain records, one pickle each.

From the parent to a worker: the module search path and the processors, a ``Task``, then ``Begin``,
``Show`` whenever other pictures are wanted, ``Prepare`` and then ``TakeUp`` or ``LetBe`` for each
change, which it answers by ``Answer``, and at the end ``Stop`` and perhaps ``Hurry``. From a
worker: ``Ready`` or ``Refused``, then one ``View`` after another, ``LogLine``, ``Models`` and
``Shown`` at any time, and last of all ``Finished``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from vidpipe.apps.outcome import Failure
from vidpipe.config.schema import Config
from vidpipe.errors import ConfigError, Fault, VidpipeError
from vidpipe.runtime.durations import Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.server.detector import DetectQuestion
from vidpipe.shots import Glance, Second, Shot, ShotSize, Wants
from vidpipe.types import CaptureReport, PoolReport


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do.

    Attributes:
        number: The worker's, from 1.
        config: Its share of the configuration.
        processors: What it is bound to, if it isn't already.
        compares: Whether to find out what the models' hints alone would choose in place of their
            overrides, which takes time.
        secrets: What its log lines and errors must not show.
    """

    number: int
    config: Config = field(repr=False)
    processors: tuple[int, ...]
    compares: bool
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Begin:
    """The streams may start."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop source-first, within so many seconds."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Hurry:
    """Let the stop wait for nothing."""


@dataclass(frozen=True, slots=True)
class Show:
    """Which pictures are wanted from now on."""

    wants: Wants


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody brings a picture, and waits for what is on it.

    Attributes:
        number: The question's, for the answer.
        image: Where the picture is to be read.
        question: The rest of what is asked.
    """

    number: int
    image: Path
    question: DetectQuestion


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make ready for another share, changing nothing; answered.

    Attributes:
        config: The share.
        stale: Models that have to be compiled anew.
        anew: Streams that begin anew although nothing of them is different.
        secrets: What must not be shown.
    """

    config: Config = field(repr=False)
    stale: tuple[str, ...]
    anew: tuple[str, ...]
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Carry out what was prepared; answered."""


@dataclass(frozen=True, slots=True)
class LetBe:
    """Leave everything as it is, after all; answered."""


Turn: TypeAlias = Prepare | TakeUp | LetBe
Order: TypeAlias = Begin | Stop | Hurry | Show | Look | Turn


@dataclass(frozen=True, slots=True)
class Ready:
    """The models are compiled."""


@dataclass(frozen=True, slots=True)
class Models:
    """What is known of the models, by name, for the manifest; when it is new."""

    models: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """The worker can't start.

    Attributes:
        kind: The name of the error's class in ``vidpipe.errors``.
        message: Its text.
        faults: Those of a ``ConfigError``.
    """

    kind: str
    message: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of the last turn.

    Attributes:
        refusal: Why it was refused, if it was.
        wrongs: Which streams couldn't begin.
    """

    refusal: Refused | None = None
    wrongs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a worker's log; ``time`` is loguru's, which knows how to be formatted."""

    time: datetime
    level: str
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """How a worker's run stands.

    Attributes:
        stats: Its streams' counters.
        reports: What their sources are doing.
        depths: Frames in their lanes.
        stages: What every stage took.
        pools: Its pools.
        switches: Of its adaptive models.
        failures: What has failed for good so far.
        files: The files that were finished since the last view.
        ended: The streams of which nothing more will come.
        glances: What is known of each stream's newest result; none where nothing is shown.
        seconds: What was seen of each stream in its last seconds, likewise.
    """

    stats: Mapping[str, StreamStats]
    reports: Mapping[str, CaptureReport]
    depths: Mapping[str, int]
    stages: Mapping[Stage, Durations]
    pools: tuple[PoolReport, ...]
    switches: Mapping[str, int]
    failures: tuple[Failure, ...]
    files: tuple[Path, ...]
    ended: frozenset[str]
    glances: Mapping[str, Glance | None] = field(default_factory=dict)
    seconds: Mapping[str, Sequence[Second]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that was wanted, and which sizes it is the answer to."""

    shot: Shot
    sizes: tuple[ShotSize, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is on a picture that somebody brought, or why that isn't known.

    Attributes:
        number: The question's.
        answer: A line of JSON.
        fault: The name of a ``DetectFault``; None if there is an answer.
        message: What went wrong, for people.
    """

    number: int
    answer: bytes
    fault: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last word of a worker that ends by itself.

    Attributes:
        view: How its run stood at the end.
        lost: What the stop threw away.
        is_crashed: True if a thread died that the run can't do without.
    """

    view: View
    lost: tuple[str, ...]
    is_crashed: bool


Word: TypeAlias = Answer | Ready | Refused | LogLine | Models | View | Shown | Seen | Finished


def refusal_from_error(error: VidpipeError) -> Refused:
    """Return what tells an error of the start to the parent."""
    faults = tuple(error.faults) if isinstance(error, ConfigError) else ()
    return Refused(type(error).__name__, str(error), faults)


def error_from_refusal(refusal: Refused) -> VidpipeError:
    """Return the error that a worker had, with the same exit code and text."""
    if refusal.faults:
        return ConfigError(list(refusal.faults))
    for kind in VidpipeError.__subclasses__():
        if kind.__name__ == refusal.kind and kind.__init__ is VidpipeError.__init__:
            return kind(refusal.message)
    return VidpipeError(refusal.message)


def portable_stats(stats: StreamStats) -> StreamStats:
    """Return counters that can be sent: read-only views of mappings can't be pickled."""
    return replace(
        stats,
        dropped=dict(stats.dropped),
        errors=dict(stats.errors),
        sink_losses=dict(stats.sink_losses),
    )


def portable_pools(reports: Iterable[PoolReport]) -> tuple[PoolReport, ...]:
    """Return pools that can be sent."""
    return tuple(replace(report, requests=dict(report.requests)) for report in reports)
