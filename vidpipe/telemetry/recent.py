"""The last seconds of a run, whoever asks and however often."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.rows import MachineMeters, Moment, RunView, moment_of, view_between

_MOMENTS = 6
"""Readings kept: the window is so many intervals between two calls of ``sample``."""


class Recent:
    """A window that slides over a run, moved on by ``sample``; every method is for any thread.

    Before ``show`` there is no run to see, as while its models are being compiled.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without a run."""
        self._clock = clock
        self._lock = threading.Lock()
        self._machine = MachineMeters()
        self._overview: Overview | None = None
        self._moments: deque[Moment] = deque(maxlen=_MOMENTS)

    @property
    def overview(self) -> Overview | None:
        """The run that is shown, or None before it is built."""
        return self._overview

    def show(self, overview: Overview) -> None:
        """Show a run from now on."""
        with self._lock:
            self._moments.clear()
            self._moments.append(moment_of(overview, self._clock(), self._machine))
            self._overview = overview

    def sample(self) -> None:
        """Move the window on: to be called at even intervals."""
        with self._lock:
            if self._overview is not None:
                self._moments.append(moment_of(self._overview, self._clock(), self._machine))

    def view(self) -> RunView | None:
        """Return what happened in the window, up to now; None where there is no run."""
        with self._lock:
            if self._overview is None:
                return None
            now = moment_of(self._overview, self._clock(), self._machine)
            return view_between(self._overview, self._moments[0], now)
