from __future__ import annotations

import random

import pytest

from vidpipe.analytics.ordering import Reorderer


def test_nothing_is_next_before_anything_came() -> None:
    order: Reorderer[str] = Reorderer()
    assert not order.is_next_here
    with pytest.raises(KeyError):
        order.pop()


def test_an_early_item_waits_for_its_turn() -> None:
    order: Reorderer[str] = Reorderer()
    order.offer(1, "b")
    assert not order.is_next_here
    assert len(order) == 1
    order.offer(0, "a")
    assert [order.pop(), order.pop()] == ["a", "b"]
    assert len(order) == 0


@pytest.mark.parametrize("again", [0, 1])
def test_a_sequence_that_comes_twice_is_refused(again: int) -> None:
    order: Reorderer[str] = Reorderer()
    order.offer(0, "a")
    order.pop()
    order.offer(1, "b")
    with pytest.raises(ValueError, match=f"{again} came twice"):
        order.offer(again, "again")
    assert order.pop() == "b"


@pytest.mark.parametrize("seed", range(10))
def test_any_order_becomes_the_order(seed: int) -> None:
    rng = random.Random(seed)
    sequences = list(range(200))
    rng.shuffle(sequences)
    order: Reorderer[int] = Reorderer()
    out: list[int] = []
    for sequence in sequences:
        order.offer(sequence, sequence)
        while order.is_next_here and rng.random() < 0.9:
            out.append(order.pop())
    while order.is_next_here:
        out.append(order.pop())
    assert out == list(range(200))
    assert len(order) == 0
