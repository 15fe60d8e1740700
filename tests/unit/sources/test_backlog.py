from __future__ import annotations

from vidpipe.sources.backlog import Backlog

PERIOD_S = 0.04


def noted(
    backlog: Backlog, count: int, *, cost_s: float, waits_s: float = 0.0, start: int = 0
) -> list[float]:
    """Tell so many pictures, each there so long after the one before; return what is skipped."""
    return [
        backlog.note((start + n) * PERIOD_S, start * PERIOD_S + n * (cost_s + waits_s), n * waits_s)
        for n in range(count)
    ]


def test_who_keeps_pace_passes_over_nothing() -> None:
    assert not any(noted(Backlog(0.5), 1000, cost_s=PERIOD_S))


def test_who_falls_behind_for_good_passes_over_what_it_is_late_by() -> None:
    # 20 ms behind with each picture: late by more than half a second after 26, and then patient.
    skipped = noted(Backlog(0.5), 40, cost_s=0.06)
    first = next(n for n, seconds in enumerate(skipped) if seconds)
    assert 26 + 5 <= first <= 26 + 6
    assert 0.5 < skipped[first] < 0.7


def test_a_burst_behind_a_pause_is_decoded_and_not_passed_over() -> None:
    backlog = Backlog(0.5)
    assert not any(noted(backlog, 25, cost_s=PERIOD_S))
    # Two seconds of nothing, then fifty pictures that take 7 ms each.
    skipped = [backlog.note((25 + n) * PERIOD_S, 3.0 + n * 0.007, 2.0) for n in range(60)]
    assert not any(skipped)


def test_a_source_whose_clock_is_slow_is_not_taken_for_late() -> None:
    # Its timestamps lose a tenth, and yet there is nothing to read most of the time.
    skipped = noted(Backlog(0.5), 2000, cost_s=0.007, waits_s=0.037)
    assert not any(skipped)


def test_a_step_in_the_timestamps_begins_anew() -> None:
    backlog = Backlog(0.5)
    assert not any(noted(backlog, 30, cost_s=0.055))
    assert backlog.note(500.0, 100.0, 0.0) == 0.0
    assert backlog.note(500.04, 100.5, 0.0) == 0.0
    assert backlog.note(3.0, 200.0, 0.0) == 0.0


def test_who_waits_for_data_has_no_lag_however_late_its_pictures_come() -> None:
    backlog = Backlog(5.0)
    backlog.note(0.0, 0.0, 0.0)
    backlog.note(0.04, 0.44, 0.4)  # it came late, and was decoded at once
    assert backlog.lag_s == 0.0
    backlog.note(0.08, 0.52, 0.4)
    assert 0.05 < backlog.lag_s < 0.1


def test_who_finds_data_waiting_lags_by_what_it_is_late() -> None:
    backlog = Backlog(5.0)
    noted(backlog, 20, cost_s=PERIOD_S + 0.01)
    assert abs(backlog.lag_s - 0.19) < 0.001
