"""How a run stands: its counters, its failures and its exit code, read from its engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from vidpipe.apps.description import describe_models
from vidpipe.apps.engine import Engine
from vidpipe.apps.outcome import Failure, Outcome
from vidpipe.config.schema import Config
from vidpipe.errors import StopForcedError, VidpipeError
from vidpipe.runtime.durations import Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.types import CaptureReport, PoolReport


class EngineView:
    """Implements ``Overview``; any thread may ask, at any time."""

    def __init__(self, config: Config, engine: Engine) -> None:
        """Look at an engine that was built from a configuration."""
        self._config = config
        self._engine = engine

    @property
    def is_done(self) -> bool:
        """True once there is nothing left to wait for: every file has ended, or the run crashed."""
        return self._engine.outcome.over.is_set()

    def stats(self) -> dict[str, StreamStats]:
        """Return the counters of each stream, by its id, as they are at this moment."""
        return {unit.stream: unit.meter.snapshot() for unit in self._engine.streams}

    def reports(self) -> dict[str, CaptureReport]:
        """Return what each stream's source is doing, by its id."""
        return {unit.stream: unit.capture.report() for unit in self._engine.streams}

    def titles(self) -> dict[str, str]:
        """Return what people call each stream, by its id."""
        return {unit.stream: unit.title for unit in self._engine.streams}

    def depths(self) -> dict[str, int]:
        """Return how many frames wait for the model, by the stream's id."""
        return {unit.stream: unit.dispatcher.depth(unit.stream) for unit in self._engine.streams}

    def stages(self) -> dict[Stage, Durations]:
        """Return how long each step of a frame's way takes, all streams together."""
        return self._engine.stages.snapshot()

    def pools(self) -> list[PoolReport]:
        """Return how each pool of requests stands."""
        return [unit.pool.report(unit.name) for unit in self._engine.pools]

    def models(self, *, compares: bool = True) -> dict[str, dict[str, Any]]:
        """Return what is known of each model; ``compares``: also how its overrides differ."""
        engine = self._engine
        return describe_models(engine.pools, self._config.models, engine.routes, compares=compares)

    def switches(self) -> dict[str, int]:
        """Return how often each model whose hint is adaptive has changed its pool."""
        return {route.model: route.switches for route in self._engine.routes}

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
