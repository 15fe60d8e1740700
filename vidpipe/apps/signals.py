"""SIGINT, SIGTERM and SIGHUP: the first stops the run, the second hurries it.

Of a service, SIGHUP asks to have the configuration read again instead.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType

from vidpipe.errors import InterruptedStartError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_ONE_WISH_S = 0.05
"""Signals so close together are one wish: `timeout` sends its own to the process and to the group.
"""


class StopSignals:
    """Catches the signals while the ``with`` lasts; for the main thread.

    Before the start a signal interrupts whatever is under way, and the ``with`` ends with
    ``InterruptedStartError``. SIGHUP, which a terminal sends as it closes, is left alone where it
    is ignored already (``nohup``).
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, reloads: bool = False
    ) -> None:
        """Catch nothing yet; ``reloads``: SIGHUP is no terminal that closes."""
        self._clock = clock
        self._reloads = reloads
        self._wants_reload = False
        self._names: SimpleQueue[str] = SimpleQueue()
        """Of the signals; no event, whose lock the main thread may hold as the handler runs."""
        self._name = ""
        self._has_come = False
        self._came_at = 0.0
        self._hurry: Callable[[], None] | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> StopSignals:
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if number is not signal.SIGHUP or before is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type] # as it was given
        if kind is KeyboardInterrupt:
            raise InterruptedStartError("interrupted before the start") from None

    @property
    def name(self) -> str:
        """The first signal's name, once ``wait`` has returned True."""
        return self._name

    def arm(self, hurry: Callable[[], None]) -> None:
        """From now on the first signal ends ``wait``, and every further one calls ``hurry``.

        Raises:
            KeyboardInterrupt: A signal has come before, and what it raised was lost: Python drops
                exceptions in finalizers and in the callbacks of libraries.
        """
        self._hurry = hurry
        if self._has_come:
            raise KeyboardInterrupt

    def wait(self, timeout_s: float) -> bool:
        """Wait for the first signal after the start; return False if it hasn't come in time."""
        if not self._name:
            try:
                self._name = self._names.get(timeout=timeout_s)
            except Empty:
                return False
        return True

    def take_reload(self) -> bool:
        """Return True once after each SIGHUP that asks for the configuration to be read again."""
        wants, self._wants_reload = self._wants_reload, False
        return wants

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._reloads and number == signal.SIGHUP:
            self._wants_reload = True  # also one that comes before the start
            return
        is_first, self._has_come = not self._has_come, True
        if is_first:
            self._came_at = self._clock()
        if self._hurry is None:
            # Not an Exception: whoever translates the errors of libraries must not take it for one.
            raise KeyboardInterrupt
        if is_first:
            self._names.put(signal.Signals(number).name)
        elif self._clock() - self._came_at > _ONE_WISH_S:
            self._hurry()


def is_on_terminal() -> bool:
    """Return True if a person started the program: one of its standard streams is a terminal."""
    return any(map(os.isatty, range(3)))
