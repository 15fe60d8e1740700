from __future__ import annotations

import threading
from functools import partial

import pytest

from tests.builders import make_frame, make_result
from tests.threads import running, wait_until
from vidpipe.apps.delivery import Delivery, ResultSink
from vidpipe.types import FrameResult, Overflow, Verdict


class Losses:
    """Counts what is thrown away, by stream."""

    def __init__(self) -> None:
        """Begin with none."""
        self.counts: dict[str, int] = {}

    def __call__(self, stream: str, count: int) -> None:
        """Count."""
        self.counts[stream] = self.counts.get(stream, 0) + count


def result(stream: str, number: int) -> FrameResult:
    return make_result(frame=make_frame(number, stream=stream))


def delivery_of(losses: Losses, **streams: Overflow) -> Delivery:
    delivery = Delivery()
    for stream, overflow in streams.items():
        delivery.add(stream, overflow, partial(losses, stream))
    return delivery


def taken(delivery: Delivery, count: int) -> list[tuple[str, int]]:
    found = [delivery.get() for _ in range(count)]
    return [(one.frame.stream, one.frame.number) for one in found if one is not None]


def test_streams_take_turns_and_each_stays_in_order() -> None:
    delivery = delivery_of(Losses(), a=Overflow.BLOCK, b=Overflow.BLOCK)
    for number in range(3):
        delivery.put("a", result("a", number))
    delivery.put("b", result("b", 0))
    assert taken(delivery, 4) == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_a_live_stream_holds_its_newest_and_the_rest_is_counted() -> None:
    losses = Losses()
    delivery = delivery_of(losses, live=Overflow.DROP_OLDEST, file=Overflow.BLOCK)
    delivery.put("file", result("file", 0))
    for number in range(5):
        delivery.put("live", result("live", number))
    assert taken(delivery, 2) == [("file", 0), ("live", 4)]
    assert losses.counts == {"live": 4}


def test_a_recorded_stream_waits_for_room_and_loses_nothing() -> None:
    losses = Losses()
    delivery = delivery_of(losses, file=Overflow.BLOCK)
    reached = []

    def produce() -> None:
        for number in range(50):
            delivery.put("file", result("file", number))
            reached.append(number)
        delivery.end("file")

    with running(produce):
        wait_until(lambda: len(reached) == 4, "as many as it holds")
        assert [number for _, number in taken(delivery, 50)] == list(range(50))
        assert delivery.get() is None
    assert losses.counts == {}


def test_it_ends_once_every_stream_has_and_all_is_taken() -> None:
    delivery = delivery_of(Losses(), a=Overflow.BLOCK, b=Overflow.BLOCK)
    delivery.put("a", result("a", 0))
    delivery.end("a")
    delivery.end("b")
    assert taken(delivery, 1) == [("a", 0)]
    assert delivery.get() is None
    assert delivery.get() is None


def test_the_last_end_wakes_a_consumer_that_waits() -> None:
    delivery = delivery_of(Losses(), a=Overflow.BLOCK)
    found: list[FrameResult | None] = []
    with running(lambda: found.append(delivery.get())):
        delivery.end("a")
    assert found == [None]


@pytest.mark.parametrize("overflow", list(Overflow))
def test_close_wakes_everyone_and_what_is_left_is_counted(overflow: Overflow) -> None:
    losses = Losses()
    delivery = delivery_of(losses, a=overflow, b=overflow)
    started = threading.Event()

    def produce() -> None:
        for number in range(6):
            delivery.put("a", result("a", number))
            started.set()

    with running(produce):
        started.wait()
        delivery.close()
    assert losses.counts == {"a": 6}
    assert delivery.get() is None
    delivery.put("b", result("b", 0))
    assert losses.counts == {"a": 6, "b": 1}


def test_close_wakes_a_consumer_that_waits() -> None:
    delivery = delivery_of(Losses(), a=Overflow.BLOCK)
    found: list[FrameResult | None] = []
    with running(lambda: found.append(delivery.get())):
        delivery.close()
    assert found == [None]


def test_nothing_is_lost_between_many_streams_and_a_consumer() -> None:
    names = [f"s{number}" for number in range(8)]
    losses = Losses()
    delivery = delivery_of(losses, **dict.fromkeys(names, Overflow.BLOCK))

    def produce(stream: str) -> None:
        for number in range(200):
            delivery.put(stream, result(stream, number))
        delivery.end(stream)

    found: dict[str, list[int]] = {name: [] for name in names}
    with running(*(partial(produce, name) for name in names)):
        while (one := delivery.get()) is not None:
            found[one.frame.stream].append(one.frame.number)
    assert found == {name: list(range(200)) for name in names}
    assert losses.counts == {}


@pytest.mark.parametrize(("with_passed", "numbers"), [(False, [1, 2]), (True, [0, 1, 2])])
def test_passed_frames_are_delivered_only_if_they_are_wanted(
    *, with_passed: bool, numbers: list[int]
) -> None:
    delivery = delivery_of(Losses(), gate=Overflow.BLOCK)
    sink = ResultSink(delivery, "gate", needs_picture=True, with_passed=with_passed)
    for number, verdict in enumerate((Verdict.PASSED, Verdict.DETECTED, Verdict.FAILED)):
        sink.write(make_result(number, verdict=verdict))
    assert sink.close() == []
    assert [number for _, number in taken(delivery, len(numbers))] == numbers
    assert delivery.get() is None
