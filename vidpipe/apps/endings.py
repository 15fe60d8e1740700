"""What is left of a stream's life: how it ended, and what another one goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from vidpipe.apps.outcome import unanswered
from vidpipe.apps.units import Ending, Rest, StreamUnit
from vidpipe.config.stream import StreamConfig
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import CaptureReport, StreamState


def ending_of(unit: StreamUnit, lost: Sequence[str] = ()) -> Ending:
    """Return how a life has ended."""
    stats = unit.meter.snapshot()
    failures = [*unit.record.failures, *unanswered(unit.stream, stats)]
    report, files = unit.capture.report(), unit.record.files
    return Ending(unit.stream, report, stats, failures, files, tuple(lost))


def disabled(config: StreamConfig, known: Rest | None) -> Rest:
    """Return a stream as it rests, with what is known of its former lives."""
    now = datetime.now(UTC)
    if known is None:
        report = CaptureReport(
            StreamState.DISABLED, "disabled", has_been_up=False, error=None, info=None, since=now
        )
        return Rest(config, StreamMeter(), (0, 0), report)
    report = replace(
        known.report,
        state=StreamState.DISABLED,
        detail="disabled",
        error=None,
        cause=None,
        since=now if known.report.state is not StreamState.DISABLED else known.report.since,
        is_frozen=False,
    )
    return replace(known, config=config, report=report)
