"""Knees of hand-made sweeps."""

from __future__ import annotations

from dataclasses import replace

from tests.bench_rows import make_row
from vidpipe.apps.bench.knee import find_knee

NO_LIMIT_MS = 1000.0


def test_requests_pay_until_no_greater_number_is_more_than_three_percent_faster() -> None:
    speeds = {1: 50.0, 2: 90.0, 4: 98.0, 5: 100.0, 10: 100.5}
    rows = [make_row("requests", n, fps, p95_ms=10.0 * n) for n, fps in speeds.items()]
    knee = find_knee("requests", rows, NO_LIMIT_MS)
    assert knee is not None
    assert (knee.axis, knee.row) == ("requests", "requests 4")
    assert "98.0 frames/s" in knee.why
    assert "100.5 frames/s" in knee.why
    assert "from 40 to 100 ms at requests 10" in knee.why


def test_requests_that_pay_to_the_end_are_said_to() -> None:
    rows = [make_row("requests", n, 50.0 * n) for n in (1, 2, 4)]
    knee = find_knee("requests", rows, NO_LIMIT_MS)
    assert knee is not None
    assert knee.row == "requests 4"
    assert "to the end of the sweep" in knee.why


def test_streams_fit_up_to_the_last_that_keeps_the_limit() -> None:
    ages_ms = {1: 20.0, 2: 60.0, 4: 190.0, 8: 900.0}
    rows = [make_row("streams", n, 100.0, p95_ms=age) for n, age in ages_ms.items()]
    knee = find_knee("streams", rows, 200.0)
    assert knee is not None
    assert knee.row == "streams 4"
    assert "190 ms" in knee.why
    assert "at streams 8 it is 900 ms" in knee.why


def test_a_greater_number_that_happens_to_keep_the_limit_counts_for_nothing() -> None:
    ages_ms = {1: 20.0, 2: 300.0, 4: 150.0}
    rows = [make_row("streams", n, 100.0, p95_ms=age) for n, age in ages_ms.items()]
    knee = find_knee("streams", rows, 200.0)
    assert knee is not None
    assert knee.row == "streams 1"


def test_no_number_of_streams_may_keep_the_limit() -> None:
    knee = find_knee("streams", [make_row("streams", 1, 5.0, p95_ms=400.0)], 200.0)
    assert knee is not None
    assert knee.row == ""
    assert "even streams 1 has a p95 of 400 ms" in knee.why


def test_a_batch_may_grow_until_latency_doubles() -> None:
    ages_ms = {1: 20.0, 2: 25.0, 4: 39.0, 8: 40.0, 16: 90.0}
    rows = [make_row("batch", n, 100.0 + n, p95_ms=age) for n, age in ages_ms.items()]
    knee = find_knee("batch", rows, NO_LIMIT_MS)
    assert knee is not None
    assert knee.row == "batch 4"
    assert "39 ms at batch 4 against 20 ms at batch 1" in knee.why
    assert "at batch 8 it has doubled: 40 ms" in knee.why


def test_points_that_failed_are_passed_over() -> None:
    good = [make_row("requests", n, 50.0) for n in (1, 2)]
    failed = replace(make_row("requests", 4, 999.0), error="no memory")
    knee = find_knee("requests", [*good, failed], NO_LIMIT_MS)
    assert knee is not None
    assert knee.row == "requests 1"
    assert find_knee("requests", [failed], NO_LIMIT_MS) is None


def test_what_is_no_number_has_no_knee() -> None:
    assert find_knee("hint", [make_row("hint", "latency", 50.0)], NO_LIMIT_MS) is None
