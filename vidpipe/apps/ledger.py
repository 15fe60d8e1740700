"""What one worker's streams have done, over all the lives of its process.

A process that dies takes its counters with it. Here they are kept as last told and added to those
of its successor, so that none ever goes down, and the balance of every stream holds: frames that
were in flight are counted as dropped.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from vidpipe.apps.messages import View
from vidpipe.apps.outcome import Failure
from vidpipe.runtime.durations import Durations, Stage, together
from vidpipe.runtime.meters import StreamStats
from vidpipe.types import CaptureReport, DropCause, PoolReport, StreamState

_NOTHING = StreamStats(
    captured=0,
    processed=0,
    passed=0,
    dropped=MappingProxyType({}),
    in_flight=0,
    detections=0,
    errors=MappingProxyType({}),
    reconnects=0,
    age=Durations(),
    sink_losses=MappingProxyType({}),
)
_UNKNOWN = CaptureReport(StreamState.CONNECTING, "its worker is starting", False, None, None)  # noqa: FBT003 - a record's field


@dataclass(slots=True)
class Ledger:
    """The record of one worker; every method may be called from any thread.

    Attributes:
        streams: The ids of its streams.
    """

    streams: Sequence[str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _view: View | None = None
    _past: dict[str, StreamStats] = field(default_factory=dict)
    _past_stages: dict[Stage, Durations] = field(default_factory=dict)
    _past_pools: dict[str, PoolReport] = field(default_factory=dict)
    _past_switches: Counter[str] = field(default_factory=Counter)
    _reports: dict[str, CaptureReport] = field(default_factory=dict)
    _has_been_up: set[str] = field(default_factory=set)
    _down: str = ""
    """Why the process isn't there; empty while it is."""
    _failures: dict[Failure, None] = field(default_factory=dict)
    _files: list[Path] = field(default_factory=list)
    _ended: set[str] = field(default_factory=set)

    def follow(self, streams: Sequence[str], begun: Collection[str]) -> None:
        """Keep the record of other streams from now on.

        Args:
            streams: All of them.
            begun: Those of them that have begun anew: what ended or failed of them counts no more.
        """
        with self._lock:
            gone = {*self.streams, *self._past}.difference(streams)
            self.streams = tuple(streams)
            for stream in gone:
                self._past.pop(stream, None)
                self._reports.pop(stream, None)
            self._has_been_up -= gone
            self._ended -= gone.union(begun)
            self._failures = {
                failure: None
                for failure in self._failures
                if failure.stream not in gone and failure.stream not in begun
            }

    def take(self, view: View) -> None:
        """Learn how the process that lives now stands."""
        with self._lock:
            self._view, self._down = view, ""
            self._reports |= view.reports
            self._has_been_up |= {s for s, report in view.reports.items() if report.has_been_up}
            self._failures |= dict.fromkeys(view.failures)
            self._files += view.files
            self._ended |= view.ended

    def close_life(self, why: str, cause: DropCause, *, is_coming_back: bool) -> dict[str, int]:
        """The process is gone; return what was in flight, by stream.

        Args:
            why: What became of it, for people.
            cause: What the frames in flight are counted as.
            is_coming_back: Whether the streams that haven't ended will be opened again.
        """
        with self._lock:
            view, self._view = self._view, None
            self._down = why
            if view is None:
                return {}
            in_flight = {s: stats.in_flight for s, stats in view.stats.items() if stats.in_flight}
            for stream, stats in view.stats.items():
                if stream not in self.streams:
                    continue
                over = _over(stats, cause)
                if is_coming_back and stream not in self._ended:
                    over = replace(over, reconnects=over.reconnects + 1)
                self._past[stream] = _sum(self._past.get(stream, _NOTHING), over)
            for stage, durations in view.stages.items():
                self._past_stages[stage] = _and(self._past_stages.get(stage), durations)
            for pool in view.pools:
                self._past_pools[pool.name] = _pool_sum(self._past_pools.get(pool.name), pool)
            self._past_switches.update(view.switches)
            return in_flight

    def give_up(self, stream: str, error: str) -> None:
        """A stream isn't tried again: it has failed for good."""
        with self._lock:
            self._ended.add(stream)
            self._failures[Failure(stream, "source", error)] = None
            known = self._reports.get(stream, _UNKNOWN)
            self._reports[stream] = replace(
                known, state=StreamState.FAILED, detail=error, error=error
            )

    def is_ended(self, stream: str) -> bool:
        """Return True if nothing more will come of a stream."""
        with self._lock:
            return stream in self._ended

    def stats(self) -> dict[str, StreamStats]:
        """Return every stream's counters, over all lives."""
        with self._lock:
            now = self._view.stats if self._view is not None else {}
            return {
                stream: _sum(self._past.get(stream, _NOTHING), now.get(stream, _NOTHING))
                for stream in self.streams
            }

    def reports(self) -> dict[str, CaptureReport]:
        """Return what every source is doing; the sources of a dead process are waiting for it."""
        with self._lock:
            return {stream: self._report(stream) for stream in self.streams}

    def _report(self, stream: str) -> CaptureReport:
        report = replace(
            self._reports.get(stream, _UNKNOWN), has_been_up=stream in self._has_been_up
        )
        if not self._down or stream in self._ended:
            return report
        return replace(report, state=StreamState.BACKING_OFF, detail=self._down, error=self._down)

    def depths(self) -> dict[str, int]:
        """Return how many frames wait in every lane."""
        with self._lock:
            depths = self._view.depths if self._view is not None else {}
            return {stream: depths.get(stream, 0) for stream in self.streams}

    def stages(self) -> dict[Stage, Durations]:
        """Return what every stage took, over all lives."""
        with self._lock:
            now: Mapping[Stage, Durations] = self._view.stages if self._view is not None else {}
            return {
                stage: _and(self._past_stages.get(stage), now.get(stage, Durations()))
                for stage in Stage
            }

    def pools(self) -> list[PoolReport]:
        """Return every pool; those of a dead process are not ready, unless it is done."""
        with self._lock:
            if self._view is not None:
                return [_pool_sum(self._past_pools.get(p.name), p) for p in self._view.pools]
            is_done = self._ended.issuperset(self.streams)
            return [
                replace(pool, is_ready=is_done, requests=dict.fromkeys(pool.requests, 0))
                for pool in self._past_pools.values()
            ]

    def switches(self) -> Counter[str]:
        """Return how often each adaptive model has changed its pool, over all lives."""
        with self._lock:
            now = self._view.switches if self._view is not None else {}
            return self._past_switches + Counter(now) if now else Counter(self._past_switches)

    @property
    def failures(self) -> list[Failure]:
        """What has failed for good, in any life."""
        with self._lock:
            return list(self._failures)

    @property
    def files(self) -> list[Path]:
        """What has been finished, in any life."""
        with self._lock:
            return list(self._files)


