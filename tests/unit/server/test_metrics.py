"""What Prometheus reads: every name of the contract, and numbers that add up."""

from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.overviews import FakeOverview, busy_meter, make_pool, make_report
from tests.web import ask
from vidpipe.config.schema import ServerConfig
from vidpipe.runtime.durations import DURATION_BOUNDS_S, Stage
from vidpipe.server.metrics import RunCollector
from vidpipe.server.service import HttpServer
from vidpipe.telemetry.recent import Recent
from vidpipe.types import DropCause, StreamState

CONTRACT = {
    "vidpipe_frames_captured": "counter",
    "vidpipe_frames_processed": "counter",
    "vidpipe_frames_passed": "counter",
    "vidpipe_frames_dropped": "counter",
    "vidpipe_frames_in_flight": "gauge",
    "vidpipe_frame_age_seconds": "histogram",
    "vidpipe_stage_seconds": "histogram",
    "vidpipe_lane_depth": "gauge",
    "vidpipe_requests": "gauge",
    "vidpipe_batch_fill_ratio": "gauge",
    "vidpipe_stream_up": "gauge",
    "vidpipe_reconnects": "counter",
    "vidpipe_errors": "counter",
    "process_cpu_seconds": "counter",
    "process_resident_memory_bytes": "gauge",
    "process_start_time_seconds": "gauge",
    "process_open_fds": "gauge",
    "process_max_fds": "gauge",
}


