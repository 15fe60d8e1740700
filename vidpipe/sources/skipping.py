"""Which packets of a video are decoded at all: skipping is cheap, decoding is not. Pure policy.

A live stream begins with a key frame, so that no grey picture leaves the decoder; and where fewer
pictures are wanted than come, those that no other one needs are left out, or all but the key
frames. What is skipped is neither counted nor numbered: to whoever reads, the video has fewer
pictures.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from vidpipe.sources.decodeshare import Member

_KEY_WAIT_S = 15.0
"""After so long without a key frame a stream has none (it refreshes bit by bit): all is decoded."""

_INTERVALS = 3
"""Key frames are evenly spaced if so many intervals in a row are short enough."""

_TOLERANCE = 1.02


class DecodeMode(StrEnum):
    """What is decoded."""

    ALL = "all"
    """Every picture."""
    REFERENCE = "reference"
    """Those that others need; the decoder leaves out the rest."""
    KEY = "key"
    """Key frames alone."""
    AUTO = "auto"
    """The least that still gives the wanted rate; all, while somebody watches."""


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What is wanted of a video.

    Attributes:
        mode: What is decoded.
        rate_fps: With AUTO: the pictures a second that are wanted.
        is_watched: With AUTO: tells whether somebody watches just now, who then sees all pictures,
            from the next key frame on; None: nobody ever does. Called at every key frame.
        share: Its part of what can be decoded, of a stream that can't wait; None: all is decoded,
            however late.
    """

    mode: DecodeMode = DecodeMode.ALL
    rate_fps: float | None = None
    is_watched: Callable[[], bool] | None = field(default=None, compare=False)
    share: Member | None = field(default=None, compare=False)


class PacketGate:
    """Lets through the packets that are to be decoded, in the order of the stream; one thread.

    Attributes:
        mode: What is decoded now; never AUTO.
    """

    def __init__(self, plan: DecodePlan, *, awaits_key: bool) -> None:
        """Begin a stream; ``awaits_key``: nothing before its first key frame is let through."""
        self.mode = DecodeMode.ALL if plan.mode is DecodeMode.AUTO else plan.mode
        self._period_s = 1.0 / plan.rate_fps if plan.rate_fps else None
        self._is_auto = plan.mode is DecodeMode.AUTO and self._period_s is not None
        self._is_watched = plan.is_watched or _never
        self._awaits_key = awaits_key
        self._first_s: float | None = None
        self._key_s: float | None = None
        self._intervals_s: deque[float] = deque(maxlen=_INTERVALS)

    def admits(self, now_s: float, *, is_key: bool, is_corrupt: bool = False) -> bool:
        """Return True if the packet is to be decoded.

        Args:
            now_s: Its time, on any clock that runs evenly.
            is_key: It begins a group of pictures.
            is_corrupt: A part of it was lost on the way.
        """
        if self._first_s is None:
            self._first_s = now_s
        is_key = is_key and not is_corrupt
        if is_key:
            self._awaits_key = False
            self._choose(now_s)
            return True
        if self.mode is DecodeMode.KEY:
            return False
        if self._awaits_key and now_s - self._first_s < _KEY_WAIT_S:
            return False
        return not is_corrupt

    def _choose(self, now_s: float) -> None:
        """At a key frame: see whether key frames alone are enough."""
        if not self._is_auto or self._period_s is None:
            return
        if self._key_s is not None:
            interval_s = now_s - self._key_s
            if 0 < interval_s <= self._period_s * _TOLERANCE:
                self._intervals_s.append(interval_s)
            else:
                self._intervals_s.clear()
        self._key_s = now_s
        is_enough = len(self._intervals_s) == _INTERVALS and not self._is_watched()
        self.mode = DecodeMode.KEY if is_enough else DecodeMode.ALL


def _never() -> bool:
    return False
