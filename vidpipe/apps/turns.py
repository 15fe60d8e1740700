"""A worker's side of a change: makes ready, and then takes it up or lets it be, as its parent says.

On a thread of its own, since making ready may take minutes, and a stop doesn't wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loguru import logger

from vidpipe.apps.messages import (
    Answer,
    LetBe,
    Models,
    Prepare,
    TakeUp,
    Turn,
    Word,
    refusal_from_error,
)
from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.reload import change_between
from vidpipe.apps.renewal import Renewal
from vidpipe.errors import VidpipeError
from vidpipe.runtime.logs import register_secret, trace_of
from vidpipe.runtime.supervisor import ThreadGroup


class Turns:
    """Takes one turn after the other; the parent waits for each answer before the next."""

    def __init__(self, pipeline: Pipeline, say: Callable[[Word], None]) -> None:
        """Change nothing yet; ``say`` sends an answer."""
        self._pipeline = pipeline
        self._say = say
        self._threads = ThreadGroup()
        self._ready: tuple[Prepare, Renewal] | None = None

    def take(self, turn: Turn) -> None:
        """Begin a turn, and return."""
        self._threads.spawn("vp-change", lambda: self._run(turn), may_hang=True)

    def _run(self, turn: Turn) -> None:
        try:
            answer = self._answer(turn)
        except VidpipeError as exc:
            answer = Answer(refusal_from_error(exc))
        except Exception as exc:  # noqa: BLE001 - a boundary: the parent waits for an answer
            logger.error("the change failed in an unforeseen way: {}", trace_of(exc))
            answer = Answer(refusal_from_error(VidpipeError(f"{type(exc).__name__}")))
        self._say(answer)

    def _answer(self, turn: Turn) -> Answer:
        changes = self._pipeline.changes
        match turn:
            case Prepare():
                for secret in turn.secrets:
                    register_secret(secret)
                change = change_between(changes.config, turn.config, turn.stale)
                begun = (*change.changed, *turn.anew)
                change = replace(change, changed=tuple(dict.fromkeys(begun)))
                self._ready = turn, changes.prepare(turn.config, change)
                return Answer()
            case TakeUp():
                assert self._ready is not None
                (prepared, renewal), self._ready = self._ready, None
                wrongs = changes.take_up(renewal, prepared.config)
                self._say(Models(self._pipeline.models(compares=False)))
                return Answer(wrongs=tuple(wrongs))
            case LetBe():
                if self._ready is not None:
                    (_, renewal), self._ready = self._ready, None
                    renewal.discard()
                return Answer()
