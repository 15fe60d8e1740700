"""What happens in a run that somebody wants to be told: the record of an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias


class EventKind(StrEnum):
    """What an event is about."""

    DETECTION = "detection"
    """A class is seen in a stream after a while without it."""
    CAMERA_UP = "camera-up"
    """A live source delivers pictures, for the first time or again."""
    CAMERA_DOWN = "camera-down"
    """A live source delivers none any more, or can't be opened."""
    DISK_LOW = "disk-low"
    """A disk is too full for an output, which has stopped writing."""
    DISK_OK = "disk-ok"
    """There is room again, and the output goes on."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that somebody wants to be told, once.

    Attributes:
        id: Unique, and the same each time that the event is sent.
        time: Aware UTC: when it happened, where the source says it, else when it was noticed.
        kind: What it is about.
        stream: The stream's id.
        name: What people call the stream.
        label: The class; None but for a detection, as are the next five.
        score: 0..1.
        box_xyxy: In pixels of the displayed frame.
        size_wh: That frame's width and height in pixels.
        frame: Its number.
        pts_s: Its timestamp in seconds, where the source has one.
        detail: More for people, such as why a camera is down; redacted; may be empty.
    """

    id: str
    time: datetime
    kind: EventKind
    stream: str
    name: str
    label: str | None = None
    score: float | None = None
    box_xyxy: tuple[float, float, float, float] | None = None
    size_wh: tuple[int, int] | None = None
    frame: int | None = None
    pts_s: float | None = None
    detail: str = ""


Announce: TypeAlias = Callable[[EventKind, str], None]
"""Makes an event of one stream, with a detail for people.

Any thread may call it; it never waits and never raises.
"""
