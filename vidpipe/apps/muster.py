"""``--require-all``: a run begins only if every stream shows a picture, each in its own time."""

from __future__ import annotations

from collections.abc import Mapping

from vidpipe.config.schema import Config
from vidpipe.errors import UsageError
from vidpipe.types import CaptureReport, StreamState

_GRACE_S = 0.5
"""Finding out why an open failed may take so long beyond its timeout."""


class Muster:
    """Waits for every stream's first picture; one thread."""

    def __init__(self, config: Config, started_at: float) -> None:
        """Expect them all, from a start at so many monotonic seconds."""
        self._missing = {
            stream.id: started_at + stream.connect.open_timeout_s + _GRACE_S
            for stream in config.streams
            if stream.enabled
        }

    def check(self, reports: Mapping[str, CaptureReport], now_s: float) -> None:
        """Look who is there.

        Raises:
            UsageError: A stream's time is over, and it has shown nothing.
        """
        if not self._missing:
            return
        self._missing = {
            stream: due_s
            for stream, due_s in self._missing.items()
            if stream in reports and not _is_here(reports[stream])
        }
        if not any(now_s >= due_s for due_s in self._missing.values()):
            return
        lines = [
            f"{stream}: {reports[stream].error or 'no picture yet'}" for stream in self._missing
        ]
        raise UsageError("--require-all: not every stream is up: " + "; ".join(lines))


def _is_here(report: CaptureReport) -> bool:
    """Return True if a stream has shown something, or nobody wants it any more."""
    return report.has_been_up or report.state is StreamState.DISABLED
