"""A run as one reader follows it: from one look to the next, and as a whole."""

from __future__ import annotations

from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.rows import (
    MachineMeters,
    RunView,
    averaged,
    moment_of,
    view_between,
)


class StatusBoard:
    """Turns a run's counters into rates; one thread at a time."""

    def __init__(self, overview: Overview, started_at: float) -> None:
        """Begin the first interval; ``started_at`` in the seconds of the caller's clock."""
        self._overview = overview
        self._machine = MachineMeters()
        self._first = self._last = moment_of(overview, started_at, self._machine)

    def view(self, now_s: float) -> RunView:
        """Return what happened since the last call."""
        before, self._last = self._last, moment_of(self._overview, now_s, self._machine)
        return view_between(self._overview, before, self._last)

    def whole_run(self, now_s: float) -> RunView:
        """Return what happened since the start; each stream's rates over the time it ran."""
        now = moment_of(self._overview, now_s, self._machine)
        return averaged(view_between(self._overview, self._first, now))
