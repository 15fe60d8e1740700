"""Changing a run while it goes on: its file read again, its streams turned off, on, and restarted.

The same for a run in one process and for one in several: what is different is how a change that has
been worked out is carried out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from loguru import logger

from vidpipe.apps.reload import (
    Change,
    applicable,
    change_between,
    fixed_keys,
    kept_switches,
    switched,
)
from vidpipe.config.model import ModelConfig
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.runtime.stamps import Stamp, stamp_of
from vidpipe.server.control import UnknownStreamError

Load: TypeAlias = Callable[[], Config]
"""Reads the configuration anew; raises ConfigError."""


class Changeable(Protocol):
    """A run, as far as it can be changed."""

    def apply(self, config: Config, change: Change) -> Sequence[str]:
        """Take up another configuration; return which streams couldn't begin, and why.

        Raises:
            VidpipeError: It was refused as a whole; the run goes on as it was.
        """

    def begin_anew(self, stream: str) -> Sequence[str]:
        """End a stream that is enabled, and begin it anew; return why it couldn't, if so.

        Raises:
            UsageError: It can't be done; the message says why.
        """


class Controls:
    """Implements ``Control`` for a run; any thread may call, and calls wait for each other."""

    def __init__(self, run: Changeable, config: Config, load: Load | None) -> None:
        """Begin with what runs; ``load`` reads it anew, None: it came from no file."""
        self._run = run
        self._load = load
        self._lock = threading.Lock()
        self._written = config
        """As the file has it."""
        self._in_force = config
        """As it runs: with what was turned on and off by hand, and what needs a restart."""
        self._switches: dict[str, bool] = {}
        self._stamps = _stamps_of(config)
        self.revision = 0
        """Counts the changes that were carried out."""

    @property
    def config(self) -> Config:
        """What runs."""
        return self._in_force

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Take up the file as it is now: see ``Control.reload``.

        Raises:
            ConfigError: The file is wrong; the former one goes on.
            UsageError: There is no file, or the run is being stopped.
            VidpipeError: A model can't be used; the former configuration goes on.
        """
        if self._load is None:
            raise UsageError("the configuration came from no file: there is nothing to read again")
        with self._lock:
            try:
                return self._reload(self._load())
            except VidpipeError as exc:
                logger.error("the configuration is refused, and the former one goes on:\n{}", exc)
                raise

    def enable(self, stream: str) -> None:
        """Watch a stream that is disabled: see ``Control.enable``."""
        self._switch(stream, is_on=True)

    def disable(self, stream: str) -> None:
        """Watch a stream no more: see ``Control.disable``."""
        self._switch(stream, is_on=False)

    def restart(self, stream: str) -> None:
        """End a stream and begin it anew: see ``Control.restart``."""
        with self._lock:
            if not self._is_enabled(stream):
                raise UsageError(f"stream {stream} is disabled: enable it")
            wrongs = self._run.begin_anew(stream)
            self.revision += 1
            logger.bind(stream=stream).info("restarted")
            if wrongs:
                raise UsageError("; ".join(wrongs))

    def _reload(self, written: Config) -> Mapping[str, Sequence[str]]:
        switches = kept_switches(self._switches, self._written, written)
        stamps = _stamps_of(written)
        stale = {name for name, stamp in stamps.items() if self._stamps.get(name, stamp) != stamp}
        wanted = switched(applicable(self._in_force, written), switches)
        change = change_between(self._in_force, wanted, stale)
        if fixed := list(fixed_keys(self._in_force, written)):
            logger.warning("these keys are taken up at the next start only: {}", ", ".join(fixed))
        wrongs = self._apply(wanted, change)
        self._written, self._switches, self._stamps = written, switches, stamps
        logger.info("the configuration was read again: {}", change)
        return change.streams() | ({"failed": list(wrongs)} if wrongs else {})

    def _switch(self, stream: str, *, is_on: bool) -> None:
        with self._lock:
            if self._is_enabled(stream) is is_on:
                return
            switches = {**self._switches, stream: is_on}
            wanted = switched(self._in_force, switches)
            wrongs = self._apply(wanted, change_between(self._in_force, wanted))
            self._switches = switches
            logger.bind(stream=stream).info("{}", "enabled" if is_on else "disabled")
            if is_on and wrongs:
                raise UsageError("; ".join(wrongs))

    def _apply(self, wanted: Config, change: Change) -> Sequence[str]:
        wrongs: Sequence[str] = ()
        has_moved = [s.id for s in wanted.streams] != [s.id for s in self._in_force.streams]
        if has_moved or not change.is_empty:  # of the order alone nothing that runs notices
            wrongs = self._run.apply(wanted, change)
        self._in_force = wanted
        self.revision += 1
        return wrongs

    def _is_enabled(self, stream: str) -> bool:
        for one in self._in_force.streams:
            if one.id == stream:
                return one.enabled
        raise UnknownStreamError(f"there is no stream {stream}")


def files_of(model: ModelConfig) -> list[Path]:
    """Return the files that a model is made of."""
    files = [model.labels] if isinstance(model.labels, Path) else []
    if model.path is not None:
        files += [model.path, model.path.with_suffix(".bin")]
    return files


def _stamps_of(config: Config) -> dict[str, list[Stamp | None]]:
    return {name: list(map(stamp_of, files_of(model))) for name, model in config.models.items()}
