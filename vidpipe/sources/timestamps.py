"""The time of each picture: the container's where it says one, else the best that can be had.

Pure policy of one stream's pictures in the order in which they leave the decoder.
"""

from __future__ import annotations

from fractions import Fraction

_SMALL_DISORDER = 10
"""Pictures by which a timestamp may step back and still be taken for disorder, not for a jump."""


class Timeline:
    """Turns the timestamps of one stream's pictures into seconds; one thread.

    A picture without a presentation time has its decoding time, as FFmpeg's "best effort" has it;
    a picture without any continues from the one before it. Where presentation times run backwards
    by a few pictures (AVI with packed B-frames) they are not to be trusted, and a picture that
    would still not be later than the last is put half a frame after it, so that times increase. A
    larger jump is the container's own (a recording spliced together) and passes.

    Source of the choice between the two times: ``guess_correct_pts`` of FFmpeg's libavcodec.
    """

    def __init__(self, time_base: Fraction, rate_fps: float | None, start_s: float = 0.0) -> None:
        """Begin a stream.

        Args:
            time_base: Seconds a tick.
            rate_fps: The declared rate, for pictures that don't say how long they last.
            start_s: The time of a first picture that doesn't say its own.
        """
        self._numerator = time_base.numerator
        self._denominator = time_base.denominator
        self._frame_s = 1.0 / rate_fps if rate_fps else 0.04
        self._last_pts: int | None = None
        self._last_dts: int | None = None
        self._start_s = start_s
        self._faulty_pts = 0
        self._faulty_dts = 0
        self._last_s: float | None = None
        self._last_duration_s = self._frame_s

    def seconds(self, ticks: int) -> float:
        """Return ticks as seconds, rounded once."""
        return ticks * self._numerator / self._denominator

    def place(self, pts: int | None, dts: int | None, duration: int) -> tuple[float, float | None]:
        """Return a picture's time and duration in seconds.

        Args:
            pts: Its presentation time in ticks, or None.
            dts: The decoding time in ticks of the packet that it came with, or None.
            duration: In ticks; 0 where the container doesn't say.
        """
        ticks = self._best_effort(pts, dts)
        duration_s = self.seconds(duration) if duration > 0 else None
        if ticks is not None:
            at_s = self.seconds(ticks)
        elif self._last_s is not None:
            at_s = self._last_s + self._last_duration_s
        else:
            at_s = self._start_s
        step_s = duration_s or self._frame_s
        if self._last_s is not None and (
            self._last_s - _SMALL_DISORDER * step_s < at_s <= self._last_s
        ):
            at_s = self._last_s + step_s / 2
        self._last_s = at_s
        self._last_duration_s = step_s
        return at_s, duration_s

    def _best_effort(self, pts: int | None, dts: int | None) -> int | None:
        if dts is not None:
            self._faulty_dts += self._last_dts is not None and dts <= self._last_dts
            self._last_dts = dts
        elif pts is not None:
            self._last_dts = pts
        if pts is not None:
            self._faulty_pts += self._last_pts is not None and pts <= self._last_pts
            self._last_pts = pts
        elif dts is not None:
            self._last_pts = dts
        if pts is not None and (dts is None or self._faulty_pts <= self._faulty_dts):
            return pts
        return dts
