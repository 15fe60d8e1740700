"""Events from the moment they happen until every place has them: kept on the disk meanwhile.

Guarantees:
    * ``put`` never waits; one thread writes, and nobody but the couriers waits for it;
    * an event is stored, and then delivered; what wasn't is delivered after the next start;
    * a file that is damaged is moved aside, one that can't be used now (locked, a full disk) is
      tried again; meanwhile events are kept in memory, and the run goes on;
    * what has to give way is the oldest, and is counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from loguru import logger

from vidpipe.events import Event
from vidpipe.interfaces import Clock
from vidpipe.outputs.courier import Courier, CourierState
from vidpipe.outputs.eventstore import Entry, EventStore, Parcel
from vidpipe.outputs.eventtext import text_from_event
from vidpipe.outputs.vault import OutboxPolicy, Vault
from vidpipe.runtime.channel import Channel, ChannelClosedError

_IN_HAND = 4096
"""Events between their emission and the disk: seconds of a storm while it syncs."""
_BEAT_S = 1.0
_DRAIN_BEAT_S = 0.05
_REMIND_AFTER_S = 60.0
_LAST_CALL_S = 3.0
"""How long the end waits for a place that hasn't been reached yet."""


class DeliveryRecord(Protocol):
    """Who is told what became of events; called on the outbox's and the couriers' threads."""

    def lose(self, target: str, count: int) -> None:
        """Events had to give way."""

    def refuse(self, target: str, event: str, why: str) -> None:
        """A place doesn't want an event, and never will."""

    def deliver(self, target: str) -> None:
        """A place has an event."""


class Outbox:
    """The outbox. ``run`` is its thread's loop; the rest is for any thread."""

    def __init__(
        self,
        policy: OutboxPolicy,
        couriers: Sequence[Courier],
        targets_of: Mapping[str, Sequence[str]],
        record: DeliveryRecord,
        clock: Clock = time.monotonic,
    ) -> None:
        """Open nothing yet.

        Args:
            policy: Where.
            couriers: Who brings the events away.
            targets_of: Each stream's targets; events of other streams are for nobody.
            record: Who is told.
            clock: Tells the time.
        """
        self._couriers = couriers
        self._targets_of = targets_of
        self._record = record
        self._clock = clock
        self._new: Channel[Event] = Channel(_IN_HAND)
        self._done: deque[tuple[str, str]] = deque()
        self._wake = threading.Event()
        self._is_ended = False
        self._last_call_at = 0.0
        self._is_closed = False
        self.drained = threading.Event()
        """Set once the end has come and no place that works has anything to get any more."""
        self.left = 0
        """After ``run``: how many deliveries wait for the next start."""
        self.lost_at_end = 0
        """After ``run``: how many could be kept in memory only, and are gone."""
        self._vault = Vault(policy, self._lose, clock)
        self._generation = 0
        self._reminded_at = float("-inf")
        self._cursor: dict[Courier, int] = {}
        self._handed: dict[Courier, set[tuple[str, str]]] = {c: set() for c in couriers}
        self._courier_of = {target: c for c in couriers for target in c.targets}
        for courier in couriers:
            courier.report_to(self._settle)

    # ---- For others ----------------------------------------------------------------------------

    def put(self, event: Event) -> None:
        """Take an event; never waits, never raises."""
        try:
            crowded_out = self._new.put_newest(event)
        except ChannelClosedError:
            return  # the run is over
        if crowded_out is not None:
            self._lose(Counter(self._targets_of.get(crowded_out.stream, ())))
        self._wake.set()

    def end(self) -> None:
        """No event follows: ``drained`` is set once all have been delivered that can be.

        A place that was away is tried once more.
        """
        for courier in self._couriers:
            courier.hasten()
        self._last_call_at = self._clock()
        self._is_ended = True
        self._wake.set()

    def close(self) -> None:
        """Keep what hasn't been delivered, and let ``run`` return; stop the couriers before."""
        self._new.close()
        self._is_closed = True
        self._wake.set()

    def _settle(self, parcel: Parcel, refusal: str | None) -> None:
        """Implement ``Settle``, on a courier's thread."""
        if refusal is None:
            self._record.deliver(parcel.target)
        else:
            self._record.refuse(parcel.target, parcel.id, refusal)
        self._done.append((parcel.target, parcel.id))
        self._wake.set()

    # ---- Its own thread ------------------------------------------------------------------------

    def run(self) -> None:
        """Store, hand over and forget, until closed."""
        try:
            while not self._beat():
                pass
            self.left, self.lost_at_end = self._vault.close(list(self._courier_of))
        finally:
            self.drained.set()  # nobody is to wait for a thread that has died

    def _beat(self) -> bool:
        """Do what there is to do; return True after the last time."""
        self._wake.wait(_DRAIN_BEAT_S if self._is_ended else _BEAT_S)
        self._wake.clear()
        is_over = self._is_closed  # before the last look at what there is
        self._vault.look_after()
        self._take_new()
        self._take_done()
        self._hand_over()
        return is_over

    def _take_new(self) -> None:
        entries = []
        with suppress(TimeoutError, ChannelClosedError):
            while True:
                event = self._new.get(0)
                targets = tuple(self._targets_of.get(event.stream, ()))
                if targets:
                    entries.append(Entry(event.id, text_from_event(event), targets))
        if entries:
            self._lose(self._vault.do(lambda store: store.add(entries)))

    def _take_done(self) -> None:
        done = []
        while self._done:
            done.append(self._done.popleft())
        for target, event in done:
            self._handed[self._courier_of[target]].discard((target, event))
        if done:
            self._vault.settle(done)

    def _hand_over(self) -> None:
        is_drained = self._is_ended
        for courier in self._couriers:
            handed = self._handed[courier]
            room = courier.capacity - len(handed)
            if room > 0 and not self._is_closed:
                for parcel in self._next(courier, room):
                    handed.add((parcel.target, parcel.id))
                    courier.offer(parcel)
            is_drained = is_drained and (not handed or self._is_hopeless(courier))
        if is_drained and not len(self._new) and not self._done:
            self.drained.set()

    def _is_hopeless(self, courier: Courier) -> bool:
        """True if the end is not to wait for a place: it is away, or slow to say that it isn't."""
        is_late = self._clock() - self._last_call_at > _LAST_CALL_S
        return courier.state is CourierState.DOWN or (
            is_late and courier.state is CourierState.TRYING
        )

    def _next(self, courier: Courier, room: int) -> list[Parcel]:
        """Return parcels that the courier hasn't been handed yet."""
        handed = self._handed[courier]
        if self._generation != self._vault.generation:
            self._generation = self._vault.generation
            self._cursor.clear()

        def read(store: EventStore) -> list[Parcel]:
            return store.next(courier.targets, self._cursor.get(courier, 0), room + len(handed))

        fresh = [p for p in self._vault.do(read) if (p.target, p.id) not in handed][:room]
        if fresh:
            self._cursor[courier] = fresh[-1].seq
        return fresh

    def _lose(self, lost: Mapping[str, int]) -> None:
        for target, count in lost.items():
            self._record.lose(target, count)
        now_s = self._clock()
        if lost and now_s - self._reminded_at >= _REMIND_AFTER_S:
            self._reminded_at = now_s
            logger.error(
                "the outbox is full: {} of the oldest events gave way; raise outbox.max_mb, or see "
                "why they aren't taken",
                sum(lost.values()),
            )
