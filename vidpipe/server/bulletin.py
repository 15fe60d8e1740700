"""How all streams stand, for every page of the wall: written once for all of them.

Once a second, and at once when a stream's state or the list of streams has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from vidpipe.server.shown import Shown
from vidpipe.server.streams import document_from_row
from vidpipe.server.wallwords import encoded, iso
from vidpipe.shots import Gallery, Glance
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.recent import Recent
from vidpipe.telemetry.rows import RunView

PERIOD_S = 1.0


class Bulletin:
    """The newest message about all streams; for the server's loop alone."""

    def __init__(
        self,
        shown: Shown,
        recent: Recent,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write nothing yet."""
        self._shown = shown
        self._recent = recent
        self._clock = clock
        self._signature: object = None
        self._due_s = 0.0
        self.text = ""
        """Without streams before there is a run."""

    def renew(self) -> bool:
        """Write a new one if it is time, or if something has changed; return True if so."""
        overview, now_s = self._shown.overview, self._clock()
        signature = None if overview is None else _signature_of(overview)
        if now_s < self._due_s and signature == self._signature:
            return False
        self._signature, self._due_s = signature, now_s + PERIOD_S
        self.text = bulletin_text(self._recent.view(), self._shown.gallery, now_s)
        return True


def bulletin_text(view: RunView | None, gallery: Gallery | None, now_s: float) -> str:
    """Return the message; ``now_s`` in monotonic seconds."""
    documents: Sequence[dict[str, Any]] = []
    if view is not None:
        documents = [
            document_from_row(row) | _looks(gallery.glance(row.stream) if gallery else None, now_s)
            for row in view.rows
        ]
    return encoded(
        {
            "type": "streams",
            "server_time": server_time(),
            "loading": view is None,
            "streams": documents,
        }
    )


def server_time() -> str:
    """Return the time of this machine, UTC."""
    return iso(datetime.now(UTC))


def _looks(glance: Glance | None, now_s: float) -> dict[str, Any]:
    if glance is None:
        return {"last_frame": None, "age_s": None, "counts": {}, "aspect": None}
    width, height = glance.size_wh
    return {
        "last_frame": iso(glance.time),
        "age_s": round(max(0.0, now_s - glance.captured_at), 3),
        "counts": dict(glance.counts),
        "aspect": round(width / height, 5),
    }


def _signature_of(overview: Overview) -> object:
    """Return what changes when a state or the list does."""
    return [(s, report.state, report.is_frozen) for s, report in overview.reports().items()]
