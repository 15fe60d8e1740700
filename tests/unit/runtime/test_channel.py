from __future__ import annotations

import random
import threading
from functools import partial

import pytest

from tests.threads import running, wait_until
from vidpipe.runtime.channel import Channel, ChannelClosedError


def test_items_come_out_in_the_order_of_the_puts() -> None:
    channel: Channel[int] = Channel(3)
    for item in (1, 2, 3):
        assert channel.put(item)
    assert [channel.get() for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_channel_without_room_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Channel(capacity)


def test_put_without_waiting_says_that_there_is_no_room() -> None:
    channel: Channel[int] = Channel(1)
    assert channel.has_room
    assert channel.put(1, timeout_s=0)
    assert not channel.has_room
    assert not channel.put(2, timeout_s=0)
    assert not channel.put(2, timeout_s=0.01)
    assert len(channel) == 1


def test_get_says_that_nothing_came_in_time() -> None:
    channel: Channel[int] = Channel(1)
    with pytest.raises(TimeoutError):
        channel.get(timeout_s=0.01)


def test_the_oldest_gives_way_to_the_newest() -> None:
    channel: Channel[int] = Channel(2)
    assert [channel.put_newest(item) for item in (1, 2, 3)] == [None, None, 1]
    assert [channel.get(), channel.get()] == [2, 3]


def test_a_closed_channel_is_drained_and_then_ends() -> None:
    channel: Channel[int] = Channel(2)
    channel.put(1)
    channel.put(2)
    channel.close()
    channel.close()
    assert channel.is_closed
    assert list(channel) == [1, 2]
    with pytest.raises(ChannelClosedError):
        channel.get()
    with pytest.raises(ChannelClosedError):
        channel.put(3)
    with pytest.raises(ChannelClosedError):
        channel.put_newest(3)


def test_close_wakes_a_blocked_producer() -> None:
    channel: Channel[int] = Channel(1)
    channel.put(1)
    refused = threading.Event()

    def produce() -> None:
        with pytest.raises(ChannelClosedError):
            channel.put(2)
        refused.set()

    with running(produce):
        wait_until(lambda: len(channel._not_full._waiters) == 1, "the producer waits")  # type: ignore[attr-defined]  # to be sure that it is blocked
        channel.close()
        assert refused.wait(5)
    assert list(channel) == [1]


def test_close_wakes_every_blocked_consumer() -> None:
    channel: Channel[int] = Channel(1)
    got: list[list[int]] = []
    consume = [lambda: got.append(list(channel)) for _ in range(3)]
    with running(*consume):
        channel.close()
    assert got == [[], [], []]


def test_abort_returns_what_nobody_will_get() -> None:
    channel: Channel[int] = Channel(3)
    for item in (1, 2, 3):
        channel.put(item)
    assert channel.get() == 1
    assert channel.abort() == [2, 3]
    assert channel.abort() == []
    assert list(channel) == []


def test_room_that_is_made_wakes_one_producer_each_time() -> None:
    channel: Channel[int] = Channel(1)
    with running(*(partial(channel.put, item) for item in range(8))):
        got = [channel.get(timeout_s=5) for _ in range(8)]
    assert sorted(got) == list(range(8))


@pytest.mark.parametrize("seed", range(15))
def test_every_item_is_got_once_or_handed_back_by_abort(seed: int) -> None:
    rng = random.Random(seed)
    channel: Channel[tuple[int, int]] = Channel(rng.randint(1, 4))
    producers, consumers = rng.randint(1, 4), rng.randint(1, 4)
    count = 150
    put: list[list[tuple[int, int]]] = [[] for _ in range(producers)]
    got: list[list[tuple[int, int]]] = [[] for _ in range(consumers)]
    stop_at = rng.randint(0, count)
    reached = threading.Event()

    def produce(number: int) -> None:
        for index in range(count):
            if number == 0 and index == stop_at:
                reached.set()
            try:
                channel.put((number, index))
            except ChannelClosedError:
                break
            put[number].append((number, index))
        reached.set()

    def consume(number: int) -> None:
        for item in channel:
            assert len(channel) <= channel.capacity
            got[number].append(item)

    makers = [partial(produce, number) for number in range(producers)]
    takers = [partial(consume, number) for number in range(consumers)]
    with running(*makers, *takers):
        assert reached.wait(10)
        left = channel.abort()
    for taken in got:  # each consumer sees each producer's items in order
        for number in range(producers):
            indices = [index for maker, index in taken if maker == number]
            assert indices == sorted(indices)
    assert sorted(item for items in [*got, left] for item in items) == sorted(
        item for items in put for item in items
    )
