"""Answers that take a while to make: made once for all who ask at about the same time.

So however many ask, and however often, making them takes a tenth of the time at most, and a request
that is quick (``/healthz``) waits for one of them, never for all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_REST = 9.0
"""An answer is good for so many times as long as it took to make: 4 ms are good for 36."""


class SharedAnswer(Generic[T]):
    """Makes answers by a kind, of which there are few; for the server's loop alone."""

    def __init__(
        self, make: Callable[[str], T], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make them with ``make``, which is called on the loop and may raise."""
        self._make = make
        self._clock = clock
        self._lock = asyncio.Lock()
        self._made: dict[str, tuple[float, T]] = {}

    async def get(self, kind: str = "") -> T:
        """Return the answer of a kind: a new one, or one that is good still."""
        async with self._lock:
            good_until, answer = self._made.get(kind, (0.0, None))
            began_at = self._clock()
            if answer is not None and began_at < good_until:
                return answer
            answer = self._make(kind)
            ended_at = self._clock()
            self._made[kind] = (ended_at + _REST * (ended_at - began_at), answer)
            return answer
