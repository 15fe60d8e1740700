"""How long a native call has been silent, and whether anybody still waits for it.

A read may never return, whatever timeouts it was given. Its thread says here when a call begins and
ends; another one looks, and can give it up. What comes of a call that was given up is nobody's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from vidpipe.interfaces import Clock

_SHORTEST_REST_S = 0.01


class Watch:
    """One connection's calls, one after another. ``begin`` and ``end``: the thread that makes them.

    The rest is for the thread that watches it.
    """

    def __init__(self, clock: Clock, quiet_s: float) -> None:
        """Watch nothing yet; a silence longer than ``quiet_s`` is one worth telling."""
        self._clock = clock
        self._quiet_s = quiet_s
        self._lock = threading.Lock()
        self._since: float | None = None
        self._limit_s = 0.0
        self._heard: Callable[[], float] | None = None
        self._is_given_up = False

    @property
    def is_given_up(self) -> bool:
        """True once nobody waits any more."""
        return self._is_given_up

    def begin(self, limit_s: float, heard: Callable[[], float] | None = None) -> None:
        """A call begins.

        Args:
            limit_s: How long it may be silent.
            heard: Tells when something last came, in seconds of the clock; None: only the end of
                the call tells that something has.
        """
        with self._lock:
            self._since, self._limit_s, self._heard = self._clock(), limit_s, heard

    def end(self) -> bool:
        """Note the end; False if it has been given up: close everything, and touch nothing."""
        with self._lock:
            self._since = None
            return not self._is_given_up

    def rest_s(self) -> float:
        """Return how long there is nothing to look after; other calls may begin meanwhile."""
        with self._lock:
            if self._since is None:
                return self._quiet_s
            silence_s = self._silence_s()
            until_s = self._quiet_s if silence_s < self._quiet_s else self._limit_s
            return min(self._quiet_s, max(_SHORTEST_REST_S, until_s - silence_s))

    def if_quiet(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` if nothing has come for a while; the call can't end meanwhile."""
        with self._lock:
            if self._since is not None and self._silence_s() >= self._quiet_s:
                tell()

    def give_up_if_overdue(self) -> bool:
        """Give the call up if it has been silent for too long; True if it is given up."""
        with self._lock:
            if self._since is not None and self._silence_s() >= self._limit_s:
                self._is_given_up = True
            return self._is_given_up

    def _silence_s(self) -> float:
        since = self._since or 0.0
        if self._heard is not None:
            since = max(since, self._heard())
        return self._clock() - since
