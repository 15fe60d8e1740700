"""What a running pipeline shows of itself: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from vidpipe.apps.pipeline import Pipeline
from vidpipe.runtime.meters import AgeStats, StreamStats
from vidpipe.types import StreamState

_STATE_STYLES = {
    StreamState.LIVE: "green",
    StreamState.ENDED: "dim",
    StreamState.CONNECTING: "yellow",
    StreamState.BACKING_OFF: "red",
    StreamState.FAILED: "bold red",
}


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream over one interval.

    Attributes:
        stream: The stream's id.
        state: What its capture is doing.
        detail: Why, where it is not well.
        stats: Its counters now.
        fps_in: Frames captured a second.
        fps_out: Frames processed or passed a second.
        age: Capture to result, in the interval.
    """

    stream: str
    state: StreamState
    detail: str
    stats: StreamStats
    fps_in: float
    fps_out: float
    age: AgeStats


class StatusBoard:
    """Turns a pipeline's counters into rates."""

    def __init__(self, pipeline: Pipeline, started_at: float) -> None:
        """Begin the first interval; ``started_at`` in the seconds of the caller's clock."""
        self._pipeline = pipeline
        self._started_at = started_at
        self._last = pipeline.stats()
        self._first: Mapping[str, StreamStats] = dict(self._last)
        self._last_at = started_at

    def rows(self, now_s: float) -> list[StreamRow]:
        """Return every stream over the time since the last call."""
        rows = self._rows(self._last, now_s - self._last_at)
        self._last = {row.stream: row.stats for row in rows}
        self._last_at = now_s
        return rows

    def whole_run(self, now_s: float) -> list[StreamRow]:
        """Return every stream since the start."""
        return self._rows(self._first, now_s - self._started_at)

    def _rows(self, since: Mapping[str, StreamStats], seconds: float) -> list[StreamRow]:
        rows = []
        reports = self._pipeline.reports()
        for stream, new in self._pipeline.stats().items():
            old, report = since[stream], reports[stream]
            out = new.processed + new.passed - old.processed - old.passed
            rows.append(
                StreamRow(
                    stream=stream,
                    state=report.state,
                    detail=report.detail,
                    stats=new,
                    fps_in=(new.captured - old.captured) / max(seconds, 1e-6),
                    fps_out=out / max(seconds, 1e-6),
                    age=new.age.since(old.age),
                )
            )
        return rows


def table_from_rows(rows: Sequence[StreamRow], title: str) -> Table:
    """Return the table that a terminal shows; in a narrow one the ids are cut, and no number."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=0, show_edge=False
    )
    table.add_column("stream", overflow="ellipsis")
    table.add_column("state", no_wrap=True)
    for name in ("fps in", "fps out", "age, ms\np50 / p95", "frames", "drops", "detections"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            # No markup: log lines are printed without, and a table that is drawn again with them.
            Text(row.stream),
            Text(row.state, _STATE_STYLES[row.state]),
            f"{row.fps_in:.1f}",
            f"{row.fps_out:.1f}",
            _ages(row.age),
            str(row.stats.captured),
            str(sum(row.stats.dropped.values())),
            str(row.stats.detections),
        )
    return table


def drops_from_rows(rows: Sequence[StreamRow]) -> list[str]:
    """Return a line for each stream that has lost frames: how many, by cause."""
    return [f"{row.stream}: {_drops(row.stats)} dropped" for row in rows if row.stats.dropped]


def line_from_row(row: StreamRow) -> str:
    """Return what one stream did, as a line of a closing summary."""
    stats = row.stats
    parts = [
        f"{row.stream}: {row.state}",
        f"{stats.captured} frames captured",
        f"{stats.processed} processed",
    ]
    if stats.passed:
        parts.append(f"{stats.passed} passed")
    parts += [
        f"{_drops(stats)} dropped",
        f"{stats.detections} detections",
        f"{row.fps_out:.1f} fps",
        f"age p50 / p95 {_ages(row.age, ' ms')}",
    ]
    if stats.reconnects:
        parts.append(f"{stats.reconnects} reconnects")
    if stats.sink_losses:
        parts.append(
            "not written: " + ", ".join(f"{sink} {n}" for sink, n in stats.sink_losses.items())
        )
    return ", ".join(parts)


def line_from_rows(rows: Sequence[StreamRow]) -> str:
    """Return all streams together, as the plain line of an interval."""
    states = [row.state for row in rows]
    known = ", ".join(
        f"{states.count(state)} {state}" for state in StreamState if states.count(state)
    )
    dropped = sum(sum(row.stats.dropped.values()) for row in rows)
    return (
        f"{len(rows)} streams ({known}): in {sum(row.fps_in for row in rows):.1f} fps, "
        f"out {sum(row.fps_out for row in rows):.1f} fps, "
        f"age p50 / p95 {_ages(_together(rows), ' ms')}, {dropped} dropped, "
        f"{sum(row.stats.detections for row in rows)} detections"
    )


def _together(rows: Sequence[StreamRow]) -> AgeStats:
    counts = tuple(map(sum, zip(*(row.age.counts for row in rows), strict=True)))
    return AgeStats(counts, sum(row.age.sum_s for row in rows))


def _ages(age: AgeStats, unit: str = "") -> str:
    p50_s, p95_s = age.quantile_s(0.5), age.quantile_s(0.95)
    if p50_s is None or p95_s is None:
        return "-"
    return f"{p50_s * 1000:.0f} / {p95_s * 1000:.0f}{unit}"


def _drops(stats: StreamStats) -> str:
    if not stats.dropped:
        return "0"
    causes = " ".join(f"{cause} {count}" for cause, count in sorted(stats.dropped.items()))
    return f"{sum(stats.dropped.values())} ({causes})"
