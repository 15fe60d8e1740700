"""What the server shows and may ask of: the parts of a run, each there or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vidpipe.server.control import Control
from vidpipe.server.detector import Detector
from vidpipe.shots import Exhibition, Gallery
from vidpipe.telemetry.overview import Overview


@dataclass(slots=True)
class Shown:
    """A run's parts as the pages see them; each is None before there is a run that has it.

    Set by any thread, one attribute at a time; a page looks again at every request.

    Attributes:
        overview: What the run is doing.
        control: What can be changed in it.
        detector: What looks at pictures that somebody brings.
        pictures: What it sees.
    """

    overview: Overview | None = None
    control: Control | None = None
    detector: Detector | None = None
    pictures: Exhibition | None = None

    @property
    def gallery(self) -> Gallery | None:
        """Where the pictures come from."""
        pictures = self.pictures
        return pictures.gallery if pictures else None


class Show(Protocol):
    """Lets a server show a run from now on, in place of another."""

    def __call__(
        self,
        overview: Overview,
        *,
        control: Control | None = None,
        detector: Detector | None = None,
        pictures: Exhibition | None = None,
    ) -> None:
        """Show these parts of it."""
