"""Finished JSON Lines, read one by one: a file of millions of them takes no more memory than one.

What is read was written by ``outputs.lines``; what is none of it is an error that names the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vidpipe.errors import SinkError
from vidpipe.sources.files import shown


class Found(NamedTuple):
    """One object.

    Attributes:
        label: Its class's name.
        class_id: Its class's number.
        score: 0..1.
        box_xyxy: In pixels of the displayed frame.
        track_id: Who it is from frame to frame, where a tracker ran.
    """

    label: str
    class_id: int
    score: float
    box_xyxy: tuple[float, float, float, float]
    track_id: int | None


class ResultLine(NamedTuple):
    """One frame's line.

    Attributes:
        stream: The stream's name.
        frame: The frame's number, from 0.
        pts_s: The container's time, or None.
        time: When it was recorded, UTC as ISO 8601 writes it, or None.
        width: Of the displayed frame in pixels; None where the line doesn't say.
        height: Likewise.
        found: The objects, the surest first.
        error: Why the model didn't answer, or None.
    """

    stream: str
    frame: int
    pts_s: float | None
    time: str | None
    width: int | None
    height: int | None
    found: tuple[Found, ...]
    error: str | None


def read_lines(path: Path) -> Iterator[ResultLine]:
    """Yield a file's lines in their order; empty ones are passed over.

    Raises:
        SinkError: The file can't be read, or a line is none of vidpipe's.
    """
    number = 0
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for text in file:
                number += 1
                if text.strip():
                    yield _line_from(_DECODER.decode(text))
    except OSError as exc:
        raise SinkError(f"{shown(path)} can't be read: {exc.strerror or exc}") from exc
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        raise SinkError(
            f"{shown(path)}, line {number}: no result of vidpipe's ({type(exc).__name__}); "
            "analyse the file anew"
        ) from exc


def _no_number(_: str) -> None:
    """JSON has no NaN and no infinity: what stands there is not known."""


_DECODER = json.JSONDecoder(parse_constant=_no_number)
"""Made once: ``json.loads`` with an option makes one a line."""


def _line_from(entry: Mapping[str, Any]) -> ResultLine:
    pts_s, error = entry.get("pts"), entry.get("error")
    width, height, time = entry.get("width"), entry.get("height"), entry.get("time")
    return ResultLine(
        str(entry["stream"]),
        int(entry["frame"]),
        None if pts_s is None else float(pts_s),
        None if time is None else str(time),
        None if width is None else int(width),
        None if height is None else int(height),
        tuple(map(_found_from, entry["detections"])),
        None if error is None else str(error),
    )


def _found_from(entry: Mapping[str, Any]) -> Found:
    x1, y1, x2, y2 = entry["box"]
    track_id = entry.get("track_id")
    return Found(
        str(entry["label"]),
        int(entry["class_id"]),
        float(entry["score"]),
        (float(x1), float(y1), float(x2), float(y2)),
        None if track_id is None else int(track_id),
    )
