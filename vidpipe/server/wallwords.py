"""What a page of the wall and the server say to one another: checked on the way in. Pure.

A message that no page of ours would send is refused with a reason that names the key, and ends the
connection: whoever sent it is broken, or no page.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from vidpipe.shots import LARGEST_SIDE_PX, Second, Shot, ShotSize

MOST_BYTES = 65_536
"""Of one message from a page: a thousand tiles."""
MOST_TILES = 1024
MOST_ARRANGED = 256
"""Tiles of one layout: a page that has more shows groups."""
MOST_FPS = 60.0
_LEAST_FPS = 0.1
_LEAST_SIDE_PX = 8
_SIZE_STEP_PX = 32
_ID = re.compile(r"[a-z0-9_-]{1,200}")


class BadMessageError(ValueError):
    """A message from a page can't be understood; the text says why and holds nothing of it."""


@dataclass(frozen=True, slots=True)
class TileWish:
    """What is wanted of one stream."""

    size: ShotSize
    fps: float


@dataclass(frozen=True, slots=True)
class Watch:
    """Which tiles are on the screen, in place of the former ones."""

    tiles: Mapping[str, TileWish]


@dataclass(frozen=True, slots=True)
class Ack:
    """A picture was drawn."""

    stream: str
    seq: int


@dataclass(frozen=True, slots=True)
class LayoutQuestion:
    """Where the tiles go on a screen of this size."""

    request: int
    width: int
    height: int
    aspects: tuple[tuple[str, float], ...]
    spotlight: str | None
    page: int


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """What was seen in the last minute."""

    stream: str


@dataclass(frozen=True, slots=True)
class ReplayQuestion:
    """The pictures of the last half minute."""

    stream: str


PageWord: TypeAlias = Watch | Ack | LayoutQuestion | HistoryQuestion | ReplayQuestion


def word_from_text(text: str) -> PageWord:
    """Understand a message from a page.

    Raises:
        BadMessageError: It isn't one.
    """
    if len(text) > MOST_BYTES:
        raise BadMessageError("the message is too long")
    try:
        fields = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadMessageError("the message is no JSON") from None
    if not isinstance(fields, dict):
        raise BadMessageError("the message is no JSON object")
    match fields.get("type"):
        case "watch":
            return Watch(_tiles(fields.get("tiles")))
        case "ack":
            return Ack(_id(fields.get("stream"), "stream"), _whole(fields.get("seq"), "seq", 2**53))
        case "layout":
            return _layout(fields)
        case "history":
            return HistoryQuestion(_id(fields.get("stream"), "stream"))
        case "replay":
            return ReplayQuestion(_id(fields.get("stream"), "stream"))
    raise BadMessageError("type: not a word of this version")


def shared_size(width: float, height: float) -> ShotSize:
    """Return a size that is asked for as one that near sizes have in common: a little larger."""
    return ShotSize(_stepped(width), _stepped(height))


def packed_shot(shot: Shot, *, age_s: float, is_replay: bool = False) -> bytes:
    """Return a picture as a binary message: the header's length (u32, big-endian), header, JPEG."""
    header = {
        "stream": shot.stream,
        "seq": shot.seq,
        "time": iso(shot.time),
        "age_ms": round(max(0.0, age_s) * 1000),
        "sent_ms": round((shot.captured_at + age_s) * 1000),
        "width": shot.width,
        "height": shot.height,
        "counts": dict(shot.counts),
        "replay": is_replay,
    }
    data = encoded(header).encode("utf-8", "replace")
    return b"".join((struct.pack(">I", len(data)), data, shot.jpeg))


def history_text(stream: str, seconds: Iterable[Second]) -> str:
    """Return the answer to a ``HistoryQuestion``."""
    listed = [{"time": iso(one.time), "counts": dict(one.counts)} for one in seconds]
    return encoded({"type": "history", "stream": stream, "seconds": listed})


def encoded(document: Mapping[str, Any]) -> str:
    """Return a message to a page as text."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def iso(time: datetime) -> str:
    """Return an aware UTC time as text, in milliseconds."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _stepped(length: float) -> int:
    return min(LARGEST_SIDE_PX, math.ceil(length / _SIZE_STEP_PX) * _SIZE_STEP_PX)


def _tiles(value: object) -> dict[str, TileWish]:
    if not isinstance(value, dict) or len(value) > MOST_TILES:
        raise BadMessageError(f"tiles: expected an object of at most {MOST_TILES}")
    return {_id(stream, "tiles"): _wish(wish) for stream, wish in value.items()}


def _wish(value: object) -> TileWish:
    if not isinstance(value, dict):
        raise BadMessageError("tiles: expected an object each")
    width, height = (
        _number(value.get(key), key, _LEAST_SIDE_PX, LARGEST_SIDE_PX) for key in ("width", "height")
    )
    fps = _number(value.get("fps"), "fps", 0.0, 1000.0)
    return TileWish(shared_size(width, height), min(MOST_FPS, max(_LEAST_FPS, fps)))


def _layout(fields: Mapping[str, object]) -> LayoutQuestion:
    aspects = fields.get("aspects")
    if not isinstance(aspects, list) or len(aspects) > MOST_ARRANGED:
        raise BadMessageError(f"aspects: expected a list of at most {MOST_ARRANGED}")
    pairs = []
    for pair in aspects:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadMessageError("aspects: expected an id and a number each")
        pairs.append((_id(pair[0], "aspects"), _number(pair[1], "aspects", 0.01, 100.0)))
    if len({stream for stream, _ in pairs}) != len(pairs):
        raise BadMessageError("aspects: an id stands there twice")
    spotlight = fields.get("spotlight")
    return LayoutQuestion(
        request=_whole(fields.get("request"), "request", 2**53),
        width=int(_number(fields.get("width"), "width", 1, LARGEST_SIDE_PX)),
        height=int(_number(fields.get("height"), "height", 1, LARGEST_SIDE_PX)),
        aspects=tuple(pairs),
        spotlight=None if spotlight is None else _id(spotlight, "spotlight"),
        page=_whole(fields.get("page", 0), "page", MOST_TILES),
    )


def _id(value: object, key: str) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise BadMessageError(f"{key}: expected the id of a stream")
    return value


def _number(value: object, key: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadMessageError(f"{key}: expected a number")
    if not least <= value <= most:
        raise BadMessageError(f"{key}: expected a number from {least:g} to {most:g}")
    return float(value)


def _whole(value: object, key: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise BadMessageError(f"{key}: expected a whole number from 0 to {most}")
    return value


def _no_number(text: str) -> float:
    raise ValueError(text)
