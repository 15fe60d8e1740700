"""Records for tests, valid by default: name only what the test is about."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

import numpy as np

from vidpipe.types import (
    NO_DETECTIONS,
    ColorMatrix,
    Detections,
    Frame,
    FrameResult,
    Picture,
    SourceInfo,
    SourceKind,
    Verdict,
)


def make_picture(
    width: int = 64,
    height: int = 48,
    *,
    luma: int = 128,
    matrix: ColorMatrix = ColorMatrix.BT601,
    is_full_range: bool = False,
    rotation_deg: int = 0,
) -> Picture:
    """Return an even grey picture of a coded size."""
    y = np.full((height, width), luma, np.uint8)
    u, v = (np.full(((height + 1) // 2, (width + 1) // 2), 128, np.uint8) for _ in range(2))
    for plane in (y, u, v):
        plane.flags.writeable = False
    return Picture(y, u, v, matrix, is_full_range, rotation_deg)


def make_source(
    *,
    is_live: bool = False,
    rate_fps: float | None = 25.0,
    time_base: Fraction | None = Fraction(1, 25000),
    width: int = 64,
    height: int = 48,
    recorded_at: datetime | None = None,
) -> SourceInfo:
    """Return what an H.264 file (or, live, a camera) says of itself."""
    return SourceInfo(
        kind=SourceKind.NETWORK if is_live else SourceKind.FILE,
        is_live=is_live,
        codec="h264",
        width=width,
        height=height,
        rate_fps=rate_fps,
        time_base=time_base,
        recorded_at=recorded_at,
    )


def make_frame(
    number: int = 0,
    *,
    stream: str = "gate",
    epoch: int = 0,
    pts_s: float | None = -1.0,
    captured_at: float = 0.0,
    time: datetime | None = None,
    picture: Picture | None = None,
    source: SourceInfo | None = None,
) -> Frame:
    """Return a frame; its timestamp is that of its number at 25 a second, unless given."""
    picture = picture or make_picture()
    return Frame(
        stream=stream,
        epoch=epoch,
        number=number,
        pts_s=number / 25 if pts_s == -1.0 else pts_s,
        captured_at=captured_at,
        time=time,
        size_wh=picture.size_wh,
        picture=picture,
        source=source or make_source(),
    )


def make_detections(
    *boxes: tuple[float, float, float, float], label: str = "person", score: float = 0.9
) -> Detections:
    """Return one object a box, by falling score."""
    count = len(boxes)
    return Detections(
        boxes_xyxy=np.array(boxes, np.float32).reshape(count, 4),
        scores=np.array([score - 0.01 * index for index in range(count)], np.float32),
        class_ids=np.zeros(count, np.int32),
        labels=(label,) * count,
    )


def make_result(
    number: int = 0,
    detections: Detections = NO_DETECTIONS,
    *,
    verdict: Verdict = Verdict.DETECTED,
    error: str | None = None,
    frame: Frame | None = None,
) -> FrameResult:
    """Return a frame's result."""
    return FrameResult(frame or make_frame(number), detections, verdict, error)