def _over(stats: StreamStats, cause: DropCause) -> StreamStats:
    """Return the counters of a life that is over: nothing is in flight."""
    if not stats.in_flight:
        return stats
    dropped = Counter(stats.dropped)
    dropped[cause] += stats.in_flight
    return replace(stats, dropped=dict(dropped), in_flight=0)


def _sum(old: StreamStats, new: StreamStats) -> StreamStats:
    if old is _NOTHING:
        return new
    return StreamStats(
        captured=old.captured + new.captured,
        processed=old.processed + new.processed,
        passed=old.passed + new.passed,
        dropped=_counts(old.dropped, new.dropped),
        in_flight=old.in_flight + new.in_flight,
        detections=old.detections + new.detections,
        errors=_counts(old.errors, new.errors),
        reconnects=old.reconnects + new.reconnects,
        age=together((old.age, new.age)),
        sink_losses=_counts(old.sink_losses, new.sink_losses),
        active_s=old.active_s + new.active_s,
        resting=new.resting,
    )


def _counts(old: Mapping[str, int], new: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(Counter(old) + Counter(new)))


def _and(old: Durations | None, new: Durations) -> Durations:
    return new if old is None else together((old, new))


def _pool_sum(old: PoolReport | None, new: PoolReport) -> PoolReport:
    if old is None:
        return new
    return replace(
        new,
        batches=old.batches + new.batches,
        batched_frames=old.batched_frames + new.batched_frames,
        batch_places=old.batch_places + new.batch_places,
    )
