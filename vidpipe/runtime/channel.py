"""A bounded, closable channel between threads.

Guarantees:
    * it never holds more than its capacity;
    * an item that was put is got once, or discarded once by ``abort``, in the order of the puts;
    * ``close`` lets consumers drain and wakes everyone; ``abort`` also throws away what is left and
    returns it;
    * nobody waits on a closed channel.

``queue.Queue`` gained ``shutdown`` in Python 3.13 only, and has no way to give way to the newest
item.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosedError(Exception):
    """The channel takes nothing more (on put), or is closed and empty (on get)."""


class Channel(Generic[T]):
    """The channel; every method may be called from any thread."""

    def __init__(self, capacity: int) -> None:
        """Hold at most ``capacity`` items, at least one."""
        if capacity < 1:
            raise ValueError(f"a channel holds at least one item, not {capacity}")
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._lock = threading.Lock()
        self._not_empty = threading.Condition(self._lock)
        self._not_full = threading.Condition(self._lock)
        self._is_closed = False

    def __len__(self) -> int:
        """Count the items held now."""
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Get until the channel is closed and empty."""
        while True:
            try:
                yield self.get()
            except ChannelClosedError:
                return

    @property
    def has_room(self) -> bool:
        """True if a put would not wait now; a lone producer can rely on it."""
        return len(self._items) < self.capacity

    @property
    def is_closed(self) -> bool:
        """True once nothing more is taken."""
        return self._is_closed

    def put(self, item: T, timeout_s: float | None = None) -> bool:
        """Append an item, waiting for room; return False if there was none within the timeout.

        Raises:
            ChannelClosedError: The channel is closed, or was closed while waiting.
        """
        with self._lock:
            if len(self._items) >= self.capacity and not self._is_closed:
                self._wait(self._not_full, timeout_s, lambda: len(self._items) < self.capacity)
            if self._is_closed:
                raise ChannelClosedError
            if len(self._items) >= self.capacity:
                return False
            self._items.append(item)
            self._not_empty.notify()
            return True

    def put_newest(self, item: T) -> T | None:
        """Append an item at once; return the oldest one if it had to give way.

        Raises:
            ChannelClosedError: The channel is closed.
        """
        with self._lock:
            if self._is_closed:
                raise ChannelClosedError
            lost = self._items.popleft() if len(self._items) >= self.capacity else None
            self._items.append(item)
            self._not_empty.notify()
            return lost

    def get(self, timeout_s: float | None = None) -> T:
        """Take the oldest item, waiting for one.

        Raises:
            ChannelClosedError: The channel is closed and empty.
            TimeoutError: Nothing came within the timeout.
        """
        with self._lock:
            if not self._items and not self._is_closed:
                self._wait(self._not_empty, timeout_s, lambda: bool(self._items))
            if self._items:
                item = self._items.popleft()
                self._not_full.notify()
                return item
            if self._is_closed:
                raise ChannelClosedError
            raise TimeoutError

    def close(self) -> None:
        """Take nothing more; what is held can still be got."""
        with self._lock:
            self._is_closed = True
            self._not_empty.notify_all()
            self._not_full.notify_all()

    def abort(self) -> list[T]:
        """Close, and return what nobody will get any more."""
        self.close()
        with self._lock:
            left = list(self._items)
            self._items.clear()
            return left

    def _wait(
        self, condition: threading.Condition, timeout_s: float | None, is_met: Callable[[], bool]
    ) -> None:
        """Wait with the lock held until the condition is met, the channel closed, or time is up."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not is_met() and not self._is_closed:
            left_s = None if deadline is None else deadline - time.monotonic()
            if left_s is not None and left_s <= 0:
                return
            condition.wait(left_s)
