from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from vidpipe.inference.testcards import testcard as make_card


@pytest.mark.parametrize("size_wh", [(320, 200), (4, 4), (1, 1), (641, 3)])
def test_a_card_has_its_size_and_is_the_same_every_time(size_wh: tuple[int, int]) -> None:
    width, height = size_wh
    card = make_card(3, size_wh)
    assert card.shape == (height, width, 3)
    assert card.dtype == np.uint8
    assert np.array_equal(card, make_card(3, size_wh))


def test_no_two_cards_are_alike_in_the_whole_and_in_most_pixels() -> None:
    cards = [make_card(number, (64, 48)).astype(int) for number in range(8)]
    for one, other in combinations(cards, 2):
        assert np.abs(one - other).mean() > 20
        assert (one != other).mean() > 0.95
