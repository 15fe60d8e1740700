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

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty
from typing import Any

from loguru import logger

from vidpipe.apps.fleetdetection import FleetDetection
from vidpipe.apps.fleetgallery import FleetGallery
from vidpipe.apps.ledger import Ledger
from vidpipe.apps.lives import Life, known_models, log_line, part_of, rest_s, status_of
from vidpipe.apps.messages import (
    Answer,
    Begin,
    Finished,
    Hurry,
    LogLine,
    Look,
    Models,
    Ready,
    Refused,
    Seen,
    Show,
    Shown,
    Stop,
    Task,
    Turn,
    View,
)
from vidpipe.apps.share import WorkerShare, shortened
from vidpipe.apps.spawning import Spare, spawn
from vidpipe.config.schema import Config
from vidpipe.errors import VidpipeError
from vidpipe.runtime.logs import registered_secrets, trace_of
from vidpipe.shots import Wants
from vidpipe.types import DropCause

ATTEMPTS = 3
"""So many processes may die over one recorded file."""

SILENCE_S = 60.0
"""A process that runs and says nothing for so long hangs: five views a second are due."""

START_S = 600.0
"""A restart that takes so long hangs: compiling for a GPU takes minutes, at worst."""

_CALM_S = 60.0
"""After so long a life, a death is the first one again."""

_WAKING_S = 2.0


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
        self.gallery: FleetGallery | None = None
        """Where its pictures are shown."""
        self.detection: FleetDetection | None = None
        """Where its answers about single pictures are waited for."""
        self._wants: Wants = {}
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

    def show(self, wants: Wants) -> None:
        """Have the process asked for these pictures of its streams, once it speaks next.

        So nobody ever waits for one that hangs.
        """
        self._wants = wants

    def look(self, look: Look) -> bool:
        """Have the process asked about a picture; False if there is none that hears."""
        with self._lock:
            life = self._life
        if life is None or not life.is_ready or self._stopping.is_set():
            return False
        life.child.tell(look)
        return True

    def ask(self, turn: Turn, timeout_s: float) -> Answer | None:
        """Have the process change something; None if none is at work that could.

        Raises:
            VidpipeError: It says nothing for so long.
        """
        with self._lock:
            life = self._life
        if life is None or not life.is_ready:
            return None
        try:
            return life.ask(turn, timeout_s)
        except Empty:
            raise VidpipeError(f"{self.name} doesn't answer within {timeout_s:g} s") from None

    def assign(
        self,
        share: WorkerShare,
        config: Config,
        finite: Sequence[str],
        begun: Sequence[str],
        *,
        is_behind: bool,
    ) -> None:
        """Keep other streams from now on; ``begun`` anew are some.

        A process that hasn't taken the change up (``is_behind``) gives way to one that does.
        """
        with self._lock:
            self.share, self._config = share, config
            self._finite = frozenset(finite)
            life = self._life
        for stream in begun:
            self._attempts.pop(stream, None)
        self.ledger.follow(share.streams, begun)
        if life is not None and (is_behind or not life.is_ready):
            life.child.process.kill()  # its task is of yesterday

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
            life.answers.put(None)
            if self.detection is not None:
                self.detection.miss(self)
            code = life.child.reap()
        return self._bury(life, left, status_of(life, code))

    def _start(self, streams: Sequence[str]) -> Life:
        spare = self._spare.take(self.name) if self._has_begun else None
        child = spare or spawn(self.name, self.share.processors)
        life = Life(child, time.monotonic())
        with self._lock:
            self._life = life
        task = Task(
            number=self.share.number,
            config=part_of(self._config, streams),
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
                self._look_after_pictures(life, word)
                if self._has_begun:
                    self._spare.fill()
            case Answer():
                life.answers.put(word)
            case Ready():
                self._welcome(life)
            case Refused():
                life.refused = word
            case Finished():
                life.finished = word
                self.ledger.take(word.view)
            case _:
                self._pass_on(word)

    def _pass_on(self, word: object) -> None:
        match word:
            case Seen() if self.detection is not None:
                self.detection.settle(word)
            case Shown() if self.gallery is not None:
                self.gallery.hang(word)
            case LogLine():
                log_line(self.name, word)
            case Models():
                self.models = known_models(self.models, word)

    def _look_after_pictures(self, life: Life, view: View) -> None:
        if self.gallery is not None:
            self.gallery.learn(view)
        wants = {s: self._wants[s] for s in self.share.streams if s in self._wants}
        if life.is_ready and wants != life.told:
            life.told = wants
            life.child.tell(Show(wants))

    def _welcome(self, life: Life) -> None:
        with self._lock:
            life.is_ready = True
            has_begun, is_stopping = self._has_begun, self._stop is not None
        self.settled.set()
        if self.gallery is not None:
            self.gallery.begin_life(self.share.streams)
        if is_stopping:
            self._stop_life(life)
        elif has_begun:
            life.child.tell(Begin())
            if self._deaths:
                seconds = time.monotonic() - life.started_at
                logger.info("{} is back after {:.1f} s", self.name, seconds)

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
        delay_s = rest_s(self._deaths)
        when = f"in {delay_s:g} s" if delay_s else "now"
        logger.error("{} {}; started again {}: {} wait", self.name, what, when, shortened(left))
        return not self._stopping.wait(delay_s)
