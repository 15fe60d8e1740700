from __future__ import annotations

import random
import threading
from functools import partial

import pytest

from tests.fakes import FakeClock
from tests.threads import running
from vidpipe.runtime.durations import DURATION_BOUNDS_S, Durations
from vidpipe.runtime.meters import StreamMeter


def ages(*values_s: float) -> Durations:
    meter = StreamMeter()
    for age_s in values_s:
        meter.count_processed(age_s, 0)
    return meter.snapshot().age


def test_the_counters_begin_at_nothing() -> None:
    stats = StreamMeter().snapshot()
    assert (stats.captured, stats.processed, stats.passed, stats.in_flight) == (0, 0, 0, 0)
    assert stats.age.quantile_s(0.5) is None


def test_every_frame_comes_to_one_end() -> None:
    meter = StreamMeter()
    for _ in range(10):
        meter.count_captured()
    meter.count_processed(0.1, 3)
    meter.count_passed()
    meter.count_dropped("lane", 4)
    meter.count_dropped("age")
    stats = meter.snapshot()
    assert stats.dropped == {"lane": 4, "age": 1}
    assert stats.in_flight == 3
    assert stats.detections == 3
    assert stats.captured == 10


def test_what_says_nothing_of_frames_leaves_them_alone() -> None:
    meter = StreamMeter()
    meter.count_captured()
    meter.count_error("capture")
    meter.count_reconnect()
    meter.count_sink_loss("jsonl", 5)
    stats = meter.snapshot()
    assert stats.in_flight == 1
    assert stats.errors == {"capture": 1}
    assert stats.reconnects == 1
    assert stats.sink_losses == {"jsonl": 5}


def test_a_snapshot_does_not_change_afterwards() -> None:
    meter = StreamMeter()
    before = meter.snapshot()
    meter.count_captured()
    meter.count_dropped("lane")
    meter.count_error("x")
    assert before.captured == 0
    assert before.dropped == {}
    assert before.errors == {}
    with pytest.raises(TypeError):
        before.dropped["lane"] = 1  # type: ignore[index]  # a mapping that refuses


def test_quantiles_are_right_to_within_a_bucket() -> None:
    rng = random.Random(1)
    values = sorted(rng.lognormvariate(-3, 1) for _ in range(2000))
    stats = ages(*values)
    for share in (0.5, 0.95, 0.99, 1.0):
        exact = values[min(len(values) - 1, int(share * len(values)) - 1)]
        quantile = stats.quantile_s(share)
        assert quantile is not None
        assert exact / 1.1 <= quantile <= exact * 1.1


def test_the_sum_of_the_ages_is_exact() -> None:
    assert ages(0.25, 0.5, 1.0).sum_s == pytest.approx(1.75)
    assert ages(0.25, 0.5, 1.0).count == 3


@pytest.mark.parametrize("age_s", [0.0, -0.001, DURATION_BOUNDS_S[0], 1e-9])
def test_the_youngest_fall_into_the_first_bucket(age_s: float) -> None:
    assert ages(age_s).counts[0] == 1


def test_ages_beyond_the_last_bound_are_counted() -> None:
    stats = ages(1e6)
    assert stats.counts[-1] == 1
    assert stats.quantile_s(0.5) == DURATION_BOUNDS_S[-1]


def test_ages_between_two_snapshots_can_be_told() -> None:
    meter = StreamMeter()
    meter.count_processed(5.0, 0)
    earlier = meter.snapshot().age
    meter.count_processed(0.01, 0)
    window = meter.snapshot().age.since(earlier)
    assert window.count == 1
    quantile = window.quantile_s(0.99)
    assert quantile is not None
    assert quantile < 0.012


def test_the_sum_holds_at_every_moment() -> None:
    meter = StreamMeter()
    is_over = threading.Event()

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(4000):
            meter.count_captured()
            match rng.randrange(3):
                case 0:
                    meter.count_processed(0.1, 1)
                case 1:
                    meter.count_passed()
                case _:
                    meter.count_dropped("lane")

    def check() -> None:
        while not is_over.is_set():
            stats = meter.snapshot()
            ended = stats.processed + stats.passed + sum(stats.dropped.values())
            assert stats.captured == ended + stats.in_flight
            assert 0 <= stats.in_flight <= 3
            assert stats.age.count == stats.processed

    with running(check):
        try:
            with running(*(partial(work, seed) for seed in range(3))):
                pass
        finally:
            is_over.set()
    assert meter.snapshot().captured == 12000
    assert meter.snapshot().in_flight == 0


def test_a_stream_is_active_from_its_first_capture_to_its_last_result(clock: FakeClock) -> None:
    meter = StreamMeter(_clock=clock)
    clock.advance(5.0)
    assert meter.snapshot().active_s == 0.0
    meter.count_captured()
    clock.advance(2.0)
    meter.count_processed(2.0, 0)
    meter.count_captured()
    clock.advance(1.5)
    meter.count_passed()
    clock.advance(60.0)
    meter.count_captured()
    assert meter.snapshot().active_s == 3.5


def test_what_is_printed_of_counters_is_short() -> None:
    meter = StreamMeter()
    meter.count_captured()
    meter.count_captured()
    meter.count_processed(0.1, 3)
    text = "StreamStats(captured=2, processed=1, passed=0, in_flight=1, detections=3"
    assert repr(meter.snapshot()) == f"{text})"
    meter.count_dropped("age")
    told = f"{text.replace('in_flight=1', 'in_flight=0')}, dropped={{'age': 1}})"
    assert repr(meter.snapshot()) == told
