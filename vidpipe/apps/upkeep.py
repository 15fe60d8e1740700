"""What is looked after while a run lasts: its configuration, its manifest, and its service manager.

One thread calls ``tend`` all the while; a change of the configuration, which may take minutes, is
made on a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loguru import logger

from vidpipe.apps.controls import Load, files_of
from vidpipe.apps.deployment import Deployment
from vidpipe.apps.filewatch import FileWatch
from vidpipe.apps.heart import Heart
from vidpipe.apps.systemd import ServiceNotice
from vidpipe.config.expand import input_path
from vidpipe.config.schema import Config
from vidpipe.errors import VidpipeError
from vidpipe.runtime.logs import trace_of
from vidpipe.runtime.meters import StreamStats
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.types import CaptureReport, StreamState

_STATUS_EVERY_S = 5.0
_MARGIN_S = 5.0
"""What the run may need beyond a model's ``timeout_s`` before it counts as hung."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where a configuration comes from.

    Attributes:
        path: Its file.
        load: Reads it, with everything that the command line adds.
        is_watched: Whether it is read again when it changes.
    """

    path: Path
    load: Load
    is_watched: bool = False


class Maintained(Protocol):
    """A run, as far as it is looked after."""

    @property
    def config(self) -> Config:
        """What runs."""

    @property
    def revision(self) -> int:
        """How many changes there have been."""

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Take up the configuration as it is now."""

    def has_pulse(self) -> bool:
        """Return True if a worker has had time since this was last asked."""

    def stats(self) -> Mapping[str, StreamStats]:
        """Return every stream's counters."""

    def reports(self) -> Mapping[str, CaptureReport]:
        """Return what every stream's source is doing."""

    def switches(self) -> Mapping[str, int]:
        """Return how often each adaptive model has changed its pool."""

    def models(self, *, compares: bool = True) -> Mapping[str, Mapping[str, Any]]:
        """Return what is known of each model."""


class Upkeep:
    """Looks after one run; ``tend`` from its start, then ``end``."""

    def __init__(
        self,
        run: Maintained,
        deployment: Deployment,
        source: ConfigSource | None,
        notice: ServiceNotice,
        take_reload: Callable[[], bool],
    ) -> None:
        """Begin once the run has started.

        Args:
            run: The run.
            deployment: Its record.
            source: Where its configuration comes from; None: it is never read again.
            notice: Tells the service manager.
            take_reload: Returns True once after a signal that asks for the file to be read again.
        """
        now_s = time.monotonic()
        self._run = run
        self._deployment = deployment
        self._notice = notice
        self._take_reload = take_reload
        self._threads = ThreadGroup()
        self._switches = run.switches()
        self._revision = run.revision
        self._heart = Heart(_patience_s(run.config), now_s)
        self._is_beating = True
        self._beat_at = self._status_at = now_s
        self._watch: FileWatch | None = None
        if source is not None and source.is_watched:
            self._watch = FileWatch(source.path, lambda: self._beside(source.path), now_s)
        notice.ready()

    def tend(self, now_s: float) -> None:
        """Do what is due."""
        self._keep_record()
        self._look_at_files(now_s)
        self._tell(now_s)

    def end(self) -> None:
        """The run is about to stop."""
        self._notice.stopping()

    def _keep_record(self) -> None:
        switches, revision = self._run.switches(), self._run.revision
        if (switches, revision) != (self._switches, self._revision):
            self._switches, self._revision = switches, revision
            self._heart.patience_s = _patience_s(self._run.config)
            self._deployment.update(self._run.models(compares=False), self._run.config)

    def _look_at_files(self, now_s: float) -> None:
        if self._threads.alive():
            return
        has_changed = self._watch is not None and self._watch.has_changed(now_s)
        is_told = self._take_reload()
        if is_told or has_changed:
            logger.info("reading the configuration again{}", "" if is_told else ": it has changed")
            self._notice.reloading()
            # Its models may take minutes to compile.
            self._threads.spawn("vp-reload", self._reload, may_hang=True)

    def _reload(self) -> None:
        try:
            self._run.reload()
        except VidpipeError:
            pass  # said already; the former one goes on
        except Exception as exc:  # noqa: BLE001 - a boundary: the run goes on
            logger.error("reading the configuration failed: {}", trace_of(exc))
        finally:
            if self._watch is not None:
                self._watch.settle()
            self._notice.ready()

    def _tell(self, now_s: float) -> None:
        if self._notice.watchdog_s is not None and now_s >= self._beat_at:
            self._beat_at = now_s + self._notice.watchdog_s / 3
            self._beat(now_s)
        if now_s >= self._status_at:
            self._status_at = now_s + _STATUS_EVERY_S
            self._notice.status(status_line(self._run.reports()))

    def _beat(self, now_s: float) -> None:
        was_beating = self._is_beating
        self._is_beating = self._heart.is_beating(
            self._run.stats(), has_answered=self._run.has_pulse(), now_s=now_s
        )
        if self._is_beating:
            self._notice.alive()
        elif was_beating:
            logger.critical("nothing moves any more: the service's watchdog is told no more")

    def _beside(self, path: Path) -> Iterator[Path]:
        """Yield the further files that the configuration is made of."""
        config = self._run.config
        if config.env_file is not None:
            yield Path(input_path(str(config.env_file), path.parent))
        for model in config.models.values():
            yield from files_of(model)


def _patience_s(config: Config) -> float:
    """Return how long a frame may be on its way before the run counts as hung."""
    return max(model.timeout_s for model in config.models.values()) + _MARGIN_S


def status_line(reports: Mapping[str, CaptureReport]) -> str:
    """Return how the streams stand, in a line."""
    states = [report.state for report in reports.values()]
    wanted = [state for state in states if state is not StreamState.DISABLED]
    line = f"{wanted.count(StreamState.LIVE)} of {len(wanted)} streams up"
    rest = [state for state in StreamState if state not in (StreamState.LIVE, StreamState.DISABLED)]
    parts = [f"{wanted.count(state)} {state.value}" for state in rest if state in wanted]
    if len(states) > len(wanted):
        parts.append(f"{len(states) - len(wanted)} disabled")
    return f"{line} ({', '.join(parts)})" if parts else line
