"""Which points a sweep or a comparison has."""

from __future__ import annotations

import pytest

from vidpipe.apps.bench.points import (
    compared_points,
    request_counts,
    stream_counts,
    sweep_points,
    sweeps_of,
)
from vidpipe.errors import UsageError


def test_all_stands_for_every_sweep() -> None:
    everything = ["requests", "streams", "batch", "hint", "mode", "call"]
    assert sweeps_of(["all"]) == everything
    assert sweeps_of(["call", "requests,call"]) == ["call", "requests"]


def test_an_unknown_sweep_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"--sweep request: .*did you mean.*requests"):
        sweeps_of(["request"])


@pytest.mark.parametrize("auto", [1, 3, 5, 9, 17, 33, 129])
def test_the_counts_of_requests_surround_what_auto_means(auto: int) -> None:
    counts = request_counts(auto)
    assert counts == sorted(set(counts))
    assert counts[0] == 1
    assert counts[-1] == 2 * auto
    assert auto in counts
    assert len(counts) <= 7


def test_the_counts_of_streams_hold_the_configured_one() -> None:
    assert stream_counts(3) == [1, 2, 3, 4, 8, 16]
    assert stream_counts(24)[-1] == 64
    assert 200 in stream_counts(200)


def test_a_batch_is_a_mode_and_a_size() -> None:
    points = sweep_points("batch", requests=5, streams=2, device="CPU", pace="full")
    assert points[1].settings == {"mode": "batched", "batch.size": 2}
    assert [point.name for point in points][:2] == ["batch 1", "batch 2"]


def test_cumulative_throughput_is_tried_for_auto_alone() -> None:
    names = {
        device: [
            point.name
            for point in sweep_points("hint", requests=5, streams=2, device=device, pace="full")
        ]
        for device in ("CPU", "AUTO:CPU")
    }
    assert "hint cumulative_throughput" not in names["CPU"]
    assert "hint cumulative_throughput" in names["AUTO:CPU"]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("sync,async", [{"call": "sync"}, {"call": "async"}]),
        (
            "independent, shared,batched",
            [{"mode": "independent"}, {"mode": "shared"}, {"mode": "batched"}],
        ),
        ("latency,throughput", [{"hint": "latency"}, {"hint": "throughput"}]),
        ("CPU,AUTO", [{"device": "CPU"}, {"device": "AUTO"}]),
        ("f32,bf16", [{"precision": "f32"}, {"precision": "bf16"}]),
        ("requests=2,auto", [{"requests": 2}, {"requests": "auto"}]),
        (
            "batch=2,4",
            [{"mode": "batched", "batch.size": 2}, {"mode": "batched", "batch.size": 4}],
        ),
        ("sync,async,sync", [{"call": "sync"}, {"call": "async"}]),
    ],
)
def test_a_comparison_takes_the_values_of_one_key(
    text: str, settings: list[dict[str, object]]
) -> None:
    assert [dict(point.settings) for point in compared_points(text)] == settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sync,shared", "not of call and mode"),
        ("sync", "two or more values"),
        ("", "give the values of one key"),
        ("snyc,async", "did you mean.*sync"),
        ("requests=2,x", "whole numbers"),
        ("colour=1,2", "none of the keys"),
    ],
)
def test_what_is_no_comparison_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compared_points(text)
