"""What `test_interrupts.py` runs in a process of its own: signals that are really raised."""

from __future__ import annotations

import signal
from contextlib import suppress

import pytest

from tests.fakes import FakeClock
from vidpipe.apps.signals import StopSignals
from vidpipe.errors import InterruptedStartError

STOPPING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def nothing() -> None:
    """Hurry nobody."""


@pytest.mark.parametrize("number", STOPPING)
def test_an_interrupt_before_the_start_is_said_to_be_one(number: signal.Signals) -> None:
    with pytest.raises(InterruptedStartError), StopSignals():
        signal.raise_signal(number)


def test_an_interrupt_before_the_start_is_no_failure_of_a_library() -> None:
    def translate() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except Exception:  # noqa: BLE001 - as where a library's errors are translated
            pytest.fail("taken for an error")

    with pytest.raises(InterruptedStartError), StopSignals():
        translate()


def test_an_interrupt_that_a_library_swallows_prevents_the_start() -> None:
    def start(signals: StopSignals) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signals.arm(nothing)

    with pytest.raises(InterruptedStartError), StopSignals() as signals:
        start(signals)


@pytest.mark.parametrize("number", STOPPING)
def test_the_first_signal_stops_a_run_and_the_second_hurries_it(
    number: signal.Signals, clock: FakeClock
) -> None:
    hurried: list[bool] = []
    with StopSignals(clock) as signals:
        signals.arm(lambda: hurried.append(True))
        assert not signals.wait(0)
        signal.raise_signal(number)
        assert signals.wait(0)
        assert signals.wait(0), "it has come once and for all"
        assert (signals.name, hurried) == (number.name, [])
        clock.advance(0.1)
        signal.raise_signal(number)
        assert hurried == [True]


def test_two_signals_at_once_are_one_wish(clock: FakeClock) -> None:
    hurried: list[bool] = []
    with StopSignals(clock) as signals:
        signals.arm(lambda: hurried.append(True))
        signal.raise_signal(signal.SIGTERM)  # as `timeout` does: to the process,
        clock.advance(0.01)
        signal.raise_signal(signal.SIGTERM)  # and to its group
        assert signals.wait(0)
        assert (signals.name, hurried) == ("SIGTERM", [])
        clock.advance(0.1)
        signal.raise_signal(signal.SIGINT)
        assert hurried == [True]


def test_a_closing_terminal_is_ignored_where_it_was_before() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_hangup_of_a_service_asks_for_a_reload_and_stops_nothing() -> None:
    with StopSignals(reloads=True) as signals:
        signal.raise_signal(signal.SIGHUP)  # before the start, too
        signals.arm(nothing)
        assert signals.take_reload()
        assert not signals.take_reload()
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        assert not signals.wait(0)
        assert signals.take_reload()
        assert not signals.take_reload(), "two at once are one"
        signal.raise_signal(signal.SIGTERM)
        assert signals.wait(0)
        assert signals.name == "SIGTERM"
