"""Who looks at a run on the machine itself, and may end it by leaving."""

from __future__ import annotations

from typing import Protocol

from vidpipe.shots import Exhibition
from vidpipe.telemetry.overview import Overview


class Onlooker(Protocol):
    """Everything is called on the main thread."""

    def begin(self, overview: Overview, pictures: Exhibition | None) -> None:
        """Look at this run from now on."""

    def look(self, wait_s: float) -> bool:
        """Spend so many seconds looking; return False to end the run."""

    def end(self) -> None:
        """The run is over, or has never begun; may be called twice."""
