from __future__ import annotations

from tests.fakes import FakeClock
from vidpipe.sources.watchdog import Watch


def test_a_call_that_ends_in_time_is_never_given_up(clock: FakeClock) -> None:
    watch = Watch(clock, 1.0)
    for _ in range(10):
        watch.begin(3.0)
        clock.advance(2.9)
        assert not watch.give_up_if_overdue()
        assert watch.end()
    clock.advance(100.0)
    assert not watch.give_up_if_overdue()  # between two calls nothing is awaited


def test_an_overdue_call_is_given_up_for_good(clock: FakeClock) -> None:
    watch = Watch(clock, 1.0)
    watch.begin(3.0)
    clock.advance(3.0)
    assert watch.give_up_if_overdue()
    assert watch.is_given_up
    assert not watch.end()


def test_quiet_is_told_before_the_call_is_given_up(clock: FakeClock) -> None:
    told: list[float] = []
    watch = Watch(clock, 1.0)
    watch.begin(3.0)
    for _ in range(4):
        watch.if_quiet(lambda: told.append(clock.now_s))
        clock.advance(0.5)
    assert told == [1.0, 1.5]
    assert not watch.give_up_if_overdue()


def test_what_is_heard_meanwhile_is_no_silence(clock: FakeClock) -> None:
    watch = Watch(clock, 1.0)
    watch.begin(3.0, lambda: 10.0)
    clock.advance(12.0)
    assert not watch.give_up_if_overdue()
    clock.advance(1.0)
    assert watch.give_up_if_overdue()


def test_who_watches_may_sleep_until_there_is_something_to_see(clock: FakeClock) -> None:
    watch = Watch(clock, 1.0)
    assert watch.rest_s() == 1.0
    watch.begin(3.0)
    clock.advance(0.25)
    assert watch.rest_s() == 0.75
    clock.advance(1.0)
    assert watch.rest_s() == 1.0  # another call may begin meanwhile
    clock.advance(1.25)
    assert watch.rest_s() == 0.5
    clock.advance(60.0)
    assert 0 < watch.rest_s() < 0.1
