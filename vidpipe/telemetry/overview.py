"""What can be seen of a run from outside, whether it is one process or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vidpipe.runtime.durations import Durations, Stage
from vidpipe.runtime.meters import StreamStats
from vidpipe.types import CaptureReport, PoolReport


class Overview(Protocol):
    """A run as the status table, the server and the bench see it; any thread may ask.

    ``Pipeline`` is one; so is the parent of several worker processes, which adds theirs up.
    """

    def titles(self) -> Mapping[str, str]:
        """Return what people call each stream, by its id, in the configuration's order."""

    def stats(self) -> Mapping[str, StreamStats]:
        """Return every stream's counters."""

    def reports(self) -> Mapping[str, CaptureReport]:
        """Return what every stream's source is doing."""

    def depths(self) -> Mapping[str, int]:
        """Return how many frames wait in every stream's lane."""

    def stages(self) -> Mapping[Stage, Durations]:
        """Return how long every stage takes, all streams together."""

    def pools(self) -> Sequence[PoolReport]:
        """Return every pool of requests."""

    def switches(self) -> Mapping[str, int]:
        """Return how often each model with an adaptive hint has changed its pool."""
