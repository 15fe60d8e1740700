"""An event as JSON: the keys and their order are a contract.

``id, time, kind, stream, name, label, score, box, width, height, frame, pts, detail``: ``time`` is
UTC with milliseconds; ``box`` is x1, y1, x2, y2 in pixels of the displayed frame, two decimals;
what an event has not is null.
"""

from __future__ import annotations

import json
import math
from datetime import UTC

from vidpipe.events import Event
from vidpipe.runtime.logs import redact


def text_from_event(event: Event) -> str:
    """Return an event as one line of JSON, readable in any script."""
    width, height = event.size_wh or (None, None)
    time = event.time.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    return json.dumps(
        {
            "id": event.id,
            "time": f"{time}Z",
            "kind": event.kind.value,
            "stream": event.stream,
            "name": event.name,
            "label": event.label,
            "score": _rounded(event.score, 4),
            "box": _box(event),
            "width": width,
            "height": height,
            "frame": event.frame,
            "pts": _rounded(event.pts_s, 6),
            "detail": redact(event.detail) or None,
        },
        ensure_ascii=False,
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return round(value, digits) if value is not None and math.isfinite(value) else None


def _box(event: Event) -> list[float] | None:
    if event.box_xyxy is None or event.size_wh is None:
        return None
    width, height = event.size_wh
    limits = (width, height, width, height)
    return [
        round(min(max(side, 0.0), limit), 2) if math.isfinite(side) else 0.0
        for side, limit in zip(event.box_xyxy, limits, strict=True)
    ]
