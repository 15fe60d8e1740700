"""When a recorded frame is due if the file is played as a camera would (``realtime``). Pure."""

from __future__ import annotations

_JUMP_S = 10.0
"""A gap in the timestamps longer than this is a cut in the recording, not a pause to be sat out."""


class Pacer:
    """Ties the container's clock to the monotonic one, from the first frame on."""

    def __init__(self) -> None:
        """Begin untied."""
        self._origin_s: float | None = None
        self._last_pts_s = 0.0
        self._has_leapt = False

    def early_s(self, pts_s: float, now_s: float) -> float:
        """Return how long it is until a moment of the container's clock; 0 if it is over."""
        return 0.0 if self._origin_s is None else max(0.0, self._origin_s + pts_s - now_s)

    def pass_over(self) -> None:
        """What comes next is further on than what came last, and is no cut for that."""
        self._has_leapt = True

    def put_off(self, seconds: float) -> None:
        """Let all that is still to come be due so much later."""
        if self._origin_s is not None:
            self._origin_s += seconds

    def wait_s(self, pts_s: float, now_s: float) -> float:
        """Return how long the frame has to wait; negative if it is late already."""
        is_cut = not (self._has_leapt or -1.0 < pts_s - self._last_pts_s < _JUMP_S)
        if self._origin_s is None or is_cut:
            self._origin_s = now_s - pts_s
        self._has_leapt = False
        self._last_pts_s = pts_s
        return self._origin_s + pts_s - now_s
