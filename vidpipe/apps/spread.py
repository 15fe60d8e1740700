"""Choosing a few items evenly out of a sequence whose length nobody knows beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Spread(Generic[T]):
    """Keeps items that lie evenly in time; at most twice as many as are wanted.

    When there are too many, those that lie too close are dropped, and later ones have to lie as far
    apart. One thread at a time.
    """

    def __init__(self, wanted: int, least_gap_s: float = 0.0) -> None:
        """Begin with nothing.

        Args:
            wanted: How many items shall be had in the end, one at least.
            least_gap_s: How far apart they lie where the length is known.
        """
        self._most = 2 * max(1, wanted)
        self._gap_s = least_gap_s
        self._kept: list[tuple[float, T]] = []

    @property
    def items(self) -> list[T]:
        """What is kept, in the order of arrival."""
        return [item for _, item in self._kept]

    def wants(self, at_s: float) -> bool:
        """Return True if an item at that time should be added; a clock set back counts too."""
        return not self._kept or abs(at_s - self._kept[-1][0]) >= self._gap_s

    def add(self, at_s: float, item: T) -> None:
        """Keep an item, and thin out if there are too many."""
        self._kept.append((at_s, item))
        if len(self._kept) < self._most:
            return
        times = [time_s for time_s, _ in self._kept]
        # Half a step less than what would leave half of them, for the rounding of timestamps.
        self._gap_s = 2 * (max(times) - min(times)) / (len(times) - 0.5)
        thinned: list[tuple[float, T]] = []
        for pair in self._kept:
            if not thinned or abs(pair[0] - thinned[-1][0]) >= self._gap_s:
                thinned.append(pair)
        self._kept = thinned if len(thinned) < self._most else thinned[::2]


def chosen(items: Sequence[T], count: int) -> list[T]:
    """Return so many of the items, evenly, both ends among them; all if there are no more."""
    if count >= len(items):
        return list(items)
    if count <= 1:
        return list(items[len(items) // 2 :][:count])
    last = len(items) - 1
    return [items[round(index * last / (count - 1))] for index in range(count)]


def shares(available: Sequence[int], total: int) -> list[int]:
    """Return how many to take of each, as even as what is available allows."""
    taken = [0] * len(available)
    left = min(total, sum(available))
    while left:
        open_to = [index for index, count in enumerate(available) if taken[index] < count]
        each = max(1, left // len(open_to))
        for index in open_to:
            more = min(each, available[index] - taken[index], left)
            taken[index] += more
            left -= more
    return taken
