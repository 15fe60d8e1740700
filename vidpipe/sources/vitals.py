"""What a reader can tell of itself beside its pictures, for those that watch over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from vidpipe.sources.leaping import Leap


@dataclass(slots=True)
class Vitals:
    """Signs of life; written by the reader's thread, read by any.

    Attributes:
        heard_at: Monotonic seconds at which data of the video last came.
        discarded: Pictures that were decoded and thrown away because they were damaged; whoever
            counts them sets it back to 0, on the reader's thread.
        skipped: Packets that were not decoded, because the configuration wants fewer pictures.
        overtaken: Packets that were not decoded, because they were late; counted and set back as
            ``discarded``.
        is_holding: The last read returned nothing, though there is more: what came was passed over,
            and what comes next has a time that may not be here yet.
        waited_s: How long data has been waited for, altogether.
        clock_repeats: Pictures in a row, up to the last one, whose timestamp stood still.
    """

    heard_at: float = 0.0
    discarded: int = 0
    skipped: int = 0
    overtaken: int = 0
    is_holding: bool = False
    waited_s: float = 0.0
    clock_repeats: int = 0


@runtime_checkable
class HasVitals(Protocol):
    """A reader that tells."""

    @property
    def vitals(self) -> Vitals:
        """Its signs of life, kept up to date."""


@runtime_checkable
class CanLeap(Protocol):
    """A reader that can leave out what comes next."""

    @property
    def leap(self) -> Leap:
        """How; for the reader's thread. What is left out is counted in ``Vitals.overtaken``."""
