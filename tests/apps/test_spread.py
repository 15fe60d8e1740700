from __future__ import annotations

import random
from itertools import pairwise

import pytest

from vidpipe.apps.spread import Spread, chosen, shares


def kept(times_s: list[float], wanted: int, gap_s: float = 0.0) -> list[float]:
    spread = Spread[float](wanted, gap_s)
    for at_s in times_s:
        if spread.wants(at_s):
            spread.add(at_s, at_s)
    return spread.items


@pytest.mark.parametrize("count", [1, 9, 10, 99, 1000, 12345])
@pytest.mark.parametrize("wanted", [1, 2, 7, 60])
def test_items_lie_evenly_over_a_sequence_of_any_length(count: int, wanted: int) -> None:
    items = kept([number / 25 for number in range(count)], wanted)
    assert min(count, wanted) <= len(items) < max(2, 2 * wanted)
    gaps = [b - a for a, b in pairwise(items)]
    assert not gaps or max(gaps) <= 1.25 * min(gaps) + 1 / 25
    assert items[0] == 0
    assert count / 25 - items[-1] <= 2 * max(gaps, default=count / 25) + 1e-9


def test_a_variable_rate_counts_by_time_not_by_frames() -> None:
    rng = random.Random(1)
    crowded = [rng.uniform(0, 10) for _ in range(1000)]
    sparse = [rng.uniform(10, 100) for _ in range(500)]
    items = kept(sorted(crowded + sparse), 50)
    early = sum(at_s < 10 for at_s in items) / len(items)
    assert early < 0.2


def test_where_the_length_is_known_the_gap_holds_from_the_start() -> None:
    items = kept([number / 10 for number in range(600)], 30, gap_s=2.0)
    assert len(items) == 30
    assert items[1] == 2.0


def test_timestamps_that_stand_still_keep_no_more_than_twice_as_many() -> None:
    assert 1 <= len(kept([0.0] * 1000, 10)) < 20


def test_a_clock_that_is_set_back_goes_on() -> None:
    items = kept([*range(100, 200), *range(100)], 20)
    assert any(at_s < 100 for at_s in items)


def test_a_choice_has_both_ends() -> None:
    assert chosen(range(10), 4) == [0, 3, 6, 9]
    assert chosen(range(3), 5) == [0, 1, 2]
    assert chosen(range(9), 1) == [4]
    assert chosen(range(9), 0) == []


@pytest.mark.parametrize(
    ("available", "total", "expected"),
    [
        ([100, 100, 100], 30, [10, 10, 10]),
        ([4, 100, 100], 30, [4, 13, 13]),
        ([0, 5], 30, [0, 5]),
        ([1, 1, 1], 2, [1, 1, 0]),
        ([], 5, []),
    ],
)
def test_shares_are_as_even_as_what_there_is_allows(
    available: list[int], total: int, expected: list[int]
) -> None:
    assert shares(available, total) == expected
