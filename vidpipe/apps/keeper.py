"""One worker process: started, heard, and started again when it dies.

Guarantees:
    * what a worker says is heard at once, and never waited for by anybody but its own thread;
    * a process that is gone is noticed at once, by the end of its pipe; one that says nothing for a
      minute is killed;
    * files that ended are not run again; a file that was cut off in the middle starts anew, and
      after ``ATTEMPTS`` cuts counts as failed, since it may be what kills the process; everything
      else is tried again for ever, with a back-off.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loguru import logger

from vidpipe.apps.ledger import Ledger
from vidpipe.apps.messages import (
    Begin,
    Finished,
    Hurry,
    LogLine,
    Models,
    Ready,
    Refused,
    Stop,
    Task,
    View,
)
from vidpipe.apps.share import WorkerShare, shortened
from vidpipe.apps.spawning import Child, Spare, spawn
from vidpipe.config.schema import Config
from vidpipe.runtime.logs import registered_secrets, trace_of
from vidpipe.types import DropCause

if TYPE_CHECKING:
    from loguru import Record

ATTEMPTS = 3
"""So many processes may die over one recorded file."""

SILENCE_S = 60.0
"""A process that runs and says nothing for so long hangs: five views a second are due."""

START_S = 600.0
"""A restart that takes so long hangs: compiling for a GPU takes minutes, at worst."""

_BACKOFF_S = (0.5, 30.0)
"""Before the second restart in a row, and at most; the first one comes at once."""

_CALM_S = 60.0
"""After so long a life, a death is the first one again."""

_WAKING_S = 2.0


@dataclass(slots=True)
class Life:
    """One process of the worker, from its task to its end."""

    child: Child
    started_at: float
    is_ready: bool = False
    finished: Finished | None = None
    refused: Refused | None = None


class Keeper:
    """Keeps one worker; its methods may be called from any thread, but ``run`` by one of its own.

    Attributes:
        share: Which streams, where.
        ledger: What they have done.
        settled: Set once it is known whether the first process can start.
        done: Set once no process is there, and none will be.
    """

    def __init__(
        self, share: WorkerShare, config: Config, finite: Sequence[str], spare: Spare
    ) -> None:
        """Start nothing yet.

        Args:
            share: Which streams, where.
            config: All of it.
            finite: The ids of the streams that come to an end by themselves.
            spare: A process that may be there for whoever needs one.
        """
        self.share = share
        self.ledger = Ledger(share.streams)
        self.settled = threading.Event()
        self.done = threading.Event()
        self.refusal: Refused | None = None
        """Why the first process couldn't start."""
        self.models: Mapping[str, Mapping[str, Any]] = {}
        self.lost: list[str] = []
        """What the end threw away, for people."""
        self._config = config
        self._finite = frozenset(finite)
        self._spare = spare
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._life: Life | None = None
        self._has_begun = False
        self._stop: Stop | None = None
        self._stopping = threading.Event()
        self._deaths = 0
        self._attempts: Counter[str] = Counter()

    # ---- For the parent ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What log lines call it."""
        return f"worker {self.share.number}"

    def begin(self) -> None:
        """Let the streams start, now and in every process to come."""
        with self._lock:
            self._has_begun = True
            life = self._life
        if life is not None and life.is_ready:
            life.child.tell(Begin())

    def stop(self, timeout_s: float) -> None:
        """Stop the process source-first; start no other."""
        with self._lock:
            self._stop = Stop(timeout_s)
            life = self._life
        self._stopping.set()
        if life is not None:
            self._stop_life(life)

    def hurry(self) -> None:
        """Let the stop wait for nothing."""
        with self._lock:
            life = self._life
        if life is not None and life.is_ready:
            life.child.tell(Hurry())

    def kill(self) -> None:
        """End the process as it stands, and start no other."""
        with self._lock:
            self._stop = self._stop or Stop(0.0)
            life = self._life
        self._stopping.set()
        if life is not None:
            life.child.process.kill()

    def release(self) -> None:
        """Let ``run`` return, once all keepers are done."""
        self._released.set()

    def _stop_life(self, life: Life) -> None:
        if life.is_ready:
            life.child.tell(Stop(self._stop.timeout_s if self._stop else 0.0))
        else:
            life.child.process.kill()  # it has nothing yet that could be lost

    # ---- Its own thread ------------------------------------------------------------------------

    def run(self) -> None:
        """Keep a process alive until its streams have ended, or the stop; return when released.

        The kernel kills a process when the thread that started it ends, and a spare one may serve
        another keeper.
        """
        try:
            while self._live():
                pass
        except Exception as exc:  # noqa: BLE001 - the boundary of a stage
            logger.critical("{} is left alone: {}", self.name, trace_of(exc))
            for stream in self.share.streams:
                self.ledger.give_up(stream, f"a fault of vidpipe: {type(exc).__name__}")
        finally:
            self.settled.set()
            self.done.set()
            self._released.wait()

    def _live(self) -> bool:
        """Live one life; return True if there shall be another one."""
        left = [stream for stream in self.share.streams if not self.ledger.is_ended(stream)]
        if not left or self._stopping.is_set():
            return False
        try:
            life = self._start(left)
        except OSError as exc:  # no memory, no process, no descriptor
            return self._miss(left, f"can't be started: {exc.strerror}", is_suspect=False)
        try:
            self._listen(life)
        finally:
            with self._lock:
                self._life = None
            code = life.child.reap()
        return self._bury(life, left, _status(life, code))

    def _start(self, streams: Sequence[str]) -> Life:
        spare = self._spare.take(self.name) if self._has_begun else None
        child = spare or spawn(self.name, self.share.processors)
        life = Life(child, time.monotonic())
        with self._lock:
            self._life = life
        task = Task(
            number=self.share.number,
            config=self._part(streams),
            processors=self.share.processors,
            compares=not self._has_begun,
            secrets=registered_secrets(),
        )
        child.tell(task)
        if self._stopping.is_set():
            child.process.kill()
        given = replace(self.share, streams=tuple(streams))
        logger.info("{}: process {}, {}", self.name, child.process.pid, given)
        return life

    def _part(self, streams: Sequence[str]) -> Config:
        """Return the configuration of some streams; what the parent does is left out."""
        config = self._config
        telemetry = config.telemetry.model_copy(update={"log_file": None, "manifest": None})
        kept = tuple(stream for stream in config.streams if stream.id in streams)
        return config.model_copy(
            update={"streams": kept, "workers": 1, "server": None, "telemetry": telemetry}
        )

    def _listen(self, life: Life) -> None:
        """Take what the process says until it says no more."""
        pipe = life.child.pipe
        with suppress(EOFError, OSError):
            while True:
                patience_s = SILENCE_S if life.is_ready else START_S
                # Twice: both may have been suspended, and this one wake up first.
                if self._has_begun and not (pipe.poll(patience_s) or pipe.poll(_WAKING_S)):
                    logger.error("{} has said nothing for {:g} s: killed", self.name, patience_s)
                    life.child.process.kill()
                self._take(life, pipe.recv())

    def _take(self, life: Life, word: object) -> None:
        match word:
            case View():
                self.ledger.take(word)
                if self._has_begun:
                    self._spare.fill()
            case LogLine():
                self._log(word)
            case Models():
                self._learn(word)
            case Ready():
                self._welcome(life)
            case Refused():
                life.refused = word
            case Finished():
                life.finished = word
                self.ledger.take(word.view)

    def _learn(self, word: Models) -> None:
        """Keep what is known of the models; the overrides are looked into only once."""
        known = self.models
        self.models = {
            name: {**about, "overrides": known[name]["overrides"]}
            if name in known and about.get("overrides") is None
            else about
            for name, about in word.models.items()
        }

    def _welcome(self, life: Life) -> None:
        with self._lock:
            life.is_ready = True
            has_begun, is_stopping = self._has_begun, self._stop is not None
        self.settled.set()
        if is_stopping:
            self._stop_life(life)
        elif has_begun:
            life.child.tell(Begin())
            if self._deaths:
                seconds = time.monotonic() - life.started_at
                logger.info("{} is back after {:.1f} s", self.name, seconds)

    def _log(self, line: LogLine) -> None:
        def set_time(record: Record) -> None:
            record["time"] = line.time

        text = line.text if line.stream else f"{self.name}: {line.text}"
        bound = logger.bind(stream=line.stream) if line.stream else logger
        bound.patch(set_time).log(line.level, "{}", text)

    def _bury(self, life: Life, streams: Sequence[str], status: str) -> bool:
        """Learn from the end of a process; return True if there shall be another one."""
        if not self._has_begun:
            self.refusal = life.refused or Refused(
                "VidpipeError", f"{self.name} {status} before it could start"
            )
            return False
        is_stopping = self._stopping.is_set()
        left = [stream for stream in streams if not self.ledger.is_ended(stream)]
        last = life.finished
        if last is not None and (is_stopping or not left):
            self.lost += last.lost
            self.ledger.close_life("", DropCause.STOP, is_coming_back=False)
            return False
        what = status if life.refused is None else f"can't start: {life.refused.message}"
        why = f"its worker {what}"
        if is_stopping:
            in_flight = self.ledger.close_life(why, DropCause.STOP, is_coming_back=False)
            self.lost += [f"{self.name} {status}"] if life.is_ready else []
            self.lost += [f"stream {s}: {n} frames in flight" for s, n in in_flight.items()]
            return False
        for loss in last.lost if last is not None else ():
            logger.error("{}: lost: {}", self.name, loss)
        self.ledger.close_life(why, DropCause.ERROR, is_coming_back=True)
        if life.is_ready and time.monotonic() - life.started_at >= _CALM_S:
            self._deaths = 0
        return self._miss(left, what, is_suspect=last is None or last.is_crashed)

    def _miss(self, left: Sequence[str], what: str, *, is_suspect: bool) -> bool:
        """Wait for the time of the next process; return False if none is needed.

        Args:
            left: The streams that it is for.
            what: What became of the last one.
            is_suspect: Whether it may have died of its streams.
        """
        if not self._has_begun:
            self.refusal = Refused("VidpipeError", f"{self.name} {what}")
            return False
        self._deaths += 1
        for stream in self._finite.intersection(left) if is_suspect else ():
            self._attempts[stream] += 1
            if self._attempts[stream] >= ATTEMPTS:
                error = f"its worker {what}; given up after {ATTEMPTS} attempts"
                self.ledger.give_up(stream, error)
        left = [stream for stream in left if not self.ledger.is_ended(stream)]
        if not left:
            logger.error("{} {}; it has nothing left to do", self.name, what)
            return False
        first_s, longest_s = _BACKOFF_S
        # the exponent is bounded: deaths may be many over the months
        delay_s = min(longest_s, first_s * 2 ** min(self._deaths - 2, 20))
        delay_s = 0.0 if self._deaths == 1 else delay_s
        when = f"in {delay_s:g} s" if delay_s else "now"
        logger.error("{} {}; started again {}: {} wait", self.name, what, when, shortened(left))
        return not self._stopping.wait(delay_s)


def _status(life: Life, code: int) -> str:
    """Return what became of a process, for people."""
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    if life.finished is not None:
        return "was stopped from outside" if not life.finished.is_crashed else "crashed"
    return f"died with exit code {code}"
