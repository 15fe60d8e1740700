"""``/metrics``: everything that is counted, in Prometheus's text format.

Computed when it is asked for, from the same snapshots as everything else: nothing is counted twice,
and a counter never falls, since those below it don't.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from vidpipe.runtime.durations import DURATION_BOUNDS_S, Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.server.detect import DetectMeter, DetectStats
from vidpipe.server.pages import Page
from vidpipe.server.shared import SharedAnswer
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.process import ProcessMeter
from vidpipe.telemetry.recent import Recent
from vidpipe.telemetry.rows import RunView
from vidpipe.types import CaptureReport, DropCause, PoolReport, StreamState
from vidpipe.version import __version__

_EVERY = 8
"""Of the fine buckets, every eighth is told: each is 2.14 times the one before."""
_STAGE_FIRST = 0
_AGE_FIRST = 48
"""Ages begin at one millisecond."""
_OPEN_METRICS = "application/openmetrics-text"
_REQUEST_STATES = ("free", "running", "parked")


def metric_pages(recent: Recent, detections: DetectMeter | None = None) -> Iterable[Page]:
    """Return the page for Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunCollector(recent, detections))

    encoders = {kind: choose_encoder(kind) for kind in ("", _OPEN_METRICS)}
    answers = SharedAnswer(lambda kind: encoders[kind][0](registry))

    async def metrics(request: Request) -> Response:
        # Of what may be asked for, these two differ: all names here are plain letters.
        kind = _OPEN_METRICS if _OPEN_METRICS in request.headers.get("accept", "") else ""
        body = await answers.get(kind)
        return Response(body, headers={"content-type": encoders[kind][1]})

    return (Page("/metrics", metrics),)


