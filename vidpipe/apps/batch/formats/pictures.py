"""Moments as pictures with their boxes: decoded, made to fit, drawn on as the video output draws.

Blocks for as long as decoding takes; any thread may call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from vidpipe.apps.batch.formats.lines import Found
from vidpipe.apps.batch.formats.moments import KeyMoment
from vidpipe.apps.batch.formats.spans import Moment
from vidpipe.errors import SinkError
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.canvas import Canvas, CanvasFormat, new_canvas, paint_picture
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.pixels import bgr_from_picture
from vidpipe.sources.moments import WantedPicture, pictures_at
from vidpipe.types import (
    Detections,
    Frame,
    FrameResult,
    Picture,
    Pixels,
    SourceInfo,
    SourceKind,
)

_SOURCE = SourceInfo(kind=SourceKind.FILE, is_live=False, codec="", width=0, height=0)


@lru_cache(maxsize=1)
def typesetter() -> Typesetter:
    """Return the one that all files share: looking for fonts takes as long as drawing a sheet."""
    return Typesetter()


def drawn_moments(
    path: Path,
    moments: Sequence[KeyMoment],
    fit_wh: tuple[int, int],
) -> dict[int, Pixels]:
    """Return the moments' pictures with their boxes, BGR (H, W, 3) uint8, by frame number.

    Moments whose picture can't be found have none.

    Args:
        path: The recorded file.
        moments: Which ones.
        fit_wh: The size into which they fit, keeping their aspect; small ones are enlarged.

    Raises:
        SourceError: The file can't be opened, or not be read to the last of them.
    """
    by_number = {key.moment.frame: key.moment for key in moments}
    wanted = [WantedPicture(moment.frame, moment.pts_s) for moment in by_number.values()]
    annotator = Annotator(typesetter())
    drawn: dict[int, Pixels] = {}
    for want, picture in pictures_at(path, wanted):
        drawn[want.number] = draw_moment(picture, by_number[want.number], fit_wh, annotator)
    return drawn


def draw_moment(
    picture: Picture, moment: Moment, fit_wh: tuple[int, int], annotator: Annotator
) -> Pixels:
    """Return one picture with a moment's boxes on it, fitted into a size; BGR (H, W, 3) uint8."""
    width, height = picture.size_wh
    factor = min(fit_wh[0] / width, fit_wh[1] / height)
    size_wh = max(2, 2 * int(width * factor / 2)), max(2, 2 * int(height * factor / 2))
    wanted = CanvasFormat(size_wh, size_wh, picture.matrix, picture.is_full_range)
    canvas = new_canvas(wanted)
    paint_picture(canvas, picture)
    annotator.draw(canvas, _result_of(picture, moment))
    return _bgr_from_canvas(canvas)


def detections_of(found: Sequence[Found]) -> Detections:
    """Return what was found in a frame as the sinks know it."""
    tracks = tuple(one.track_id for one in found)
    return Detections(
        boxes_xyxy=np.array([one.box_xyxy for one in found], np.float32).reshape(-1, 4),
        scores=np.array([one.score for one in found], np.float32),
        class_ids=np.array([one.class_id for one in found], np.int32),
        labels=tuple(one.label for one in found),
        track_ids=tracks if any(track is not None for track in tracks) else (),
    )


def jpeg_from_bgr(bgr: Pixels, quality: int) -> bytes:
    """Return a picture as JPEG.

    Raises:
        SinkError: It can't be encoded.
    """
    is_made, content = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not is_made:
        raise SinkError(f"a picture of {bgr.shape[1]}x{bgr.shape[0]} can't be encoded as JPEG")
    return content.tobytes()


def _bgr_from_canvas(canvas: Canvas) -> Pixels:
    form = canvas.format
    return bgr_from_picture(
        Picture(canvas.y, canvas.u, canvas.v, form.matrix, form.is_full_range, 0)
    )


def _result_of(picture: Picture, moment: Moment) -> FrameResult:
    """Return a moment as the sinks know results."""
    frame = Frame(
        stream="",
        epoch=0,
        number=moment.frame,
        pts_s=moment.pts_s,
        captured_at=0.0,
        time=None,
        size_wh=picture.size_wh,
        picture=picture,
        source=_SOURCE,
    )
    return FrameResult(frame, detections_of(moment.found))
