"""Answers in any order become results in order. Pure; its owner guards it."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Reorderer(Generic[T]):
    """Holds early items until their turn; bounded, because the dispatcher's window bounds it."""

    def __init__(self) -> None:
        """Begin with sequence 0."""
        self._next = 0
        self._early: dict[int, T] = {}

    def __len__(self) -> int:
        """Count the items that wait."""
        return len(self._early)

    @property
    def is_next_here(self) -> bool:
        """True if ``pop`` has something to give."""
        return self._next in self._early

    def offer(self, sequence: int, item: T) -> None:
        """Take an item; every sequence comes once.

        Raises:
            ValueError: The sequence has come before.
        """
        if sequence < self._next or sequence in self._early:
            raise ValueError(f"sequence {sequence} came twice")
        self._early[sequence] = item

    def pop(self) -> T:
        """Return the next item in order.

        Raises:
            KeyError: It is not here yet.
        """
        item = self._early.pop(self._next)
        self._next += 1
        return item
