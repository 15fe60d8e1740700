"""SIGINT and SIGTERM: the first stops the run, the second hurries it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

from vidpipe.errors import InterruptedStartError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Catches the signals while the ``with`` lasts; for the main thread."""

    def __init__(self) -> None:
        """Catch nothing yet."""
        self.requested = threading.Event()
        """Set by the first signal after the start."""
        self._hurry: Callable[[], None] | None = None
        self._before: dict[int, object] = {}
        self._name = ""

    def __enter__(self) -> StopSignals:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._before[number])  # type: ignore[arg-type] # as it was given

    @property
    def name(self) -> str:
        """The first signal's name, once it has come."""
        return self._name

    def arm(self, hurry: Callable[[], None]) -> None:
        """From now on the first signal sets ``requested``, and every further calls ``hurry``."""
        self._hurry = hurry

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._hurry is None:
            raise InterruptedStartError("interrupted before the start")
        if self.requested.is_set():
            self._hurry()
        else:
            self._name = signal.Signals(number).name
            self.requested.set()
