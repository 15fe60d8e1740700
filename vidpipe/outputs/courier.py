"""One thread that brings events to one place, a broker or a web server, until it has them.

Guarantees:
    * the events of a place are delivered in order, each until it is acknowledged or refused for
      good; one may arrive twice, with the same id, where an acknowledgement was lost;
    * a place that is away is tried again with a growing pause, and harms no other;
    * no frame is ever held here.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from loguru import logger

from vidpipe.interfaces import Clock
from vidpipe.outputs.eventstore import Parcel
from vidpipe.runtime.channel import Channel, ChannelClosedError
from vidpipe.runtime.logs import redact, trace_of

_IDLE_S = 0.2
"""How often a place is tended while there is nothing to bring."""
_REMIND_AFTER_S = 60.0
_WELL_AFTER_S = 5.0
_BACKOFF_S = (0.5, 15.0)


class DeliveryError(Exception):
    """The place can't take events now; they are kept, and it is tried again.

    ``after_s``: no earlier than that, as the place itself has asked for.
    """

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        """Keep when to come back."""
        super().__init__(message)
        self.after_s = after_s


Settle = Callable[[Parcel, str | None], None]
"""Told of each parcel that is done: delivered (None), or refused for good, and why."""


class Endpoint(Protocol):
    """A place that takes events, as its courier's thread sees it."""

    @property
    def name(self) -> str:
        """What people call it, without any secret."""

    @property
    def window(self) -> int:
        """How many parcels ``deliver`` takes at once."""

    def deliver(self, parcels: Sequence[Parcel], settle: Settle) -> None:
        """Deliver in order; tell of each that is done.

        Raises:
            DeliveryError: Those that weren't told of are to be brought again.
        """

    def tend(self) -> None:
        """Keep the connection alive, or make it; called while there is nothing to bring.

        Raises:
            DeliveryError: It can't be.
        """

    def interrupt(self) -> None:
        """Let whatever is under way fail soon; any thread."""

    def close(self) -> None:
        """Take leave; never raises."""


class CourierState(Enum):
    """What is known of the place."""

    TRYING = "trying"
    UP = "up"
    DOWN = "down"


class Courier:
    """Brings events to one endpoint. ``run`` is its thread's loop; the rest is for any thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        targets: Sequence[str],
        *,
        clock: Clock = time.monotonic,
        jitter: Callable[[], float] = random.random,
        backoff_s: tuple[float, float] = _BACKOFF_S,
    ) -> None:
        """Bring nothing yet; ``targets`` are whose events go there."""
        self.name = endpoint.name
        self.targets = tuple(targets)
        self.capacity = 2 * endpoint.window
        self.state = CourierState.TRYING
        self._endpoint = endpoint
        self._clock = clock
        self._jitter = jitter
        self._backoff_s = backoff_s
        self._waiting: Channel[Parcel] = Channel(self.capacity)
        self._unsettled: deque[Parcel] = deque()
        self._settle: Settle = _forget
        self._stop = threading.Event()
        self._rested = threading.Event()
        self._is_told_to_wait = False
        self._has_another_try = False
        self._failures = 0
        self._failed_at = float("-inf")
        self._is_told = False
        self._reminded_at = float("-inf")

    def report_to(self, settle: Settle) -> None:
        """Have somebody told of every parcel that is done, on the courier's thread."""
        self._settle = settle

    def offer(self, parcel: Parcel) -> None:
        """Take one more of at most ``capacity`` that aren't done; never waits."""
        try:
            self._waiting.put(parcel, timeout_s=0)
        except ChannelClosedError:
            return  # it stays in the store

    def hasten(self) -> None:
        """Try once more now where the last try failed, unless the place itself has named a time.

        One that hasn't failed yet is tried once more after its first failure.
        """
        if self.state is not CourierState.DOWN:
            self._has_another_try = True
        elif not self._is_told_to_wait:
            self.state = CourierState.TRYING
            self._rested.set()

    def stop(self) -> None:
        """Bring no more; what is under way is broken off."""
        self._stop.set()
        self._rested.set()
        self._waiting.close()
        self._endpoint.interrupt()

    def run(self) -> None:
        """Deliver until stopped."""
        try:
            while not self._stop.is_set():
                self._gather()
                try:
                    self._bring()
                except DeliveryError as exc:
                    self._rest(exc)
                except Exception as exc:  # noqa: BLE001 - a boundary: one place fails, no other
                    logger.error("events to {}: {}", self.name, trace_of(exc))
                    self._rest(DeliveryError(redact(f"{type(exc).__name__}: {exc}")))
        finally:
            self._endpoint.close()

    def _gather(self) -> None:
        """Fill up what is to be brought; wait for something only if there is nothing."""
        try:
            while len(self._unsettled) < self._endpoint.window:
                self._unsettled.append(self._waiting.get(0 if self._unsettled else _IDLE_S))
        except (TimeoutError, ChannelClosedError):
            return

    def _bring(self) -> None:
        if self._stop.is_set():
            return
        if self._unsettled:
            self._endpoint.deliver(tuple(self._unsettled), self._done)
        else:
            self._endpoint.tend()
        self.state = CourierState.UP
        # A place that takes a connection and drops it at once isn't well again.
        if self._failures and self._clock() - self._failed_at >= _WELL_AFTER_S:
            self._recover()

    def _recover(self) -> None:
        if self._is_told:
            logger.info("events to {}: it takes them again", self.name)
        self._failures = 0
        self._is_told = False

    def _done(self, parcel: Parcel, refusal: str | None) -> None:
        self._unsettled.remove(parcel)
        if self._failures:
            self._recover()
        self._settle(parcel, refusal)

    def _rest(self, error: DeliveryError) -> None:
        """Say why it doesn't work, now and then, and wait before the next try."""
        if self._stop.is_set():
            return
        first_s, cap_s = self._backoff_s
        whole_s = min(cap_s, first_s * 2.0 ** min(self._failures, 32))
        delay_s = max(error.after_s, whole_s * (0.5 + 0.5 * self._jitter()))
        now_s = self._clock()
        if not self._is_told or now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._is_told = True
            self._reminded_at = now_s
            logger.warning(
                "events to {}: {}; they are kept, next try in {:.1f} s", self.name, error, delay_s
            )
        self._failed_at = now_s
        self._failures += 1
        self._is_told_to_wait = error.after_s > 0
        if self._has_another_try and not self._is_told_to_wait:
            self._has_another_try = False
            self.state = CourierState.TRYING
            return
        self._rested.clear()
        self.state = CourierState.DOWN
        if not self._stop.is_set():
            self._rested.wait(delay_s)


def _forget(parcel: Parcel, refusal: str | None) -> None:
    """Stand for nobody who wants to know."""
