"""The stack of signals, on threads of the test's own."""

from __future__ import annotations

import ctypes
import sys

import pytest

from tests.threads import running
from vidpipe.runtime.signalstack import SignalStack, keeping_signal_stack, signal_stack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sigaltstack(2) of Linux")

SIZE = 65_536
PLACES = [ctypes.create_string_buffer(SIZE) for _ in range(2)]


def take(place: int) -> int:
    """Have this thread's signals handled elsewhere, as a library does; return where."""
    address = ctypes.addressof(PLACES[place])
    stack = SignalStack(address, 0, SIZE)
    assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
    return address


def put_back() -> list[int | None]:
    """Return where signals are handled before, during and after a change that is undone."""
    found: list[int | None] = [signal_stack().address]
    with keeping_signal_stack():
        take(1)
        found.append(signal_stack().address)
    return [*found, signal_stack().address]


def on_a_thread(has_own: bool) -> list[int | None]:  # noqa: FBT001 - a case of the test
    found: list[int | None] = []

    def work() -> None:
        if has_own:
            take(0)
        found.extend(put_back())

    with running(work):
        pass
    return found


@pytest.mark.parametrize("has_own", [False, True])
def test_what_a_library_changes_is_put_back(has_own: bool) -> None:  # noqa: FBT001 - a case
    before, during, after = on_a_thread(has_own)
    assert during == ctypes.addressof(PLACES[1])
    assert after == before
    assert before == (ctypes.addressof(PLACES[0]) if has_own else None)
