"""Pictures of a run for whoever looks on: what may be asked for, and what comes.

A ``Gallery`` encodes nothing while nobody asks. What is asked for is encoded once for all who ask
for it, as small as they want it and as often as the most eager of them; and newest wins: whoever is
slow gets fewer pictures, never older ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

LARGEST_SIDE_PX = 16_384
"""What a side of a wanted size is bounded to."""

SECONDS_KEPT = 60
"""Of what was seen of a stream: the last minute."""


@dataclass(frozen=True, slots=True, order=True)
class ShotSize:
    """The room for a picture, which fits into it: aspect kept, and never enlarged.

    Attributes:
        width: In pixels.
        height: In pixels.
        has_captions: Whether the stream's name and the time are written on the picture.
    """

    width: int = LARGEST_SIDE_PX
    height: int = LARGEST_SIDE_PX
    has_captions: bool = False


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture of a stream with its boxes drawn, encoded.

    Attributes:
        stream: The stream's id.
        seq: Grows with every frame of the stream; frames that nobody saw leave gaps.
        time: When it was captured, aware UTC: of a recording when it was read.
        captured_at: The same in monotonic seconds of this machine, of whichever process.
        width: In pixels.
        height: In pixels.
        counts: How many objects of each label are on it.
        jpeg: The picture.
    """

    stream: str
    seq: int
    time: datetime
    captured_at: float
    width: int
    height: int
    counts: Mapping[str, int]
    jpeg: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Second:
    """What was seen of a stream in one second.

    Attributes:
        time: Its beginning, aware UTC.
        counts: The most objects of each label at once.
    """

    time: datetime
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Glance:
    """What is known of a stream's newest result.

    Attributes:
        time: When its frame was captured, aware UTC.
        captured_at: The same in monotonic seconds.
        size_wh: The displayed size, that is after the rotation.
        counts: How many objects of each label are on it.
    """

    time: datetime
    captured_at: float
    size_wh: tuple[int, int]
    counts: Mapping[str, int]


Wants: TypeAlias = Mapping[str, Mapping[ShotSize, float]]
"""By stream: the sizes that are wanted, each with its pictures a second."""

TakeShot: TypeAlias = Callable[[Shot, Collection[ShotSize]], None]
"""Is given a picture and which of the sizes that were asked for it is the answer to."""


class Visit(Protocol):
    """One onlooker; any thread may call, one at a time."""

    def ask(self, wants: Wants) -> None:
        """Say what is wanted from now on, in place of all that was; streams may be unknown yet."""

    def close(self) -> None:
        """Want nothing more; may be called twice."""


class Gallery(Protocol):
    """The pictures of a run, whether it is one process or several; for any thread."""

    def visit(self, take: TakeShot) -> Visit:
        """Begin a visit.

        Args:
            take: Is called on a thread of the gallery's, and must neither wait nor raise; a call
                may still come while the visit is being closed.
        """

    def glance(self, stream: str) -> Glance | None:
        """Return what is known of a stream's newest result, or None before the first."""

    def history(self, stream: str, count: int = SECONDS_KEPT) -> Sequence[Second]:
        """Return the last so many seconds in which a frame was answered, oldest first.

        Of the last minute alone.
        """

    def replay(self, stream: str) -> Sequence[Shot]:
        """Return the pictures of the last half minute that somebody saw, oldest first.

        All are of one size, the largest that was asked for, without captions.
        """

    def placard(self, size: ShotSize, lines: Sequence[str]) -> bytes:
        """Return a JPEG of that size: lines of text on black, for a stream that shows nothing."""


@dataclass(frozen=True, slots=True)
class Exhibition:
    """What a server needs to show pictures.

    Attributes:
        gallery: Where they come from.
        fps: Pictures a second where nobody says it, and the most of a tile.
        groups: Named groups of streams, by their ids.
    """

    gallery: Gallery
    fps: float = 10.0
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
