"""When something seen, or a camera's state, is an event: policy without threads or clocks.

A detection is an event when its class wasn't seen in its stream for ``quiet_s``. That time is the
source's: of a recording its timestamps, so that the same file makes the same events however fast it
is read; of a live source the frames' arrival.

Each object here serves one stream and one thread at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from vidpipe.events import Event, EventKind
from vidpipe.types import CaptureReport, Frame, FrameResult, StreamState, Verdict

_ASSUMED_RATE_FPS = 25.0
_ROUNDING_S = 1e-6
"""Timestamps are sums of fractions: 0.08 - 0.04 is a little less than 0.04."""
_DOWN = {StreamState.BACKING_OFF, StreamState.FAILED}
_UNCLEAR = {"connecting", "stalled"}
"""States that may end well: a camera that is down is told as such a moment later."""


def new_id() -> str:
    """Return an id that no other event has."""
    return str(uuid.uuid4())


def utc_now() -> datetime:
    """Return the wall clock's time, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class EventPolicy:
    """Which detections are events.

    Attributes:
        quiet_s: A class that wasn't seen for so long is news again; 0: in every frame.
        classes: The classes that count; None for all.
    """

    quiet_s: float = 30.0
    classes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Scribe:
    """Writes the events of one stream; may be used from any thread.

    Attributes:
        stream: The stream's id.
        name: What people call it.
        make_id: Makes ids.
        now: Tells the time.
    """

    stream: str
    name: str
    make_id: Callable[[], str] = new_id
    now: Callable[[], datetime] = utc_now

    def note(self, kind: EventKind, detail: str = "") -> Event:
        """Return an event that no frame belongs to."""
        return Event(self.make_id(), self.now(), kind, self.stream, self.name, detail=detail)

    def detection(self, result: FrameResult, index: int) -> Event:
        """Return the event of one object of a result."""
        frame, found = result.frame, result.detections
        x1, y1, x2, y2 = (float(side) for side in found.boxes_xyxy[index])
        return Event(
            id=self.make_id(),
            time=frame.time or self.now(),
            kind=EventKind.DETECTION,
            stream=self.stream,
            name=self.name,
            label=found.labels[index],
            score=float(found.scores[index]),
            box_xyxy=(x1, y1, x2, y2),
            size_wh=frame.size_wh,
            frame=frame.number,
            pts_s=frame.pts_s,
        )


class DetectionWatch:
    """Finds the detections that are events, in one stream's results as they come in order."""

    def __init__(self, policy: EventPolicy, scribe: Scribe) -> None:
        """Begin with nothing seen."""
        self._policy = policy
        self._scribe = scribe
        self._seen_at: dict[str, float] = {}

    def see(self, result: FrameResult) -> list[Event]:
        """Return the events of a result, by falling score: at most one a class.

        Passed and failed frames say nothing: neither that a class is there, nor that it isn't.
        """
        if result.verdict is not Verdict.DETECTED or not len(result.detections):
            return []
        now_s = _media_s(result.frame)
        # The first of a label is the surest one.
        first: dict[str, int] = {}
        for index, label in enumerate(result.detections.labels):
            if self._policy.classes is None or label in self._policy.classes:
                first.setdefault(label, index)
        news = [index for label, index in first.items() if self._is_news(label, now_s)]
        self._seen_at |= dict.fromkeys(first, now_s)
        return [self._scribe.detection(result, index) for index in news]

    def _is_news(self, label: str, now_s: float) -> bool:
        last_s = self._seen_at.get(label)
        return last_s is None or now_s - last_s >= self._policy.quiet_s - _ROUNDING_S


def _media_s(frame: Frame) -> float:
    """Return the seconds by which the quiet is measured."""
    if frame.source.is_live:
        return frame.captured_at
    if frame.pts_s is not None:
        return frame.pts_s
    return frame.number / (frame.source.rate_fps or _ASSUMED_RATE_FPS)


@dataclass(slots=True)
class CameraWatch:
    """Finds out when a live source comes up or goes down, from what its capture reports."""

    scribe: Scribe
    _is_up: bool | None = field(default=None, init=False)
    """None while it isn't known, or nobody wants to know: at the start, disabled, ended."""

    def look(self, report: CaptureReport) -> Event | None:
        """Return the event of a change since the last look, if there was one.

        What ends by itself or by the user's wish isn't down.
        """
        is_up = self._reading(report)
        if is_up == self._is_up:
            return None
        self._is_up = is_up
        if is_up is None:
            return None
        if is_up:
            return self.scribe.note(EventKind.CAMERA_UP)
        detail = report.error or report.detail or "no pictures"
        return self.scribe.note(EventKind.CAMERA_DOWN, detail)

    def _reading(self, report: CaptureReport) -> bool | None:
        state = report.state
        if state is StreamState.LIVE:
            return True
        if state in _DOWN:
            return False
        if state.value in _UNCLEAR:
            # A camera that was up and is being opened anew has been lost in between.
            is_lost = self._is_up and state is StreamState.CONNECTING and report.error is not None
            return False if is_lost else self._is_up
        return None
