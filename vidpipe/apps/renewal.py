"""Another configuration for a run: first everything that can fail, then the change itself.

Guarantees:
    * until ``commit`` nothing that runs has been touched, and ``discard`` leaves it so;
    * ``commit`` touches the streams that are added, changed or removed, and no other;
    * a model that is kept keeps its requests; one that nobody uses any more is released.
"""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from vidpipe.apps.build import Workshop
from vidpipe.apps.engine import Engine
from vidpipe.apps.eventplaces import all_targets
from vidpipe.apps.pools import ModelPools
from vidpipe.apps.reload import Change
from vidpipe.config.schema import Config
from vidpipe.errors import VidpipeError
from vidpipe.runtime.logs import redact


class Renewal:
    """One change of an engine; one thread, and nobody else may change the engine meanwhile."""

    def __init__(self, engine: Engine, workshop: Workshop, config: Config, change: Change) -> None:
        """Compile what has to be, and look through everything; nothing is changed.

        Raises:
            ConfigError: A plugin refuses the keys of an output, or a certificate can't be used.
            ModelError: A model can't be compiled.
            FetchError: A model of the zoo can't be fetched.
        """
        self._engine = engine
        self._workshop = workshop
        self._config = config
        self._change = change
        touched = {*change.added, *change.changed}
        streams = [stream for stream in config.streams if stream.id in touched]
        self._resting = [stream for stream in streams if not stream.enabled]
        self._drafts = [workshop.draft(s, config) for s in streams if s.enabled]
        targets = all_targets(config)
        herald = workshop.herald
        self._post = None if herald.is_for(targets) else herald.prepare(targets)
        self._fresh: dict[str, ModelPools] = {}
        self._kept: list[ModelPools] = []
        try:
            for name in config.models:
                self._prepare(name)
        except BaseException:
            self.discard()
            raise

    def _prepare(self, name: str) -> None:
        sharers = [s for s in self._config.streams if s.enabled and s.model == name]
        if not sharers:
            return
        known = self._workshop.pool_sets.get(name)
        if known is None or name in self._change.models:
            self._fresh[name] = self._workshop.new_pools(self._config, sharers)
        else:
            self._kept.append(known)
            known.prepare([d.config.id for d in self._drafts if d.config.model == name])

    def discard(self) -> None:
        """Let go of what was made: the run stays as it is."""
        for pools in self._fresh.values():
            pools.release()
        for pools in self._kept:
            pools.discard_unused()

    def commit(self, deadline_s: float) -> list[str]:
        """Change the run; return which streams couldn't begin, and why, for people.

        Args:
            deadline_s: How long the streams that end may take; what is left then is thrown away.

        Raises:
            UsageError: The run is being stopped.
        """
        population = self._engine.population
        with population.changing():
            try:
                self._end(deadline_s)
            except BaseException:
                self.discard()
                raise
            self._release(self._workshop.exchange(self._config, self._fresh))
            if self._post is not None:
                self._workshop.herald.replace(self._post)
            for stream in self._resting:
                population.rest(stream)
            return self._begin()

    def _end(self, deadline_s: float) -> None:
        """End what is removed or changed; what couldn't begin has nothing to end."""
        population, change = self._engine.population, self._change
        ending = [s for s in (*change.removed, *change.changed) if s in population.rows]
        population.remove(ending, deadline_s, keeps=True)
        population.forget(change.removed)

    def _begin(self) -> list[str]:
        wrongs = []
        for draft in self._drafts:
            try:
                self._engine.add(draft)
            except VidpipeError as exc:
                stream, why = draft.config.id, redact(str(exc))
                logger.bind(stream=stream).error("it couldn't begin: {}", why)
                wrongs.append(f"stream {stream} couldn't begin: {why}")
                self._engine.population.rest(draft.config)  # until it is restarted
        return wrongs

    def _release(self, old: Sequence[ModelPools]) -> None:
        for pools in old:
            pools.release()
            # Frames that the device still held are never delivered now.
            lost = [unit for unit in self._engine.population.leaving if unit.pools is pools]
            self._engine.population.write_off(lost)
            self._engine.retire(pools)
