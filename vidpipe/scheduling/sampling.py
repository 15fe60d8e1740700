"""Which frames of a stream the model is asked about (``detect_fps``). Pure policy."""

from __future__ import annotations

from vidpipe.types import Frame

_TOLERANCE_S = 0.0005
"""Half a millisecond: timestamps in milliseconds are rounded."""

_ASSUMED_RATE_FPS = 25.0


class DetectRate:
    """Picks frames at a rate, by the stream's own time: the same frames in every run of a file.

    A recorded frame's time is its timestamp, a live one's its arrival.
    """

    def __init__(self, rate_fps: float | None) -> None:
        """Pick so many frames a second, or all of them."""
        self._period_s = 1.0 / rate_fps if rate_fps else None
        self._due_s: float | None = None

    def is_due(self, frame: Frame) -> bool:
        """Say whether the model is to be asked about the frame; call once a frame, in order."""
        if self._period_s is None:
            return True
        now_s = _time_s(frame)
        if self._due_s is None or now_s < self._due_s - 2 * self._period_s:
            self._due_s = now_s  # the first frame, or a clock that was set back
        if now_s < self._due_s - _TOLERANCE_S:
            return False
        # Keep the beat, so that the rate holds on average; after a gap begin anew.
        self._due_s += self._period_s
        if self._due_s <= now_s - self._period_s:
            self._due_s = now_s + self._period_s
        return True


def _time_s(frame: Frame) -> float:
    if frame.source.is_live:
        return frame.captured_at
    if frame.pts_s is not None:
        return frame.pts_s
    return frame.number / (frame.source.rate_fps or _ASSUMED_RATE_FPS)
