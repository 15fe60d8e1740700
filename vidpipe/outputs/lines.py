"""A result as a line of JSON: the keys, their order and their rounding are a contract.

The keys are ``stream, frame, pts, time, width, height, detections, error``, and for each detection
``label, class_id, score, box, track_id``. ``box`` is in pixels of the displayed frame, clipped to
it, two decimals; ``score`` has four, and falls; ``pts`` is in seconds, six decimals, or null.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from vidpipe.runtime.logs import redact
from vidpipe.types import Detections, FrameResult, Verdict

_LINE_BREAKS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Legal inside JSON, but line breaks to some readers of text: a line must stay one line."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def line_from_result(result: FrameResult) -> bytes:
    """Return a result as UTF-8 with a line break at its end."""
    frame = result.frame
    width, height = frame.size_wh
    has_answer = result.verdict is not Verdict.FAILED
    text = _encode(
        {
            "stream": frame.stream,
            "frame": frame.number,
            "pts": _seconds(frame.pts_s),
            "time": _utc_text(frame.time),
            "width": int(width),
            "height": int(height),
            "detections": _objects(result.detections, width, height) if has_answer else [],
            "error": None if result.error is None else redact(result.error),
        }
    )
    if not text.isascii():
        text = text.translate(_LINE_BREAKS)
    # A file name may hold bytes that are no text: JSON has an escape for each.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _objects(detections: Detections, width: int, height: int) -> list[dict[str, Any]]:
    if not len(detections):
        return []
    limits = np.array([width, height, width, height], np.float64)
    clipped = np.clip(np.nan_to_num(detections.boxes_xyxy.astype(np.float64)), 0.0, limits)
    boxes = (np.round(clipped, 2) + 0.0).tolist()  # adding turns -0.0 into 0.0
    scores = np.round(np.nan_to_num(detections.scores.astype(np.float64)), 4).tolist()
    tracks = detections.track_ids or (None,) * len(detections)
    class_ids = detections.class_ids.tolist()
    objects = [
        {"label": label, "class_id": class_id, "score": score, "box": box, "track_id": track_id}
        for label, class_id, score, box, track_id in zip(
            detections.labels, class_ids, scores, boxes, tracks, strict=True
        )
    ]
    if any(low < high for low, high in pairwise(scores)):
        objects.sort(key=lambda found: found["score"], reverse=True)
    return objects


def _seconds(pts_s: float | None) -> float | None:
    return round(float(pts_s), 6) if pts_s is not None and math.isfinite(pts_s) else None


def _utc_text(time: datetime | None) -> str | None:
    if time is None:
        return None
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
