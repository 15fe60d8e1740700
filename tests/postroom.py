"""An outbox at work with its couriers, and events for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.threads import running, wait_until
from vidpipe.events import Event, EventKind
from vidpipe.outputs.courier import Courier, DeliveryError, Settle
from vidpipe.outputs.eventstore import Parcel
from vidpipe.outputs.outbox import Outbox
from vidpipe.outputs.vault import OutboxPolicy


def make_event(number: int = 0, *, stream: str = "gate", detail: str = "") -> Event:
    """Return a detection; its id tells its number."""
    return Event(
        id=f"event-{number:06}",
        time=datetime(2026, 11, 30, 5, 0, 0, 123_000, tzinfo=UTC),
        kind=EventKind.DETECTION,
        stream=stream,
        name="Front gate",
        label="person",
        score=0.91,
        box_xyxy=(1.0, 2.0, 30.5, 40.25),
        size_wh=(64, 48),
        frame=number,
        pts_s=number / 25,
        detail=detail,
    )


@dataclass
class FakeEndpoint:
    """A place that takes events while it ``is_up``."""

    name: str = "fake"
    window: int = 4
    is_up: bool = True
    refuses: frozenset[str] = frozenset()
    taken: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    is_closed: bool = False

    def deliver(self, parcels: Sequence[Parcel], settle: Settle) -> None:
        """Take them, or don't."""
        for parcel in parcels:
            self.tend()
            if parcel.id not in self.refuses:
                self.taken.append(parcel.id)
                self.bodies.append(parcel.body)
            settle(parcel, "no" if parcel.id in self.refuses else None)

    def tend(self) -> None:
        """Fail while it is down."""
        if not self.is_up:
            raise DeliveryError("it is down")

    def interrupt(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Note it."""
        self.is_closed = True


@dataclass
class Books:
    """Implements ``DeliveryRecord``."""

    lost: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    delivered: Counter[str] = field(default_factory=Counter)

    def lose(self, target: str, count: int) -> None:
        """Count it."""
        self.lost[target] += count

    def refuse(self, target: str, event: str, why: str) -> None:
        """Note it."""
        self.refused.append((target, event, why))

    def deliver(self, target: str) -> None:
        """Count it."""
        self.delivered[target] += 1


@dataclass
class PostRoom:
    """What works in the block, and what is known of it afterwards."""

    outbox: Outbox
    couriers: Sequence[Courier]
    books: Books

    def stop(self) -> None:
        """End it all, in order."""
        self.outbox.end()
        for courier in self.couriers:
            courier.stop()
        self.outbox.close()

    def drain(self) -> None:
        """Wait until everything is delivered that can be."""
        self.outbox.end()
        wait_until(self.outbox.drained.is_set, "all is delivered")


@contextmanager
def post_room(
    path: Path,
    couriers: Sequence[Courier],
    *,
    targets_of: Mapping[str, Sequence[str]] | None = None,
    max_bytes: int = 10_000_000,
    retry_s: float = 0.01,
) -> Iterator[PostRoom]:
    """Run an outbox and its couriers until the block ends; ``gate`` is the only stream."""
    targets = {"gate": [target for courier in couriers for target in courier.targets]}
    books = Books()
    policy = OutboxPolicy(path, max_bytes, retry_s, lock_s=0.05)
    outbox = Outbox(policy, couriers, targets_of or targets, books)
    room = PostRoom(outbox, couriers, books)
    with running(outbox.run, *(courier.run for courier in couriers)):
        try:
            yield room
        finally:
            room.stop()


def courier(endpoint: FakeEndpoint, target: str = "gate/fake") -> Courier:
    """Return a courier that doesn't dawdle."""
    return Courier(endpoint, [target], backoff_s=(0.01, 0.02))
