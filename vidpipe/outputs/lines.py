"""A result as a line of JSON: the keys, their order and their rounding are a contract.

The keys are ``stream, frame, pts, time, width, height, detections, error``, and for each detection
``label, class_id, score, box, track_id``. ``box`` is in pixels of the displayed frame, clipped to
it, two decimals; ``score`` has four, and falls; ``pts`` is in seconds, six decimals, or null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache

from vidpipe.runtime.logs import redact
from vidpipe.types import Detections, FrameResult, Verdict

_LINE_BREAKS = {0x2028: "\\u2028", 0x2029: "\\u2029", 0x85: "\\u0085"}
"""Legal inside JSON, but line breaks to some readers of text: a line must stay one line."""


def line_from_result(result: FrameResult) -> bytes:
    """Return a result as UTF-8 with a line break at its end.

    Composed by hand: a third of the time of ``json.dumps`` on records made for it.
    """
    frame = result.frame
    width, height = frame.size_wh
    time = _utc_text(frame.time)
    error = "null" if result.error is None else _quoted(redact(result.error))
    objects = ""
    if result.verdict is not Verdict.FAILED and len(result.detections):
        objects = ", ".join(_objects(result.detections, width, height))
    return (
        f'{{"stream": {_quoted(frame.stream)}, "frame": {frame.number}, '
        f'"pts": {_seconds(frame.pts_s)}, "time": {time}, "width": {width}, "height": {height}, '
        f'"detections": [{objects}], "error": {error}}}\n'
    ).encode("utf-8", "backslashreplace")  # a name may hold bytes that are no text


def _objects(detections: Detections, width: int, height: int) -> Iterator[str]:
    """Yield each object's JSON, the surest first."""
    found: list[float] = detections.scores.tolist()
    scores = [round(score, 4) if math.isfinite(score) else 0.0 for score in found]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    boxes = detections.boxes_xyxy.tolist()
    class_ids = detections.class_ids.tolist()
    tracks = detections.track_ids
    for index in order:
        x1, y1, x2, y2 = boxes[index]
        track_id = tracks[index] if tracks else None
        yield (
            f'{{"label": {_quoted(detections.labels[index])}, "class_id": {class_ids[index]}, '
            f'"score": {scores[index]}, "box": [{_clipped(x1, width)}, {_clipped(y1, height)}, '
            f"{_clipped(x2, width)}, {_clipped(y2, height)}], "
            f'"track_id": {"null" if track_id is None else track_id}}}'
        )


def _clipped(value: float, limit: int) -> float:
    """Round a coordinate to two decimals within 0 and a limit; what is no number becomes 0."""
    if value >= limit:
        return float(limit)
    return round(value, 2) if value > 0 else 0.0


@lru_cache(maxsize=1024)
def _quoted(text: str) -> str:
    """Return a text as JSON that stays readable in any script, and on one line."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isascii() else quoted.translate(_LINE_BREAKS)


def _seconds(pts_s: float | None) -> str:
    return repr(round(float(pts_s), 6)) if pts_s is not None and math.isfinite(pts_s) else "null"


def _utc_text(time: datetime | None) -> str:
    if time is None:
        return "null"
    return f'"{time.astimezone(UTC).isoformat(timespec="milliseconds")[:-6]}Z"'
