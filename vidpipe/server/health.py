"""``/healthz`` and ``/readyz``: whether to restart the process, and whether to rely on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from vidpipe.server.pages import Page
from vidpipe.telemetry.overview import Overview
from vidpipe.telemetry.recent import Recent
from vidpipe.types import StreamState


def health_pages(recent: Recent, warnings: Callable[[], Sequence[str]] = tuple) -> Iterable[Page]:
    """Return the pages for whoever supervises the process.

    ``warnings`` returns what keeps nothing from being ready, and yet wants somebody to look.
    """

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        missing = missing_of(recent.overview)
        document: dict[str, object] = {"ready": not missing, "missing": missing}
        if said := list(warnings()):
            document["warnings"] = said
        return JSONResponse(document, status_code=503 if missing else 200)

    return (Page("/healthz", healthz, is_public=True), Page("/readyz", readyz))


def missing_of(overview: Overview | None) -> list[str]:
    """Return what keeps a run from being ready, for people; nothing if it is."""
    if overview is None:
        return ["the models are being loaded"]
    pools = overview.pools()
    missing = [f"pool {pool.name} is not ready" for pool in pools if not pool.is_ready]
    if not pools:
        missing.append("no pool has been built yet")
    states = Counter(report.state for report in overview.reports().values())
    if not states[StreamState.LIVE]:
        found = ", ".join(f"{count} {state.value}" for state, count in sorted(states.items()))
        missing.append(f"no stream is up ({found or 'there are none'})")
    return missing
