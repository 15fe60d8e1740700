"""The busiest moments of a file as small pictures, made once and kept for the report."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from loguru import logger

from vidpipe.apps.batch.formats.digest import Digest, kept_digest
from vidpipe.apps.batch.formats.finishing import finished_file, is_current
from vidpipe.apps.batch.formats.moments import busiest_moments
from vidpipe.apps.batch.formats.pictures import drawn_moments, jpeg_from_bgr
from vidpipe.apps.batch.formats.results import ResultFile
from vidpipe.apps.batch.formats.spans import Moment
from vidpipe.apps.batch.formats.wording import clock_text, counts_text
from vidpipe.errors import SourceError

MOST_THUMBS = 4
_KIND, _SUFFIX, _FORMAT = "report", ".json", 1
_FIT_WH = (320, 240)
_QUALITY, _LOW_QUALITY = 74, 45
_LARGE_BYTES = 18_000


@dataclass(frozen=True, slots=True)
class Thumb:
    """One small picture.

    Attributes:
        frame: Its frame's number.
        words: When it was, and what is in it.
        size_wh: In pixels.
        jpeg: Its content.
    """

    frame: int
    words: str
    size_wh: tuple[int, int]
    jpeg: bytes


def kept_thumbs(result: ResultFile) -> list[Thumb]:
    """Return a file's small pictures, the busiest first: kept ones, or new ones, which are kept.

    Where the input can't be read any more there are none, and the log says so.

    Raises:
        SinkError: The results can't be read, or the pictures can't be written.
    """
    path = result.hidden(_KIND, _SUFFIX)
    if is_current(path, result.jsonl):
        try:
            entry = json.loads(path.read_bytes())
            if entry["format"] == _FORMAT:
                return [_thumb(one) for one in entry["thumbs"]]
        except (OSError, ValueError, KeyError, TypeError):
            pass  # damaged: made anew
    thumbs = _new_thumbs(result)
    with finished_file(path, made_from=result.jsonl, is_synced=False) as file:
        entries = [
            {
                "frame": thumb.frame,
                "words": thumb.words,
                "size_wh": thumb.size_wh,
                "jpeg": b64encode(thumb.jpeg).decode(),
            }
            for thumb in thumbs
        ]
        file.write(json.dumps({"format": _FORMAT, "thumbs": entries}).encode())
    return thumbs


def _new_thumbs(result: ResultFile) -> list[Thumb]:
    digest = kept_digest(result)
    moments = busiest_moments(digest, MOST_THUMBS)
    if result.source is None or not moments:
        return []
    try:
        drawn = drawn_moments(result.source, moments, _FIT_WH)
    except SourceError as exc:
        logger.bind(stream=result.stem).warning("the report lacks its pictures: {}", exc)
        return []
    ranked = sorted(moments, key=lambda key: key.moment.rank, reverse=True)
    thumbs = []
    for key in ranked:
        picture = drawn.get(key.moment.frame)
        if picture is None:
            continue
        jpeg = jpeg_from_bgr(picture, _QUALITY)
        if len(jpeg) > _LARGE_BYTES:
            jpeg = jpeg_from_bgr(picture, _LOW_QUALITY)
        height, width = picture.shape[:2]
        thumbs.append(Thumb(key.moment.frame, _words(digest, key.moment), (width, height), jpeg))
    return thumbs


def _words(digest: Digest, moment: Moment) -> str:
    place = clock_text(moment.at, is_fine=True) if digest.has_times else f"frame {moment.frame}"
    return f"{place}  {counts_text(moment.counts, most=2) or 'nothing found'}"


def _thumb(entry: dict[str, Any]) -> Thumb:
    width, height = entry["size_wh"]
    return Thumb(entry["frame"], entry["words"], (width, height), b64decode(entry["jpeg"]))
