"""Each picture's timestamp, going on over loops and reconnects. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vidpipe.sources.freshness import Freshness
from vidpipe.sources.liveclock import LiveClock
from vidpipe.types import Decoded, SourceInfo

ASSUMED_RATE_FPS = 25.0


@dataclass(frozen=True, slots=True)
class Stamp:
    """A picture's times.

    Attributes:
        pts_s: Its timestamp, or None where the source has none.
        media_s: The same; where there is none, as the number of pictures has it.
        captured_at: Monotonic seconds.
    """

    pts_s: float | None
    media_s: float
    captured_at: float


class Stamps:
    """The times of one connection's pictures, in the order of their arrival; one thread.

    Attributes:
        next_pts_s: Where the next connection goes on; None before the first picture.
        frame_s: How long a picture lasts, as far as the source says.
    """

    def __init__(self, info: SourceInfo, start_s: float | None, opened_at: float) -> None:
        """Begin a connection.

        Args:
            info: What the source says of itself.
            start_s: Where the connection before left off.
            opened_at: When the opening began, in monotonic seconds.
        """
        self.next_pts_s = start_s
        self.frame_s = 1.0 / (info.rate_fps or ASSUMED_RATE_FPS)
        self._is_live = info.is_live
        self._has_times = info.time_base is not None
        self._start_s = start_s or None
        self._shift_s: float | None = None
        self._clock = LiveClock(self._start_s)
        self._freshness = Freshness(opened_at)

    def pass_over(self, pictures: int) -> None:
        """So many pictures have come that weren't decoded, perhaps the last ones."""
        if self.next_pts_s is not None:
            self.next_pts_s += pictures * self.frame_s

    def stamp(self, decoded: Decoded, number: int, arrived_at: float) -> Stamp:
        """Return the times of the next picture, the stream's so manieth, that came just now."""
        pts_s = decoded.pts_s
        captured_at = arrived_at
        if self._is_live:
            if pts_s is not None or self._has_times:
                pts_s = self._clock.place(pts_s, arrived_at, decoded.duration_s or self.frame_s)
            captured_at = self._freshness.captured_at(pts_s, arrived_at)
        elif pts_s is not None and self._start_s is not None:
            if self._shift_s is None:
                # pictures may have been passed over before this one
                self._shift_s = (self.next_pts_s or self._start_s) - pts_s
            pts_s += self._shift_s
        media_s = number * self.frame_s if pts_s is None else pts_s
        self.next_pts_s = media_s + (decoded.duration_s or self.frame_s)
        return Stamp(pts_s, media_s, captured_at)


def wall_time(info: SourceInfo, pts_s: float | None) -> datetime | None:
    """Return when a frame arrived (live) or was recorded (a file that says it), in UTC."""
    if info.is_live:
        return datetime.now(UTC)
    if info.recorded_at is None or pts_s is None:
        return None
    try:
        return info.recorded_at + timedelta(seconds=pts_s)
    except OverflowError:
        return None  # a damaged timestamp, thousands of years away
