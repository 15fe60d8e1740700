"""Inputs that could not be read, with what is waiting for them: see `vidpipe.apps.batch.outage`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.outage import Outage, Reach
from vidpipe.apps.batch.work import FileWork
from vidpipe.errors import SourceCause
from vidpipe.sources.completeness import BROKE_OFF

_MOST_TRIES = 3
"""An input that was away for a moment is tried again so often."""


class Judgement(Enum):
    """What is done with an input that failed."""

    WAIT = "wait"
    """It is a suspect now: others will show whether its share has gone."""
    AGAIN = "again"
    """It was away, and is back."""
    FAILED = "failed"
    """The fault is its own."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """An input that could not be read, why, and the work at it, if it was begun."""

    file: InputFile
    error: str
    work: FileWork | None


def is_passing(error: str, cause: SourceCause | None) -> bool:
    """Tell whether a failure may have been the share's, though the input can be read by now."""
    return cause is SourceCause.NOT_FOUND or BROKE_OFF in error


@dataclass(slots=True)
class Suspects:
    """The suspects of a run; for one thread."""

    outage: Outage
    _held: dict[str, Suspect] = field(default_factory=dict)
    _tries: Counter[str] = field(default_factory=Counter)

    @property
    def is_out(self) -> bool:
        """True while nothing is to be begun."""
        return self.outage.is_out

    @property
    def works(self) -> dict[str, FileWork]:
        """What had been begun of them, by name."""
        return {stem: one.work for stem, one in self._held.items() if one.work is not None}

    @property
    def names(self) -> str:
        """A few of them, for people."""
        return ", ".join(sorted(self._held)[:3])

    def judge(self, suspect: Suspect, *, is_passing: bool) -> Judgement:
        """Take an input that failed, and say what is to be done with it."""
        stem = suspect.file.stem
        if self.outage.note_failure(suspect.file):
            self._held[stem] = suspect
            return Judgement.WAIT
        self._tries[stem] += 1
        if is_passing and self._tries[stem] < _MOST_TRIES:
            return Judgement.AGAIN
        return Judgement.FAILED

    def clear(self) -> list[Suspect]:
        """Something could be read; return those who have failed by themselves, then."""
        return self._release(self.outage.note_success())

    def settle(self) -> list[Suspect]:
        """There is nothing else to do; return likewise."""
        return self._release(self.outage.settle())

    def look(self) -> tuple[Reach, list[Suspect]]:
        """Return how things stand, and the suspects that can be tried again now."""
        reach, back = self.outage.look()
        return reach, self._release(back)

    def _release(self, files: Sequence[InputFile]) -> list[Suspect]:
        return [self._held.pop(file.stem) for file in files if file.stem in self._held]
