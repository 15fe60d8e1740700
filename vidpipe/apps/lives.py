"""One process of a worker: what is known of it, from its task to its end."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from loguru import logger

from vidpipe.apps.exhibition import wall_of
from vidpipe.apps.messages import Answer, Finished, LogLine, Models, Refused, Turn
from vidpipe.apps.spawning import Child
from vidpipe.config.schema import Config
from vidpipe.shots import Wants

if TYPE_CHECKING:
    from loguru import Record


_BACKOFF_S = (0.5, 30.0)
"""Before the second restart in a row, and at most; the first one comes at once."""


@dataclass(slots=True)
class Life:
    """One process of the worker, from its task to its end."""

    child: Child
    started_at: float
    is_ready: bool = False
    finished: Finished | None = None
    refused: Refused | None = None
    answers: SimpleQueue[Answer | None] = field(default_factory=SimpleQueue)
    """To what it was told to change; None: it is gone."""
    told: Wants = field(default_factory=dict)
    """Which pictures it has last been asked for."""

    def ask(self, turn: Turn, timeout_s: float) -> Answer | None:
        """Have it do something, and wait for its answer; None if it ends meanwhile.

        Raises:
            Empty: It says nothing for so long.
        """
        with suppress(Empty):
            while True:  # what came too late for whoever asked
                if self.answers.get_nowait() is None:
                    return None
        self.child.tell(turn)
        return self.answers.get(timeout=timeout_s)


def part_of(config: Config, streams: Collection[str]) -> Config:
    """Return the configuration of some streams; what the parent does is left out."""
    telemetry = config.telemetry.model_copy(update={"log_file": None, "manifest": None})
    kept = tuple(stream for stream in config.streams if stream.id in streams)
    return config.model_copy(
        update={
            "streams": kept,
            "workers": 1,
            "server": None,
            "wall": wall_of(config),  # without a server of its own it shows its pictures here
            "telemetry": telemetry,
        }
    )


def status_of(life: Life, code: int) -> str:
    """Return what became of a process, for people."""
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    if life.finished is not None:
        return "was stopped from outside" if not life.finished.is_crashed else "crashed"
    return f"died with exit code {code}"


def rest_s(deaths: int) -> float:
    """Return how long to wait before the next process, after so many deaths in a row."""
    first_s, longest_s = _BACKOFF_S
    # the exponent is bounded: deaths may be many over the months
    return 0.0 if deaths <= 1 else min(longest_s, first_s * 2 ** min(deaths - 2, 20))


def known_models(
    known: Mapping[str, Mapping[str, Any]], word: Models
) -> dict[str, Mapping[str, Any]]:
    """Return what is known of the models now; the overrides are looked into only once."""
    return {
        name: {**about, "overrides": known[name]["overrides"]}
        if name in known and about.get("overrides") is None
        else about
        for name, about in word.models.items()
    }


def log_line(name: str, line: LogLine) -> None:
    """Log what a worker of some name has said, as of when it did."""

    def set_time(record: Record) -> None:
        record["time"] = line.time

    text = line.text if line.stream else f"{name}: {line.text}"
    bound = logger.bind(stream=line.stream) if line.stream else logger
    bound.patch(set_time).log(line.level, "{}", text)
