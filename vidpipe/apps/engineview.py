"""How a run stands: its counters, its failures and its exit code, read from its engine."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from vidpipe.apps.changes import EngineChanges
from vidpipe.apps.description import describe_models
from vidpipe.apps.detection import Asked, Detection
from vidpipe.apps.engine import Engine
from vidpipe.apps.outcome import Failure, Outcome
from vidpipe.apps.population import Row
from vidpipe.apps.units import Rest
from vidpipe.config.schema import Config
from vidpipe.errors import StopForcedError, VidpipeError
from vidpipe.runtime.durations import Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.shots import Gallery
from vidpipe.types import CaptureReport, PoolReport


class EngineView:
    """Implements ``Overview``; any thread may ask, at any time."""

    def __init__(self, changes: EngineChanges) -> None:
        """Look at an engine and the configuration that is in force."""
        self._changes = changes
        self._engine: Engine = changes.engine
        # Of the changes, and not of this: whoever lets a run go lets it end at once.
        self._detection = Detection(
            partial(_asked, changes), partial(_reports, changes.engine), changes.engine.workers
        )

    @property
    def _config(self) -> Config:
        return self._changes.config

    @property
    def is_done(self) -> bool:
        """True once there is nothing left to wait for: every file has ended, or the run crashed."""
        return self._engine.outcome.over.is_set()

    @property
    def gallery(self) -> Gallery | None:
        """The streams' pictures; None where nobody could look at them."""
        return self._engine.plant.gallery

    def stats(self) -> dict[str, StreamStats]:
        """Return the counters of each stream, by its id, as they are at this moment."""
        return {stream: row.meter.snapshot() for stream, row in self._rows.items()}

    def reports(self) -> dict[str, CaptureReport]:
        """Return what each stream's source is doing, by its id."""
        return {
            stream: row.report if isinstance(row, Rest) else row.capture.report()
            for stream, row in self._rows.items()
        }

    def titles(self) -> dict[str, str]:
        """Return what people call each stream, by its id."""
        return {stream: row.config.title for stream, row in self._rows.items()}

    def depths(self) -> dict[str, int]:
        """Return how many frames wait for the model, by the stream's id."""
        return {
            stream: 0 if isinstance(row, Rest) else row.intake.depth()
            for stream, row in self._rows.items()
        }

    @property
    def _rows(self) -> dict[str, Row]:
        """All streams, in the configuration's order; one that it doesn't know comes last."""
        rows = self._engine.population.rows
        order = [stream.id for stream in self._config.streams if stream.id in rows]
        return {stream: rows[stream] for stream in order} | rows

    def stages(self) -> dict[Stage, Durations]:
        """Return how long each step of a frame's way takes, all streams together."""
        return self._engine.stages.snapshot()

    def pools(self) -> list[PoolReport]:
        """Return how each pool of requests stands."""
        return _reports(self._engine)

    def models(self, *, compares: bool = True) -> dict[str, dict[str, Any]]:
        """Return what is known of each model; ``compares``: also how its overrides differ."""
        engine = self._engine
        return describe_models(engine.pools, self._config.models, engine.routes, compares=compares)

    @property
    def detector(self) -> Detection:
        """What looks at pictures that somebody brings, by the same models."""
        return self._detection

    def switches(self) -> dict[str, int]:
        """Return how often each model whose hint is adaptive has changed its pool."""
        return {route.model: route.switches for route in self._engine.routes}

    def has_pulse(self) -> bool:
        """Return True if a worker has had time since this was last asked."""
        return self._engine.take_pulse()

    @property
    def outcome(self) -> Outcome:
        """The run's record, to which the parts of the engine add what became of them."""
        return self._engine.outcome

    @property
    def failures(self) -> list[Failure]:
        """What has failed for good so far: sources, outputs, frames."""
        return self._engine.failures

    @property
    def files(self) -> list[Path]:
        """The files that the outputs have finished so far, by name: ``2.jpg`` before ``10.jpg``."""
        return sorted(self._engine.outcome.files, key=_natural_key)

    @property
    def lost(self) -> list[str]:
        """What ``close`` had to throw away past its deadline, for people; best empty."""
        return list(self._engine.lost)

    @property
    def exit_code(self) -> int:
        """What the command line would end with: 3 if anything is lost, 1 if it failed, else 0."""
        return self._engine.exit_code

    def raise_for_failures(self) -> None:
        """Raise if anything has failed or is lost; for a program that wants all or nothing.

        Raises:
            StopForcedError: Something is lost.
            VidpipeError: Something has failed.
        """
        if self._engine.lost:
            raise StopForcedError("lost by the stop: " + "; ".join(self._engine.lost))
        if failures := self.failures:
            raise VidpipeError("; ".join(map(str, failures)))


def _natural_key(path: Path) -> list[tuple[bool, int, str]]:
    """Return what sorts numbers in a name by their value."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _asked(changes: EngineChanges) -> dict[str, Asked]:
    models = changes.config.models
    return {
        name: Asked(lanes, models[name].confidence)
        for name, lanes in changes.engine.dispatchers().items()
        if name in models
    }


def _reports(engine: Engine) -> list[PoolReport]:
    return [unit.pool.report(unit.name) for unit in engine.pools]
