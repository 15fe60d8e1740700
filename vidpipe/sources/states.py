"""The states of one stream's source: which may follow which, each with its time and its cause.

Pure but for a lock: the capture moves it, and any thread may ask.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from vidpipe.errors import SourceCause, SourceError
from vidpipe.runtime.logs import redact
from vidpipe.types import CaptureReport, SourceInfo, StreamState

_S = StreamState

LEGAL_MOVES = {
    _S.CONNECTING: {_S.LIVE, _S.BACKING_OFF, _S.FAILED, _S.ENDED, _S.DISABLED},
    # A recording that is looped is opened again without having been down.
    _S.LIVE: {_S.STALLED, _S.CONNECTING, _S.BACKING_OFF, _S.FAILED, _S.ENDED, _S.DISABLED},
    _S.STALLED: {_S.LIVE, _S.BACKING_OFF, _S.FAILED, _S.ENDED, _S.DISABLED},
    _S.BACKING_OFF: {_S.CONNECTING, _S.ENDED, _S.DISABLED},
    _S.FAILED: {_S.CONNECTING, _S.ENDED, _S.DISABLED},
    _S.ENDED: {_S.CONNECTING, _S.DISABLED},
    _S.DISABLED: {_S.CONNECTING, _S.ENDED},
}
"""From each state to those that may follow it; to stay is always legal."""

_MOVES_KEPT = 32


class IllegalMoveError(RuntimeError):
    """A state that can't follow the one before it: a mistake in the program."""


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state: what to, when (aware UTC), why in words, and the kind of failure."""

    state: StreamState
    at: datetime
    detail: str
    cause: SourceCause | None


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SourceStates:
    """The state of one stream's source, and how it came to it; any thread."""

    def __init__(self, now: Callable[[], datetime] = _utc_now) -> None:
        """Begin as connecting; ``now`` tells aware UTC."""
        self._now = now
        self._lock = threading.Lock()
        at = now()
        self._report = CaptureReport(
            StreamState.CONNECTING, "", has_been_up=False, error=None, info=None, since=at
        )
        self._last_frame_at: float | None = None
        self._moves = deque([Move(StreamState.CONNECTING, at, "", None)], maxlen=_MOVES_KEPT)

    @property
    def state(self) -> StreamState:
        """The state now."""
        return self._report.state

    def report(self) -> CaptureReport:
        """Return how it stands."""
        return replace(self._report, last_frame_at=self._last_frame_at)

    def moves(self) -> tuple[Move, ...]:
        """Return the latest changes of state, the newest last."""
        with self._lock:
            return tuple(self._moves)

    def connect(self) -> None:
        """It is being opened; why it was down stays known until a frame comes."""
        self._move(StreamState.CONNECTING, "opening", is_error_kept=True)

    def come_up(self, info: SourceInfo, frame_at: float) -> None:
        """A frame has come, at so many monotonic seconds."""
        with self._lock:
            self._last_frame_at = frame_at
            if self._report.state is not StreamState.LIVE:
                self._enter(StreamState.LIVE, "", None)
            self._report = replace(
                self._report, detail="", has_been_up=True, error=None, cause=None, info=info
            )

    def note_frame(self, frame_at: float) -> None:
        """One more frame has come; the capture's thread alone, once it is live."""
        self._last_frame_at = frame_at

    def stall(self, detail: str) -> None:
        """Nothing has come for a while; of what isn't live this says nothing new."""
        with self._lock:
            if self._report.state is StreamState.LIVE:
                self._enter(StreamState.STALLED, detail, None)

    def freeze(self, detail: str) -> None:
        """It repeats itself; frames go on all the same."""
        with self._lock:
            self._report = replace(self._report, detail=detail, is_frozen=True)

    def thaw(self) -> None:
        """It has moved again."""
        with self._lock:
            self._report = replace(self._report, detail="", is_frozen=False)

    def rest(self, error: SourceError) -> None:
        """A live source is down, and will be opened again after a while."""
        self._fail(StreamState.BACKING_OFF, error)

    def fail(self, error: SourceError) -> None:
        """It can't be read: for good, or until somebody has put it right."""
        self._fail(StreamState.FAILED, error)

    def end(self, detail: str) -> None:
        """Nothing more will come; why a live source was down stays known."""
        self._move(StreamState.ENDED, detail, is_error_kept=True)

    def disable(self) -> None:
        """Nobody wants it for now."""
        self._move(StreamState.DISABLED, "disabled")

    def _fail(self, state: StreamState, error: SourceError) -> None:
        text = redact(str(error))
        with self._lock:
            self._enter(state, text, error.cause)
            self._report = replace(self._report, error=text, cause=error.cause, is_frozen=False)

    def _move(self, state: StreamState, detail: str, *, is_error_kept: bool = False) -> None:
        with self._lock:
            self._enter(state, detail, None)
            self._report = replace(self._report, is_frozen=False)
            if not is_error_kept:
                self._report = replace(self._report, error=None, cause=None)

    def _enter(self, state: StreamState, detail: str, cause: SourceCause | None) -> None:
        last = self._report
        since = last.since
        if state is not last.state:
            if state not in LEGAL_MOVES[last.state]:
                raise IllegalMoveError(f"{last.state} can't become {state}")
            since = self._now()
            self._moves.append(Move(state, since, redact(detail), cause))
        self._report = replace(last, state=state, detail=redact(detail), since=since)
