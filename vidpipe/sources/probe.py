"""Opening a source only to see what it is and whether it works: for ``vidpipe check``."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Clock, OpenReader, Reader
from vidpipe.runtime.supervisor import call_with_deadline
from vidpipe.types import SourceInfo

_BURST_S = 0.5
"""A live source first sends what it held back while it was opened: no measure of its rate."""

_MOST_FRAMES = 5000


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe found.

    Attributes:
        info: What the source said of itself, or None if it couldn't be opened.
        size_wh: Displayed size of the pictures that came, or None if none did.
        first_frame_s: From the beginning of the open to the first picture, in seconds.
        measured_fps: From arrival times (live) or timestamps (recorded), or None.
        frame_count: Pictures that were looked at.
        cause: Why it failed, or None.
        message: The failure for people, without secrets; empty if there is none.
    """

    info: SourceInfo | None = None
    size_wh: tuple[int, int] | None = None
    first_frame_s: float | None = None
    measured_fps: float | None = None
    frame_count: int = 0
    cause: SourceCause | None = None
    message: str = ""


def probe(
    open_reader: OpenReader,
    *,
    measure_s: float = 2.0,
    limit_s: float = 30.0,
    clock: Clock = time.monotonic,
) -> ProbeReport:
    """Open a source, look at its pictures for a while, close it, and report; never raises.

    Args:
        open_reader: Opens it; may block.
        measure_s: How long to measure: of the clock, and of a recorded source's own time.
        limit_s: When to give up, whatever a native call does; its thread is abandoned then.
        clock: Monotonic seconds.
    """
    try:
        return call_with_deadline(
            lambda: _probe(open_reader, measure_s, clock), limit_s, "vp-probe"
        )
    except TimeoutError:
        return ProbeReport(
            cause=SourceCause.TIMEOUT, message=f"it was not open and read within {limit_s:g} s"
        )


def _probe(open_reader: OpenReader, measure_s: float, clock: Clock) -> ProbeReport:
    started_at = clock()
    try:
        reader = open_reader()
    except SourceError as exc:
        return ProbeReport(cause=exc.cause, message=str(exc))
    try:
        return _measure(reader, started_at, measure_s, clock)
    finally:
        reader.close()


def _measure(reader: Reader, started_at: float, measure_s: float, clock: Clock) -> ProbeReport:
    is_live = reader.info.is_live
    report = ProbeReport()
    times_s: list[float] = []
    measuring_from = float("-inf")
    try:
        while report.frame_count < _MOST_FRAMES:
            decoded = reader.read()
            if decoded is None:
                break
            now = clock()
            if report.frame_count == 0:
                measuring_from = now + min(_BURST_S, measure_s / 4) if is_live else now
                report = replace(
                    report, first_frame_s=now - started_at, size_wh=decoded.picture.size_wh
                )
            report = replace(report, frame_count=report.frame_count + 1)
            moment_s = now if is_live else decoded.pts_s
            if moment_s is not None and now >= measuring_from:
                times_s.append(moment_s)
            if now - measuring_from >= measure_s or _span_s(times_s) >= measure_s:
                break
    except SourceError as exc:
        report = replace(report, cause=exc.cause, message=str(exc))
    return replace(report, info=reader.info, measured_fps=_rate_fps(times_s))


def _span_s(times_s: list[float]) -> float:
    return times_s[-1] - times_s[0] if times_s else 0.0


def _rate_fps(times_s: list[float]) -> float | None:
    span_s = _span_s(times_s)
    return (len(times_s) - 1) / span_s if span_s > 0 else None