def families(overview: FakeOverview) -> dict[str, Metric]:
    """Return what a scrape of the run reads."""
    recent = Recent()
    recent.show(overview)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunCollector(recent))
    text = generate_latest(registry).decode()
    found = list(text_string_to_metric_families(text))
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def values(family: Metric, suffix: str = "") -> dict[tuple[str, ...], float]:
    """Return a family's values by their labels' values, in the labels' alphabetic order."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for sample in family.samples
        if sample.name == family.name + suffix
    }


def test_every_name_of_the_contract_is_there_with_its_type() -> None:
    found = families(FakeOverview())
    assert {name: found[name].type for name in CONTRACT} == CONTRACT


def test_counts_are_those_of_the_meters() -> None:
    meter = busy_meter(5)
    for _ in range(7):
        meter.count_captured()
    meter.count_passed()
    meter.count_dropped(DropCause.LANE, 3)
    meter.count_error("inference")
    meter.count_error("video")
    meter.count_reconnect()
    meter.count_sink_loss("video", 2)
    found = families(FakeOverview(meters={"gate": meter}))
    gate = ("gate",)
    for name, value in {"captured": 12, "processed": 5, "passed": 1}.items():
        assert values(found[f"vidpipe_frames_{name}"], "_total") == {gate: value}
    assert values(found["vidpipe_frames_in_flight"]) == {gate: 3}
    dropped = values(found["vidpipe_frames_dropped"], "_total")
    assert dropped == {(cause.value, "gate"): 3 if cause == "lane" else 0 for cause in DropCause}
    assert values(found["vidpipe_errors"], "_total") == {
        ("capture", "gate"): 0,
        ("inference", "gate"): 1,
        ("video", "gate"): 1,
    }
    assert values(found["vidpipe_reconnects"], "_total") == {gate: 1}
    assert values(found["vidpipe_sink_losses"], "_total") == {("video", "gate"): 2}
    assert values(found["vidpipe_lane_depth"]) == {gate: 1}


@pytest.mark.parametrize("state", StreamState)
def test_a_stream_is_up_while_frames_come(state: StreamState) -> None:
    found = families(FakeOverview(states={"gate": make_report(state)}))
    assert values(found["vidpipe_stream_up"]) == {("gate",): float(state is StreamState.LIVE)}


def test_ages_are_a_histogram_whose_buckets_are_exact() -> None:
    ages = [1e-7, 0.0005, 0.004, 0.02, 0.02, 0.3, 5.0, 1e6]
    meter = busy_meter(0)
    for age_s in ages:
        meter.count_processed(age_s, 0)
    family = families(FakeOverview(meters={"gate": meter}))["vidpipe_frame_age_seconds"]
    assert values(family, "_count") == {("gate",): len(ages)}
    assert values(family, "_sum")["gate",] == pytest.approx(sum(ages))
    buckets = _buckets(family.samples)
    assert 8 < len(buckets) < 25
    assert list(buckets) == sorted(buckets)
    assert buckets[math.inf] == len(ages)
    for bound_s, count in buckets.items():
        assert count == sum(age_s <= bound_s for age_s in ages), bound_s


def _buckets(samples: list[Sample]) -> dict[float, float]:
    return {
        float(sample.labels["le"]): sample.value
        for sample in samples
        if sample.name.endswith("_bucket")
    }


def test_stages_have_buckets_for_what_is_quick() -> None:
    overview = FakeOverview()
    overview.stage_meters.record(Stage.FILL, 0.0001)
    family = families(overview)["vidpipe_stage_seconds"]
    assert values(family, "_count")["fill",] == 1
    fill = _buckets([one for one in family.samples if one.labels.get("stage") == "fill"])
    assert min(fill) == pytest.approx(DURATION_BOUNDS_S[0])
    assert {stage for (stage,) in values(family, "_count")} == {stage.value for stage in Stage}


def test_a_models_pools_are_added_up() -> None:
    overview = FakeOverview(
        pool_reports=[
            make_pool("person/gate", "person", batches=2, batched_frames=6, batch_places=8),
            make_pool("person/dock", "person", batches=1, batched_frames=1, batch_places=4),
            make_pool("face", is_ready=False),
        ],
        switch_counts={"face": 2},
    )
    found = families(overview)
    assert values(found["vidpipe_requests"]) == {
        ("person", "free"): 4, ("person", "running"): 6, ("person", "parked"): 0,
        ("face", "free"): 2, ("face", "running"): 3, ("face", "parked"): 0,
    }  # fmt: skip
    assert values(found["vidpipe_batch_fill_ratio"]) == {("person",): pytest.approx(7 / 12)}
    assert values(found["vidpipe_batches"], "_total") == {("person",): 3}
    assert values(found["vidpipe_batched_frames"], "_total") == {("person",): 7}
    assert values(found["vidpipe_pool_switches"], "_total") == {("face",): 2}
    assert values(found["vidpipe_pool_ready"])["face",] == 0


def test_the_fill_ratio_is_that_of_late() -> None:
    overview = FakeOverview(pool_reports=[make_pool(batches=9, batched_frames=9, batch_places=72)])
    recent = Recent()
    recent.show(overview)
    overview.pool_reports = [make_pool(batches=10, batched_frames=17, batch_places=80)]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunCollector(recent))
    assert 'vidpipe_batch_fill_ratio{model="person"} 1.0\n' in generate_latest(registry).decode()


@pytest.mark.parametrize(
    "name", ['a "quoted" one', "back\\slash", "two\nlines", "тест", '{a="b"} 1', "half \ud800"]
)
def test_names_of_any_kind_are_escaped(name: str) -> None:
    meter = busy_meter(1)
    meter.count_sink_loss(name)
    meter.count_error(name)
    overview = FakeOverview(
        meters={"gate": meter}, pool_reports=[make_pool(name)], switch_counts={name: 1}
    )
    found = families(overview)
    shown = name.replace("\ud800", "?")
    assert (shown, "free") in values(found["vidpipe_requests"])
    assert (shown, "gate") in values(found["vidpipe_sink_losses"], "_total")


def test_a_scraper_may_ask_for_openmetrics() -> None:
    server = HttpServer(ServerConfig(port=0))
    server.start()
    try:
        server.show(FakeOverview())
        plain = ask(f"{server.url}/metrics")
        assert plain.headers["content-type"].startswith("text/plain; version=")
        accept = "application/openmetrics-text; version=1.0.0,text/plain;q=0.5"
        reply = ask(f"{server.url}/metrics", accept=accept)
        assert reply.headers["content-type"].startswith("application/openmetrics-text")
        names = {family.name for family in openmetrics_families(reply.text)}  # type: ignore[no-untyped-call] # ships none
        assert set(CONTRACT) <= names
        for odd in ("*/*", ";;;", "application/openmetrics-text; version=x", "\xe9", "q=" * 5000):
            assert ask(f"{server.url}/metrics", accept=odd).status == 200
    finally:
        server.stop()
