"""A configuration in several processes: their parent, which is one run to everybody else.

It owns what there can only be one of (the port, the log file, the manifest, the terminal) and adds
up what the workers say; frames never leave their process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vidpipe.apps.controls import Controls, Load
from vidpipe.apps.exhibition import wall_of
from vidpipe.apps.fleetchanges import FleetChanges, fetch_models, finite_of
from vidpipe.apps.fleetdetection import FleetDetection
from vidpipe.apps.fleetgallery import FleetGallery
from vidpipe.apps.keeper import Keeper
from vidpipe.apps.messages import error_from_refusal
from vidpipe.apps.outcome import Failure, never_up, unanswered
from vidpipe.apps.share import WorkerShare
from vidpipe.apps.sourcing import is_endless
from vidpipe.apps.spawning import Spare
from vidpipe.config.schema import Config
from vidpipe.errors import VidpipeError
from vidpipe.runtime.durations import Durations, Stage, together
from vidpipe.runtime.meters import StreamStats
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.shots import Gallery, Wants
from vidpipe.types import CaptureReport, PoolReport

T = TypeVar("T")


_TICK_S = 0.05

_GRACE_S = 5.0
"""What a worker may take beyond the deadline: to give its files up in order, and to say so."""


class Fleet:
    """Implements ``Overview``; begins and ends as a ``Pipeline`` does, without results to take.

    ``start`` and ``close`` are for one thread; the rest is for any.
    """

    def __init__(self, config: Config, shares: list[WorkerShare], load: Load | None = None) -> None:
        """Start the processes, and wait until every one has compiled its models.

        Args:
            config: All of it.
            shares: Each worker's.
            load: What ``reload`` reads it again by.

        Raises:
            VidpipeError: One of them can't: its error, as if it had been raised here.
            FetchError: A model of the zoo can't be fetched.
        """
        fetch_models(config)
        finite = finite_of(config)
        self._spare = Spare()
        self._keepers = [Keeper(share, config, finite, self._spare) for share in shares]
        self._changes = FleetChanges(self._keepers, config, self._forget)
        self._controls = Controls(self._changes, config, load)
        self._threads = ThreadGroup()
        self._gallery = self._opened_gallery()
        self._detection = FleetDetection(self._keepers)
        for keeper in self._keepers:
            keeper.detection = self._detection
        self._is_hurried = False
        self._is_closed = False
        try:
            for keeper in self._keepers:
                self._threads.spawn(f"vp-keep-{keeper.share.number}", keeper.run)
            self._wait_until_settled()
        except BaseException:
            self._end_all()
            raise

    @property
    def _config(self) -> Config:
        return self._changes.config

    def _forget(self, stream: str) -> None:
        if self._gallery is not None:
            self._gallery.remove(stream)

    def _opened_gallery(self) -> FleetGallery | None:
        wall = wall_of(self._config)
        if wall is None:
            return None

        def show(wants: Wants) -> None:
            for keeper in self._keepers:
                keeper.show(wants)

        gallery = FleetGallery(show, quality=wall.quality)
        for keeper in self._keepers:
            keeper.gallery = gallery
        return gallery

    def _wait_until_settled(self) -> None:
        for keeper in self._keepers:
            while not keeper.settled.wait(_TICK_S):
                self._raise_refusal()
        self._raise_refusal()

    def _raise_refusal(self) -> None:
        for keeper in self._keepers:
            if keeper.refusal is not None:
                raise error_from_refusal(keeper.refusal)

    # ---- The run -------------------------------------------------------------------------------

    def start(self, *, with_results: bool = False) -> None:
        """Let every stream start; there are no results to take, those are in other processes."""
        if with_results:
            raise VidpipeError("results can't be taken from several processes: set workers to 1")
        for keeper in self._keepers:
            keeper.begin()

    @property
    def is_done(self) -> bool:
        """True once there is nothing left to wait for."""
        return all(keeper.done.is_set() for keeper in self._keepers)

    def hurry(self) -> None:
        """Let ``close``, under way or to come, wait for nothing; a signal handler may call it."""
        self._is_hurried = True

    def close(self, timeout_s: float | None = None) -> None:
        """Stop all workers at once, source-first, within one deadline; kill those that don't end.

        May be repeated.

        Args:
            timeout_s: How long it may take; None: ``shutdown_timeout_s`` of the configuration.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._stop_all(self._config.shutdown_timeout_s if timeout_s is None else timeout_s)
        finally:
            self._end_all()

    def _stop_all(self, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s + _GRACE_S
        for keeper in self._keepers:
            keeper.stop(timeout_s)
        has_hurried = False
        for keeper in self._keepers:
            while time.monotonic() < until and not keeper.done.wait(_TICK_S):
                if self._is_hurried and not has_hurried:
                    has_hurried = True
                    until = min(until, time.monotonic() + _GRACE_S)
                    for one in self._keepers:
                        one.hurry()

    def _end_all(self) -> None:
        for keeper in self._keepers:
            if not keeper.done.is_set():
                keeper.kill()
        self._spare.close()
        until = time.monotonic() + _GRACE_S
        for keeper in self._keepers:
            keeper.done.wait(max(0.0, until - time.monotonic()))
        for keeper in self._keepers:
            keeper.release()
        self._threads.join(_GRACE_S)

    # ---- Changes -------------------------------------------------------------------------------

    def reload(self) -> Mapping[str, Sequence[str]]:
        """Read the file again: see ``Pipeline.reload``; streams that come go to idle workers."""
        return self._controls.reload()

    def enable(self, stream: str) -> None:
        """Watch a stream that is disabled: see ``Pipeline.enable``."""
        self._controls.enable(stream)

    def disable(self, stream: str) -> None:
        """Watch a stream no more: see ``Pipeline.disable``."""
        self._controls.disable(stream)

    def restart(self, stream: str) -> None:
        """End a stream and begin it anew: see ``Pipeline.restart``."""
        self._controls.restart(stream)

    @property
    def revision(self) -> int:
        """How many changes there have been."""
        return self._controls.revision

    def has_pulse(self) -> bool:
        """Return True: a worker that says nothing is killed by its keeper."""
        return True

    @property
    def config(self) -> Config:
        """What runs; after a change it is another one."""
        return self._config

    # ---- How it stands -------------------------------------------------------------------------

    @property
    def gallery(self) -> Gallery | None:
        """The pictures of all workers; None where nobody could look at them."""
        return self._gallery

    @property
    def detector(self) -> FleetDetection:
        """What looks at pictures that somebody brings: one of the workers."""
        return self._detection

    def titles(self) -> dict[str, str]:
        """Return what people call each stream, by its id."""
        return {stream.id: stream.title for stream in self._config.streams}

    def stats(self) -> dict[str, StreamStats]:
        """Return each stream's counters, over all lives of its worker."""
        return self._by_stream([keeper.ledger.stats() for keeper in self._keepers])

    def reports(self) -> dict[str, CaptureReport]:
        """Return what each stream's source is doing."""
        return self._by_stream([keeper.ledger.reports() for keeper in self._keepers])

    def depths(self) -> dict[str, int]:
        """Return how many frames wait in each stream's lane."""
        return self._by_stream([keeper.ledger.depths() for keeper in self._keepers])

    def stages(self) -> dict[Stage, Durations]:
        """Return how long every stage takes, in all workers together."""
        several = [keeper.ledger.stages() for keeper in self._keepers]
        return {stage: together(stages[stage] for stages in several) for stage in Stage}

    def pools(self) -> list[PoolReport]:
        """Return every worker's pools, with the worker's number behind their names."""
        return [
            replace(pool, name=f"{pool.name}/worker-{keeper.share.number}")
            for keeper in self._keepers
            for pool in keeper.ledger.pools()
        ]

    def switches(self) -> dict[str, int]:
        """Return how often each adaptive model has changed its pool, in all workers together."""
        total: Counter[str] = Counter()
        for keeper in self._keepers:
            total.update(keeper.ledger.switches())
        return dict(total)

    def models(self, *, compares: bool = True) -> dict[str, dict[str, Any]]:
        """Return what the workers say of their models, by name, as ``Pipeline`` does of its own.

        What they don't agree about stands below ``workers``, by their numbers.

        Args:
            compares: False: without the overrides.
        """
        several: dict[str, dict[int, Mapping[str, Any]]] = {}
        for keeper in self._keepers:
            for name, about in keeper.models.items():
                known = about if compares else {**about, "overrides": None}
                several.setdefault(name, {})[keeper.share.number] = known
        return {name: _agreed(of_worker) for name, of_worker in several.items()}

    @property
    def failures(self) -> list[Failure]:
        """What has failed for good; after the stop also cameras that never came up."""
        found = [failure for keeper in self._keepers for failure in keeper.ledger.failures]
        reports, stats = self.reports(), self.stats()
        for stream in self._config.streams:
            if stream.id not in stats or stream.id not in reports or not stream.enabled:
                continue
            if self._is_closed and is_endless(stream):
                found += never_up(stream.id, reports[stream.id])
            found += unanswered(stream.id, stats[stream.id])
        return found

    @property
    def files(self) -> list[Path]:
        """What the outputs have finished so far."""
        return sorted(file for keeper in self._keepers for file in keeper.ledger.files)

    @property
    def lost(self) -> list[str]:
        """What the stop threw away, for people; best empty."""
        return [loss for keeper in self._keepers for loss in keeper.lost]

    @property
    def exit_code(self) -> int:
        """3 if anything is lost, 1 if anything failed, else 0."""
        return 3 if self.lost else 1 if self.failures else 0

    def _by_stream(self, several: Iterable[Mapping[str, T]]) -> dict[str, T]:
        """Return all of several mappings by stream, in the configuration's order."""
        whole = {stream: value for one in several for stream, value in one.items()}
        # A change may be under way.
        return {s.id: whole[s.id] for s in self._config.streams if s.id in whole}


def _agreed(of_worker: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all workers say alike, and below ``workers`` what each says otherwise."""
    first, *others = of_worker.values()
    alike = {key: value for key, value in first.items() if all(o.get(key) == value for o in others)}
    if len(alike) == len(first):
        return alike
    return alike | {
        "workers": {
            str(number): {key: value for key, value in about.items() if key not in alike}
            for number, about in of_worker.items()
        }
    }
