from __future__ import annotations

import pytest

from vidpipe.sources.freshness import Freshness


def ages(opened_at: float, *pairs: tuple[float | None, float]) -> list[float]:
    """Return how old pictures count as when they come, each by its timestamp and its arrival."""
    freshness = Freshness(opened_at)
    return [at - freshness.captured_at(pts_s, at) for pts_s, at in pairs]


def test_what_queued_while_the_stream_was_opened_is_as_old_as_its_opening() -> None:
    burst = [(n * 0.04, 2.0 + n * 0.002) for n in range(45)]
    found = ages(0.0, *burst, (1.8, 2.13), (1.84, 2.17))
    assert found[0] == pytest.approx(2.0)
    assert found[10] == pytest.approx(2.02 - 0.4)
    assert found[-2:] == [0.0, 0.0]


def test_a_stream_that_opens_at_once_is_fresh() -> None:
    assert max(ages(0.0, (5.0, 0.01), (5.04, 0.05), (5.08, 0.09))) <= 0.01


def test_once_pictures_come_in_their_own_time_arrival_counts() -> None:
    found = ages(0.0, (0.0, 2.0), (0.04, 2.04), (0.08, 2.041), (0.12, 2.042))
    assert found[1:] == [0.0, 0.0, 0.0]


def test_without_timestamps_arrival_is_all_there_is() -> None:
    assert ages(0.0, (None, 2.0), (None, 2.001)) == [0.0, 0.0]
