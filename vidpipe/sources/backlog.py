"""Whether pictures pile up before the decoder faster than it can make them. Pure policy.

Where a machine can't decode all that comes, decoding every picture makes all of them late: of a
file that is played like a camera none would be in time, of a camera each would be older than the
one before, unseen, since it waited in the connection's buffers. So what waits is passed over,
undecoded, up to a key frame.
"""

from __future__ import annotations

from dataclasses import dataclass

_PATIENCE_S = 0.3
"""A burst behind a pause on the way comes late, too, but is decoded quicker than it is long."""

_CATCHING_UP = 0.5
"""Whoever makes up for so much of each second is not hopelessly late."""

_WAITING_SHARE = 0.3
"""Who waits for data so much of the time has none before it: the source's own clock is slow."""

_WAIT_S = 0.002
"""Whoever waits longer for data has no picture that waits."""

_JUMP_S = 64.0
"""A step in the timestamps that is longer begins a new time line; no leap is so long."""


@dataclass(frozen=True, slots=True)
class _Since:
    """When it began to be late, how late, and how long had been waited for data until then."""

    at_s: float
    late_s: float
    waited_s: float


class Backlog:
    """One connection's lateness, told picture by picture in the order of arrival; one thread.

    Punctual is who is as early as the earliest picture so far.

    Attributes:
        lag_s: How late the newest picture is since it had to wait for its turn: less than what it
            is late by if data had to be waited for since.
    """

    def __init__(self, limit_s: float) -> None:
        """Begin punctual; ``limit_s``: how late is not too late."""
        self._limit_s = limit_s
        self._line_s: float | None = None
        self._media_s = 0.0
        self._since: _Since | None = None
        self.lag_s = 0.0
        self._waited_s = 0.0
        self._waited_at_s = 0.0

    def note(self, media_s: float, now_s: float, waited_s: float) -> float:
        """Return how many seconds of the source are to be passed over, commonly 0.

        Args:
            media_s: The picture's timestamp.
            now_s: When it was there, on the monotonic clock.
            waited_s: How long data has been waited for so far, altogether.
        """
        offset_s = now_s - media_s
        if self._line_s is None or not -1.0 < media_s - self._media_s < _JUMP_S:
            self._line_s, self._since = offset_s, None
        self._media_s = media_s
        self._line_s = min(self._line_s, offset_s)
        late_s = offset_s - self._line_s
        if waited_s - self._waited_s > _WAIT_S:
            self._waited_at_s = now_s
        self._waited_s = waited_s
        self.lag_s = min(late_s, now_s - self._waited_at_s)
        if late_s <= self._limit_s:
            self._since = None
            return 0.0
        here = _Since(now_s, late_s, waited_s)
        since = self._since or here
        elapsed_s = now_s - since.at_s
        if elapsed_s < _PATIENCE_S:
            self._since = since
            return 0.0
        if waited_s - since.waited_s > _WAITING_SHARE * elapsed_s:
            self._line_s, self._since = offset_s, None
            return 0.0
        self._since = here
        is_catching_up = since.late_s - late_s > _CATCHING_UP * elapsed_s
        return 0.0 if is_catching_up else late_s