class RunCollector(Collector):
    """Turns the snapshots of a run into metrics; one thread at a time."""

    def __init__(self, recent: Recent, detections: DetectMeter | None = None) -> None:
        """Read the run that ``recent`` shows, and what was detected for others than its streams."""
        self._recent = recent
        self._detections = detections
        self._process = ProcessMeter()

    def describe(self) -> Iterable[Metric]:
        """Say nothing: what there is, is known when it is asked for."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with all its samples."""
        build = GaugeMetricFamily("vidpipe_build_info", "1, with the version.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield from process_metrics(self._process)
        overview, view = self._recent.overview, self._recent.view()
        if overview is not None and view is not None:
            yield from stream_metrics(overview)
            yield from stage_metrics(overview.stages())
            yield from pool_metrics(overview, view)
            yield from machine_metrics(view)
        if self._detections is not None:
            yield from detect_metrics(self._detections.snapshot())


def stream_metrics(overview: Overview) -> Iterator[Metric]:
    """Yield what belongs to one stream each."""
    stats = overview.stats()
    yield from _frame_counters(stats)
    in_flight = _gauge("vidpipe_frames_in_flight", "Frames between capture and end.", "stream")
    age = _histogram("vidpipe_frame_age_seconds", "From a frame's capture to its result.", "stream")
    for stream, one in stats.items():
        in_flight.add_metric([stream], one.in_flight)
        _add_durations(age, stream, one.age, _AGE_FIRST)
    yield in_flight
    yield age
    depth = _gauge("vidpipe_lane_depth", "Frames that wait for the model.", "stream")
    for stream, count in overview.depths().items():
        depth.add_metric([stream], count)
    yield depth
    yield _up(overview.reports())


def _frame_counters(stats: Mapping[str, StreamStats]) -> Iterator[Metric]:
    plain = {
        "captured": _counter("vidpipe_frames_captured", "Frames decoded.", "stream"),
        "processed": _counter("vidpipe_frames_processed", "Frames that have a result.", "stream"),
        "passed": _counter("vidpipe_frames_passed", "Frames kept from the model.", "stream"),
        "detections": _counter("vidpipe_detections", "Objects found.", "stream"),
        "reconnects": _counter("vidpipe_reconnects", "Openings after the first.", "stream"),
    }
    dropped = _counter("vidpipe_frames_dropped", "Frames lost.", "stream", "cause")
    errors = _counter("vidpipe_errors", "Failures.", "stream", "stage")
    losses = _counter("vidpipe_sink_losses", "Results not written.", "stream", "sink")
    resting = _gauge("vidpipe_sink_resting", "1: its disk has no room.", "stream", "sink")
    for stream, one in stats.items():
        for name, family in plain.items():
            family.add_metric([stream], getattr(one, name))
        # All causes from the start: a rate over a counter that appears late misses its first step.
        for cause, count in {**dict.fromkeys(map(str, DropCause), 0), **one.dropped}.items():
            dropped.add_metric([stream, cause], count)
        for stage, count in {"capture": 0, "inference": 0, **one.errors}.items():
            errors.add_metric([stream, clean(stage)], count)
        for sink, count in one.sink_losses.items():
            losses.add_metric([stream, clean(sink)], count)
        for sink in one.resting:
            resting.add_metric([stream, clean(sink)], 1)
    yield from (*plain.values(), dropped, errors, losses, resting)


def _up(reports: Mapping[str, CaptureReport]) -> Metric:
    up = _gauge("vidpipe_stream_up", "1 while frames come, else 0.", "stream")
    for stream, report in reports.items():
        up.add_metric([stream], int(report.state is StreamState.LIVE))
    return up


def stage_metrics(stages: Mapping[Stage, Durations]) -> Iterator[Metric]:
    """Yield how long every stage takes."""
    family = _histogram("vidpipe_stage_seconds", "One frame in one stage.", "stage")
    for stage, durations in stages.items():
        _add_durations(family, stage.value, durations, _STAGE_FIRST)
    yield family


def pool_metrics(overview: Overview, view: RunView) -> Iterator[Metric]:
    """Yield what belongs to one model each, all its pools together."""
    requests = _gauge("vidpipe_requests", "Requests of the model's pools.", "model", "state")
    ready = _gauge("vidpipe_pool_ready", "1 while the device can be trusted, else 0.", "pool")
    fill = _gauge("vidpipe_batch_fill_ratio", "Frames for each place of a batch, of late.", "model")
    batches = _counter("vidpipe_batches", "Batches started.", "model")
    frames = _counter("vidpipe_batched_frames", "Frames in batches.", "model")
    places = _counter("vidpipe_batch_places", "Places in batches.", "model")
    pools = overview.pools()
    for pool in pools:
        ready.add_metric([clean(pool.name)], int(pool.is_ready))
    for model, members in _by_model(pools).items():
        label = clean(model)
        for state in _REQUEST_STATES:
            count = sum(pool.requests.get(state, 0) for pool in members)
            requests.add_metric([label, state], count)
        if total := sum(pool.batch_places for pool in members):
            batches.add_metric([label], sum(pool.batches for pool in members))
            frames.add_metric([label], sum(pool.batched_frames for pool in members))
            places.add_metric([label], total)
            late = [pool for pool in view.pools if pool.model == model and pool.batch_places]
            of_late = late or members
            filled = sum(pool.batched_frames for pool in of_late)
            fill.add_metric([label], filled / sum(pool.batch_places for pool in of_late))
    switches = _counter(
        "vidpipe_pool_switches", "Moves between an adaptive model's pools.", "model"
    )
    for model, count in overview.switches().items():
        switches.add_metric([clean(model)], count)
    yield from (requests, ready, fill, batches, frames, places, switches)


def machine_metrics(view: RunView) -> Iterator[Metric]:
    """Yield what the machine is kept busy with, of late."""
    if view.gpus:
        family = _gauge("vidpipe_gpu_busy_ratio", "Share of the time the GPU was awake.", "gpu")
        for gpu, share in view.gpus.items():
            family.add_metric([gpu], share)
        yield family


def detect_metrics(stats: DetectStats) -> Iterator[Metric]:
    """Yield what became of the pictures that somebody brought."""
    outcomes = _counter("vidpipe_detect_requests", "Pictures brought by HTTP.", "outcome")
    for outcome, count in stats.outcomes.items():
        outcomes.add_metric([outcome], count)
    yield outcomes
    yield GaugeMetricFamily("vidpipe_detect_busy", "Pictures under way.", value=stats.busy)
    durations = HistogramMetricFamily("vidpipe_detect_seconds", "From a picture to its answer.")
    _add_durations(durations, None, stats.durations, _AGE_FIRST)
    yield durations


def process_metrics(meter: ProcessMeter) -> Iterator[Metric]:
    """Yield the usual metrics of a process, its worker processes included."""
    usage = meter.usage()
    if usage is None:
        return
    yield CounterMetricFamily("process_cpu_seconds", "CPU time.", value=usage.cpu_s)
    for name, help_text, value in (
        ("process_resident_memory_bytes", "Memory held.", usage.resident_bytes),
        ("process_virtual_memory_bytes", "Addresses taken.", usage.virtual_bytes),
        ("process_start_time_seconds", "Start, since 1970.", usage.started_at),
        ("process_open_fds", "Open files.", usage.open_files),
        ("process_max_fds", "Open files allowed.", usage.max_files),
    ):
        yield GaugeMetricFamily(name, help_text, value=value)


def clean(text: str) -> str:
    """Return a label's value that can be encoded, whatever a name was made of."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _by_model(pools: Iterable[PoolReport]) -> dict[str, list[PoolReport]]:
    by_model: dict[str, list[PoolReport]] = {}
    for pool in pools:
        by_model.setdefault(pool.model, []).append(pool)
    return by_model


def _counter(name: str, help_text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, help_text, labels=labels)


def _gauge(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, labels=labels)


def _histogram(name: str, help_text: str, *labels: str) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, help_text, labels=labels)


def _add_durations(
    family: HistogramMetricFamily, label: str | None, durations: Durations, first: int
) -> None:
    """Add what was counted up to some of the bounds; exact, since they are bounds of buckets."""
    running = list(accumulate(durations.counts))
    buckets = [
        (f"{DURATION_BOUNDS_S[index]:.6g}", float(running[index]))
        for index in range(first, len(DURATION_BOUNDS_S), _EVERY)
    ]
    buckets.append(("+Inf", float(running[-1])))
    family.add_metric([] if label is None else [label], buckets, durations.sum_s)
