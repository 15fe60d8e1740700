"""What happened in a run between two moments: the rates and times that people and tools read.

Pure but for ``moment_of``, which asks the run: what it counts is cumulative, and everything here is
a difference of two such readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vidpipe.runtime.durations import Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.telemetry.gpu import Asleep, GpuMeter, busy_shares
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.process import ProcessMeter
from vidpipe.types import CaptureReport, PoolReport, StreamState

NOTHING_COUNTED = StreamStats(0, 0, 0, {}, 0, 0, {}, 0, Durations(), {})
"""A stream's counters before it began."""


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream over one interval.

    Attributes:
        stream: The stream's id.
        title: What people call it.
        report: What its source is doing.
        stats: Its counters now.
        depth: Frames that wait in its lane now.
        fps_in: Frames captured a second.
        fps_out: Frames processed or passed a second.
        age: Capture to result, in the interval.
        lost: Frames dropped in the interval, but for those of a stop.
        failed: Failures in the interval, of all stages.
    """

    stream: str
    title: str
    report: CaptureReport
    stats: StreamStats
    depth: int
    fps_in: float
    fps_out: float
    age: Durations
    lost: int
    failed: int

    @property
    def state(self) -> str:
        """The state's word; a recorded source that is being read is ``playing``."""
        info = self.report.info
        if self.report.state is StreamState.LIVE and info is not None and not info.is_live:
            return "playing"
        return self.report.state.value


@dataclass(frozen=True, slots=True)
class RunView:
    """A run over one interval.

    Attributes:
        seconds: The interval's length.
        rows: Its streams, in the configuration's order.
        stages: How long every stage took in the interval; stages without a frame are left out.
        pools: The pools as they stand, with the batches of the interval.
        switches: How often each adaptive model has changed its pool so far.
        cpu_cores: How many cores the process and its children kept busy, or None if unknown.
        gpus: Which share of the interval each GPU was awake, 0 to 1.
    """

    seconds: float
    rows: tuple[StreamRow, ...]
    stages: Mapping[Stage, Durations]
    pools: tuple[PoolReport, ...]
    switches: Mapping[str, int]
    cpu_cores: float | None
    gpus: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything that only grows, as it is at one moment of the monotonic clock."""

    at_s: float
    stats: Mapping[str, StreamStats] = field(default_factory=dict)
    stages: Mapping[Stage, Durations] = field(default_factory=dict)
    pools: tuple[PoolReport, ...] = ()
    cpu_s: float | None = None
    asleep: Asleep = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MachineMeters:
    """What is read beside the run itself."""

    process: ProcessMeter = field(default_factory=ProcessMeter)
    gpu: GpuMeter = field(default_factory=GpuMeter)


def moment_of(overview: Overview, now_s: float, machine: MachineMeters) -> Moment:
    """Return what a run and its machine have counted so far."""
    usage = machine.process.usage()
    return Moment(
        at_s=now_s,
        stats=dict(overview.stats()),
        stages=dict(overview.stages()),
        pools=tuple(overview.pools()),
        cpu_s=usage.cpu_s if usage else None,
        asleep=machine.gpu.asleep_s(),
    )


def view_between(overview: Overview, before: Moment, after: Moment) -> RunView:
    """Return the run between two moments; states and depths are those of now."""
    seconds = max(after.at_s - before.at_s, 1e-6)
    is_cpu_known = before.cpu_s is not None and after.cpu_s is not None
    return RunView(
        seconds=seconds,
        rows=_rows(overview, before, after, seconds),
        stages=_stages(before, after),
        pools=_pools(before, after),
        switches=overview.switches(),
        cpu_cores=((after.cpu_s or 0.0) - (before.cpu_s or 0.0)) / seconds
        if is_cpu_known
        else None,
        gpus=busy_shares(before.asleep, after.asleep, seconds),
    )


def averaged(view: RunView) -> RunView:
    """Return a view since the start with each stream's rates over the time in which it ran."""
    return replace(view, rows=tuple(map(_averaged, view.rows)))


def _averaged(row: StreamRow) -> StreamRow:
    stats, seconds = row.stats, row.stats.active_s
    if seconds <= 0:
        return row
    done = stats.processed + stats.passed
    return replace(row, fps_in=stats.captured / seconds, fps_out=done / seconds)


def _rows(
    overview: Overview, before: Moment, after: Moment, seconds: float
) -> tuple[StreamRow, ...]:
    reports, titles, depths = overview.reports(), overview.titles(), overview.depths()
    rows = []
    for stream, new in after.stats.items():
        report = reports.get(stream)
        if report is None:
            continue  # it has been taken out since
        old = before.stats.get(stream, NOTHING_COUNTED)
        if old.captured > new.captured:
            old = NOTHING_COUNTED  # it was taken out since, and another one has its id
        done = new.processed + new.passed - old.processed - old.passed
        rows.append(
            StreamRow(
                stream=stream,
                title=titles.get(stream, stream),
                report=report,
                stats=new,
                depth=depths.get(stream, 0),
                fps_in=(new.captured - old.captured) / seconds,
                fps_out=done / seconds,
                age=new.age.since(old.age),
                lost=_drops(new) - _drops(old),
                failed=sum(new.errors.values()) - sum(old.errors.values()),
            )
        )
    return tuple(rows)


def _drops(stats: StreamStats) -> int:
    return sum(count for cause, count in stats.dropped.items() if cause != "stop")


def _stages(before: Moment, after: Moment) -> dict[Stage, Durations]:
    between = {
        stage: new.since(before.stages.get(stage, Durations()))
        for stage, new in after.stages.items()
    }
    return {stage: durations for stage, durations in between.items() if durations.count}


def _pools(before: Moment, after: Moment) -> tuple[PoolReport, ...]:
    old_ones = {pool.name: pool for pool in before.pools}
    return tuple(_pool_since(old_ones.get(new.name), new) for new in after.pools)


def _pool_since(old: PoolReport | None, new: PoolReport) -> PoolReport:
    if old is None:
        return new
    return replace(
        new,
        batches=new.batches - old.batches,
        batched_frames=new.batched_frames - old.batched_frames,
        batch_places=new.batch_places - old.batch_places,
    )
