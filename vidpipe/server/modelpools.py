"""``/api/pools``: how the models' pools of requests stand, and how busy the machine is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vidpipe.server.pages import Page
from vidpipe.server.shared import SharedAnswer
from vidpipe.telemetry.recent import Recent
from vidpipe.telemetry.rows import RunView
from vidpipe.types import PoolReport


def pool_pages(recent: Recent) -> Iterable[Page]:
    """Return the page about pools."""

    def render(_: str) -> bytes:
        return json.dumps(document_from_view(recent.view()), ensure_ascii=False).encode(
            "utf-8", "replace"
        )

    answers = SharedAnswer(render)

    async def pools(_: Request) -> Response:
        return Response(await answers.get(), media_type="application/json")

    return (Page("/api/pools", pools),)


def document_from_view(view: RunView | None) -> dict[str, Any]:
    """Return the pools over the last seconds; none before there is a run."""
    return {
        "interval_s": round(view.seconds, 6) if view else None,
        "cpus": os.cpu_count() or 1,
        "cpu_cores": round(view.cpu_cores, 3) if view and view.cpu_cores is not None else None,
        "gpus": {name: round(share, 4) for name, share in view.gpus.items()} if view else {},
        "pools": [_pool(pool, view.switches) for pool in view.pools] if view else [],
    }


def _pool(pool: PoolReport, switches: Mapping[str, int]) -> dict[str, Any]:
    fill = pool.batched_frames / pool.batch_places if pool.batch_places else None
    return {
        "name": pool.name,
        "model": pool.model,
        "ready": pool.is_ready,
        "requests": dict(pool.requests),
        "batch_fill": None if fill is None else round(fill, 4),
        "switches": switches.get(pool.model),
    }
