from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vidpipe.runtime.pace import Pace


def taken(pace: Pace, times_s: list[float]) -> int:
    return sum(pace.take(at_s) for at_s in times_s)


@given(st.floats(1, 60), st.floats(1, 60), st.integers(0, 2**32))
def test_the_rate_is_met_on_average(wanted: float, source: float, seed: int) -> None:
    jitter = [(seed >> n % 32 & 1) * 0.2 / source for n in range(500)]
    times_s = [n / source + late_s for n, late_s in enumerate(jitter)]
    expected = 500 * min(1.0, wanted / source)
    assert abs(taken(Pace(wanted), times_s) - expected) <= 2 + 0.12 * expected


def test_a_source_of_the_very_rate_loses_nothing_to_its_jitter() -> None:
    times_s = [n / 25 + (0.008 if n % 2 else 0.0) for n in range(100)]
    assert taken(Pace(25.0), times_s) == 100


def test_after_a_gap_the_beat_begins_anew() -> None:
    pace = Pace(10.0)
    assert pace.take(0.0)
    assert pace.take(100.0)
    assert not pace.take(100.02)
    assert pace.take(100.1)


def test_a_clock_that_was_set_back_stops_nothing() -> None:
    pace = Pace(1.0)
    assert pace.take(1000.0)
    assert pace.take(5.0)


def test_another_rate_holds_at_once() -> None:
    pace = Pace(0.1)
    assert pace.take(0.0)
    assert not pace.take(1.0)
    pace.set_rate(10.0)
    assert pace.take(1.1)
