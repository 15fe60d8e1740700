"""A run that stands still unless a test moves it: a real ``Overview``, and its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.builders import make_source
from vidpipe.runtime.durations import Durations, Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter, StreamStats
from vidpipe.types import CaptureReport, PoolReport, StreamState


def make_report(
    state: StreamState = StreamState.LIVE,
    *,
    is_live: bool = True,
    detail: str = "",
    error: str | None = None,
) -> CaptureReport:
    """Return what a camera's capture says of itself, or a file's."""
    is_known = state is not StreamState.CONNECTING
    return CaptureReport(
        state=state,
        detail=detail,
        has_been_up=is_known,
        error=error,
        info=make_source(is_live=is_live) if is_known else None,
    )


def make_pool(
    name: str = "person",
    model: str = "",
    *,
    is_ready: bool = True,
    batches: int = 0,
    batched_frames: int = 0,
    batch_places: int = 0,
) -> PoolReport:
    """Return a pool of five requests, three of them at work."""
    return PoolReport(
        name=name,
        model=model or name,
        requests={"free": 2, "running": 3, "parked": 0},
        is_ready=is_ready,
        batches=batches,
        batched_frames=batched_frames,
        batch_places=batch_places,
    )


def busy_meter(frames: int, *, age_s: float = 0.02) -> StreamMeter:
    """Return the meter of a stream that has got through so many frames, an object in each."""
    meter = StreamMeter()
    for _ in range(frames):
        meter.count_captured()
        meter.count_processed(age_s, 1)
    return meter


@dataclass
class FakeOverview:
    """A run whose parts a test sets; ``gate`` is a camera that is up."""

    meters: dict[str, StreamMeter] = field(default_factory=lambda: {"gate": StreamMeter()})
    states: dict[str, CaptureReport] = field(default_factory=lambda: {"gate": make_report()})
    pool_reports: list[PoolReport] = field(default_factory=lambda: [make_pool()])
    stage_meters: StageMeters = field(default_factory=StageMeters)
    switch_counts: dict[str, int] = field(default_factory=dict)
    failure: Exception | None = None
    """Raised by whoever asks for counters."""

    def titles(self) -> Mapping[str, str]:
        """Return the ids in capitals."""
        return {stream: stream.upper() for stream in self.meters}

    def stats(self) -> Mapping[str, StreamStats]:
        """Return the meters' counters, or fail."""
        if self.failure is not None:
            raise self.failure
        return {stream: meter.snapshot() for stream, meter in self.meters.items()}

    def reports(self) -> Mapping[str, CaptureReport]:
        """Return what was set."""
        return dict(self.states)

    def depths(self) -> Mapping[str, int]:
        """Say that one frame waits in each lane."""
        return dict.fromkeys(self.meters, 1)

    def stages(self) -> Mapping[Stage, Durations]:
        """Return what the stages' meters hold."""
        return self.stage_meters.snapshot()

    def pools(self) -> Sequence[PoolReport]:
        """Return what was set."""
        return list(self.pool_reports)

    def switches(self) -> Mapping[str, int]:
        """Return what was set."""
        return dict(self.switch_counts)
