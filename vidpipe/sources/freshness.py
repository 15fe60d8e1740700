"""How old a live stream's first pictures are: what queued while it was opened is not fresh.

Pure policy of one connection.
"""

from __future__ import annotations

_BURST_SHARE = 0.5
"""Pictures that come in less than this share of their own distance were waiting already."""


class Freshness:
    """When each picture of a connection was captured, as far as it can be told; one thread.

    The first pictures of a connection come at once, having waited for somebody to read them. The
    first of them is taken to be as old as the connection, and the others to be as much younger as
    their timestamps say, until one comes in its own time. From then on arrival counts.
    """

    def __init__(self, opened_at: float) -> None:
        """Begin a connection whose opening began at so many monotonic seconds."""
        self._opened_at = opened_at
        self._first_pts_s: float | None = None
        self._last_pts_s = 0.0
        self._last_at = 0.0
        self._is_burst = True

    def captured_at(self, pts_s: float | None, arrived_at: float) -> float:
        """Return the monotonic seconds that count as the picture's capture.

        Args:
            pts_s: Its timestamp, or None.
            arrived_at: When it came.
        """
        if not self._is_burst:
            return arrived_at
        if pts_s is None:
            self._is_burst = False
            return arrived_at
        if self._first_pts_s is None:
            self._first_pts_s = pts_s
        elif arrived_at - self._last_at >= _BURST_SHARE * (pts_s - self._last_pts_s):
            self._is_burst = False
            return arrived_at
        self._last_pts_s, self._last_at = pts_s, arrived_at
        return min(arrived_at, self._opened_at + pts_s - self._first_pts_s)
