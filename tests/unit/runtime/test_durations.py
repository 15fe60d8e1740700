"""Durations by bucket: bounded, exact where they promise it, and right under threads."""

from __future__ import annotations

import random
import threading
from functools import partial

import pytest

from tests.threads import running
from vidpipe.runtime.durations import (
    DURATION_BOUNDS_S,
    DurationMeter,
    Durations,
    Stage,
    StageMeters,
    together,
)


def counted(*seconds: float) -> Durations:
    meter = DurationMeter()
    for one in seconds:
        meter.record(one)
    return meter.snapshot()


def test_the_memory_of_a_meter_does_not_grow() -> None:
    meter = DurationMeter()
    sizes = set()
    rng = random.Random(1)
    for _ in range(20_000):
        meter.record(rng.lognormvariate(-5, 4))
        sizes.add(len(meter._counts))
    assert sizes == {len(DURATION_BOUNDS_S) + 1}


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
def test_a_quantile_is_right_to_ten_percent(share: float, spread: float) -> None:
    rng = random.Random(2)
    values = sorted(min(100.0, max(1e-4, rng.lognormvariate(-4, spread))) for _ in range(5000))
    exact = values[round(share * len(values)) - 1]
    assert counted(*values).quantile_s(share) == pytest.approx(exact, rel=0.1)


def test_together_is_all_of_them() -> None:
    whole = together([counted(0.1, 0.2), counted(0.3), Durations()])
    assert whole.count == 3
    assert whole.sum_s == pytest.approx(0.6)
    assert whole.mean_s == pytest.approx(0.2)
    assert together([]).mean_s is None


def test_nothing_is_lost_whoever_records_and_no_snapshot_is_torn() -> None:
    meters = StageMeters()
    is_over = threading.Event()
    each, threads = 20_000, 4

    def record(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(each):
            meters.record(rng.choice((Stage.FILL, Stage.INFER)), 0.25)

    def check() -> None:
        before = meters.snapshot()
        while not is_over.is_set():
            now = meters.snapshot()
            for stage in Stage:
                # Every duration is exact in binary, so the sum tells how many there were.
                assert now[stage].sum_s == 0.25 * now[stage].count
                assert min(now[stage].since(before[stage]).counts) >= 0
            before = now

    with running(check):
        try:
            with running(*(partial(record, seed) for seed in range(threads))):
                pass
        finally:
            is_over.set()
    found = meters.snapshot()
    assert found[Stage.FILL].count + found[Stage.INFER].count == each * threads
