"""Pictures that somebody brings to a run in several processes: one of the workers looks at each.

The picture itself doesn't go through the worker's pipe, where it would hold up the word to stop: it
lies in memory that the worker reads as a file of its parent's.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from vidpipe.apps.messages import Look, Seen, Word
from vidpipe.runtime.executor import Executor, ExecutorFullError
from vidpipe.server.detector import (
    MOST_AT_ONCE,
    THREADS,
    TOO_MANY,
    DetectError,
    DetectFault,
    Detector,
    DetectQuestion,
    chosen_model,
)


class Worker(Protocol):
    """A worker as far as it can be asked."""

    @property
    def models(self) -> Mapping[str, Mapping[str, Any]]:
        """What is known of its models, by name."""

    def look(self, look: Look) -> bool:
        """Have its process asked; False if there is none that hears."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question on its way."""

    worker: Worker
    answers: SimpleQueue[Seen | None]


class FleetDetection:
    """Implements ``Detector`` in the parent; any thread may ask, and waits."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        """Ask these."""
        self._workers = workers
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._asked: dict[int, _Asked] = {}

    def detect(self, question: DetectQuestion) -> bytes:
        """Return a line of JSON; see ``Detector``."""
        number = next(self._numbers)
        answers: SimpleQueue[Seen | None] = SimpleQueue()
        place = os.memfd_create("vidpipe-image")
        try:
            with open(place, "wb", closefd=False) as file:
                file.write(question.image)
            path = Path(f"/proc/{os.getpid()}/fd/{place}")
            look = Look(number, path, replace(question, image=b""))
            self._ask(look, answers)
            seen = answers.get(timeout=question.timeout_s)
        except Empty:
            raise DetectError("no worker answered in time", DetectFault.TIMEOUT) from None
        finally:
            os.close(place)
            with self._lock:
                self._asked.pop(number, None)
        if seen is None:
            raise DetectError("the worker that was asked has died", DetectFault.NOT_READY)
        if seen.fault is not None:
            raise DetectError(seen.message, DetectFault[seen.fault])
        return seen.answer

    def settle(self, seen: Seen) -> None:
        """Take a worker's answer."""
        with self._lock:
            asked = self._asked.get(seen.number)
        if asked is not None:
            asked.answers.put(seen)

    def miss(self, worker: Worker) -> None:
        """A worker's process has gone, and with it what it was asked."""
        with self._lock:
            gone = [asked for asked in self._asked.values() if asked.worker is worker]
        for asked in gone:
            asked.answers.put(None)

    def _ask(self, look: Look, answers: SimpleQueue[Seen | None]) -> None:
        """Ask the worker that has the least to look at, of those with the model."""
        for worker in self._chosen(look.question.model):
            with self._lock:
                self._asked[look.number] = _Asked(worker, answers)
            if worker.look(look):
                return
        raise DetectError("no worker is ready", DetectFault.NOT_READY)

    def _chosen(self, model: str | None) -> list[Worker]:
        known = dict.fromkeys(name for worker in self._workers for name in worker.models)
        name = chosen_model(known, model)
        with self._lock:
            busy = [id(asked.worker) for asked in self._asked.values()]
        able = [worker for worker in self._workers if name in worker.models]
        return sorted(able, key=lambda worker: busy.count(id(worker)))


class Looker:
    """The worker's side: looks at what the parent asks for, on threads of its own."""

    def __init__(self, detector: Detector, say: Callable[[Word], None]) -> None:
        """Answer through ``say``, which may wait."""
        self._detector = detector
        self._say = say
        self._executor = Executor("vp-look", threads=THREADS, waiting=MOST_AT_ONCE)

    def look(self, look: Look) -> None:
        """Answer soon; never waits."""
        try:
            self._executor.submit(lambda: self._say(self._seen(look)))
        except ExecutorFullError:
            self._say(Seen(look.number, b"", DetectFault.FULL.name, TOO_MANY))

    def _seen(self, look: Look) -> Seen:
        try:
            image = look.image.read_bytes()
            answer = self._detector.detect(replace(look.question, image=image))
        except DetectError as exc:
            return Seen(look.number, b"", exc.fault.name, str(exc))
        except OSError:  # who asked has given up
            return Seen(look.number, b"", DetectFault.TIMEOUT.name, "it came too late")
        return Seen(look.number, answer)
