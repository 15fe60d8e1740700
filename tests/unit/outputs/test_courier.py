from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fakes import FakeClock
from tests.postroom import FakeEndpoint
from tests.threads import running, wait_until
from vidpipe.outputs.courier import Courier, CourierState, DeliveryError, Settle
from vidpipe.outputs.eventstore import Parcel


def parcel(number: int) -> Parcel:
    return Parcel(number, "gate/fake", f"e{number}", "{}")


@dataclass
class Moody(FakeEndpoint):
    """Fails as its script says, once a call, before it takes anything more."""

    script: list[Exception | None] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=list)

    def deliver(self, parcels: Sequence[Parcel], settle: Settle) -> None:
        """Take the first, then do what the script says."""
        self.calls.append([one.id for one in parcels])
        settle(parcels[0], None)
        self.taken.append(parcels[0].id)
        step = self.script.pop(0) if self.script else None
        if step is not None:
            raise step
        for one in parcels[1:]:
            settle(one, None)
            self.taken.append(one.id)


def delivered(endpoint: Moody, count: int) -> list[str]:
    courier = Courier(endpoint, ["gate/fake"], backoff_s=(0.001, 0.002))
    done: list[str] = []
    courier.report_to(lambda one, _: done.append(one.id))
    for number in range(count):
        courier.offer(parcel(number))
    with running(courier.run):
        wait_until(lambda: len(done) == count, "all are delivered")
        courier.stop()
    return done


def test_what_was_not_settled_is_brought_again_in_order() -> None:
    endpoint = Moody(script=[DeliveryError("lost"), DeliveryError("lost"), None])
    assert delivered(endpoint, 8) == [f"e{number}" for number in range(8)]
    assert endpoint.taken == [f"e{number}" for number in range(8)]
    assert endpoint.calls[0] == ["e0", "e1", "e2", "e3"]
    assert endpoint.calls[1] == ["e1", "e2", "e3", "e4"]


def test_a_fault_of_the_endpoint_s_own_stops_nothing(log_lines: list[str]) -> None:
    endpoint = Moody(script=[RuntimeError("a bug at rtsp://u:secret-word@h")])
    assert len(delivered(endpoint, 5)) == 5
    assert any("RuntimeError: a bug at rtsp://***@h" in line for line in log_lines)
    assert not any("secret-word" in line for line in log_lines)


def test_the_pause_grows_to_its_cap_and_no_place_is_asked_before_it_wants(
    log_lines: list[str], clock: FakeClock
) -> None:
    courier = Courier(FakeEndpoint(), ["t"], clock=clock, jitter=lambda: 1.0, backoff_s=(0.5, 15))
    pauses: list[float] = []
    courier._rested.wait = lambda seconds: bool(pauses.append(seconds))  # type: ignore[method-assign, assignment, func-returns-value, misc]  # time is held still
    for _ in range(7):
        courier._rest(DeliveryError("away"))
    courier._rest(DeliveryError("busy", after_s=40))
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15, 40]
    assert sum("away" in line for line in log_lines) == 1
    clock.advance(61)
    courier._rest(DeliveryError("away"))
    assert sum("away" in line for line in log_lines) == 2
    assert courier.state is CourierState.DOWN


def test_stopping_ends_a_pause() -> None:
    courier = Courier(FakeEndpoint(is_up=False), ["t"], backoff_s=(600, 600))
    with running(courier.run):
        wait_until(lambda: courier.state is CourierState.DOWN, "it rests")
        courier.stop()


def test_the_end_tries_a_place_that_was_away_once_more() -> None:
    endpoint = FakeEndpoint(is_up=False)
    courier = Courier(endpoint, ["t"], backoff_s=(600, 600))
    with running(courier.run):
        wait_until(lambda: courier.state is CourierState.DOWN, "it rests")
        endpoint.is_up = True
        courier.hasten()
        wait_until(lambda: courier.state is CourierState.UP, "it is tried")
        courier.stop()


def test_the_end_tries_a_place_once_more_that_fails_right_behind_it() -> None:
    courier = Courier(Moody(script=[DeliveryError("busy")]), ["t"], backoff_s=(600, 600))
    courier.hasten()
    courier.offer(parcel(0))
    with running(courier.run):
        wait_until(lambda: courier.state is CourierState.UP, "it is tried again")
        courier.stop()


def test_a_place_that_has_named_a_time_is_not_hastened() -> None:
    courier = Courier(Moody(script=[DeliveryError("busy", after_s=600)]), ["t"])
    courier.offer(parcel(0))
    with running(courier.run):
        wait_until(lambda: courier.state is CourierState.DOWN, "it rests")
        courier.hasten()
        assert courier.state is CourierState.DOWN
        courier.stop()
