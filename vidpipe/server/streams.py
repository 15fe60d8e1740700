"""``/api/streams``: what every stream is doing, over the last seconds and altogether."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vidpipe.runtime.durations import Durations
from vidpipe.runtime.logs import redact
from vidpipe.server.pages import Page
from vidpipe.server.shared import SharedAnswer
from vidpipe.telemetry.recent import Recent
from vidpipe.telemetry.rows import StreamRow
from vidpipe.types import SourceInfo, StreamState


def stream_pages(recent: Recent) -> Iterable[Page]:
    """Return the pages about streams."""

    def render(_: str) -> bytes:
        view = recent.view()
        document = {
            "interval_s": round(view.seconds, 6) if view else None,
            "streams": [document_from_row(row) for row in view.rows] if view else [],
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )

    answers = SharedAnswer(render)

    async def streams(_: Request) -> Response:
        return Response(await answers.get(), media_type="application/json")

    return (Page("/api/streams", streams),)


def document_from_row(row: StreamRow) -> dict[str, Any]:
    """Return one stream for a program: rates and ages of the interval, counts of the whole run."""
    stats, report = row.stats, row.report
    return {
        "id": row.stream,
        "name": row.title,
        "state": row.state,
        "up": report.state is StreamState.LIVE,
        "detail": redact(report.detail),
        "error": redact(report.error) if report.error else None,
        "cause": report.cause.value if report.cause else None,
        "since": report.since.isoformat() if report.since else None,
        "frozen": report.is_frozen,
        "codec": report.info.codec if report.info else None,
        "size": _size(report.info),
        "fps_in": round(row.fps_in, 2),
        "fps_out": round(row.fps_out, 2),
        "age_ms": ages_ms(row.age),
        "captured": stats.captured,
        "processed": stats.processed,
        "passed": stats.passed,
        "dropped": dict(stats.dropped),
        "in_flight": stats.in_flight,
        "detections": stats.detections,
        "errors": dict(stats.errors),
        "sink_losses": dict(stats.sink_losses),
        "sinks_resting": list(stats.resting),
        "lane_depth": row.depth,
        "reconnects": stats.reconnects,
    }


def ages_ms(ages: Durations) -> dict[str, float | None]:
    """Return the percentiles in milliseconds; null where nothing was counted."""
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    quantiles = {name: ages.quantile_s(share) for name, share in shares.items()}
    return {
        name: None if seconds is None else round(seconds * 1000, 2)
        for name, seconds in quantiles.items()
    }


def _size(info: SourceInfo | None) -> dict[str, int] | None:
    return None if info is None else {"width": info.width, "height": info.height}
