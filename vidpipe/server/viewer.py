"""What one page of the wall is to be sent: what comes next, and no more than that.

Texts go before pictures, and of each kind only the newest waits; pictures go by credit; those of a
replay take turns with live ones. Nothing here waits or sends: the page's connection does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from vidpipe.server.credit import Credit
from vidpipe.server.relay import Parcel
from vidpipe.server.wallwords import encoded, packed_shot
from vidpipe.server.websocket import frame_from_message
from vidpipe.shots import Shot

Text: TypeAlias = Callable[[], str]
"""Writes a message when its turn has come."""


class Outbasket:
    """One page's; for the server's loop alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin empty; ``clock``: monotonic seconds."""
        self.credit: Credit[Parcel] = Credit()
        self._clock = clock
        self._texts: dict[str, Text] = {}
        self._replay: deque[Shot] = deque()
        self._is_replays_turn = False

    def put_text(self, kind: str, text: Text) -> None:
        """Leave a message; one of the same kind that still waits gives way, and its place."""
        self._texts[kind] = text

    def put_parcel(self, parcel: Parcel) -> bool:
        """Leave a picture; return False if no tile has a use for it now."""
        shot = parcel.shot
        return self.credit.offer(shot.stream, shot.seq, shot.captured_at, parcel)

    def put_replay(self, stream: str, shots: Iterable[Shot]) -> None:
        """Leave the pictures of a replay, in place of one that is under way."""
        self._replay = deque(shots)
        count = len(self._replay)
        opening = {"type": "replay", "stream": stream, "count": count}
        self.put_text("replay", lambda: encoded(opening))

    def take(self) -> bytes | None:
        """Return the frame that is to be sent now, or None."""
        if self._texts:
            kind = next(iter(self._texts))
            return frame_from_message(self._texts.pop(kind)())
        if self._replay and self._is_replays_turn:
            return self._next_of_replay()
        parcel = self.credit.take(self._clock())
        if parcel is not None:
            self._is_replays_turn = True
            return parcel.frame()
        return self._next_of_replay() if self._replay else None

    def _next_of_replay(self) -> bytes:
        self._is_replays_turn = False
        shot = self._replay.popleft()
        message = packed_shot(shot, age_s=self._clock() - shot.captured_at, is_replay=True)
        return frame_from_message(message)
