"""Leaping over what has become too late to be decoded, from key frame to key frame. Pure policy.

Pictures between two key frames stand on one another: where one of them is left out, all that
follow up to the next key frame are.
"""

from __future__ import annotations

from vidpipe.sources.decodeshare import Member

_LONGEST_S = 8.0
"""A file whose key frames are further apart is played slower rather than from one to the next."""

_LONGEST_LIVE_S = 30.0
"""A camera can't be slowed down: its pictures would only grow older."""

_LONGEST_REST_S = 16.0
"""No stream that others are to be decoded before rests for longer."""

_LOST_S = 2 * (_LONGEST_LIVE_S + _LONGEST_REST_S)
"""Timestamps that are further from the last ones have begun anew."""


class Leap:
    """Which packets of one connection are left out, told packet by packet; one thread."""

    def __init__(self, share: Member | None, *, is_live: bool = True) -> None:
        """Begin with nothing to leave out.

        Args:
            share: Its part of what can be decoded; None: all of it, unless a leap is begun.
            is_live: Packets come in their own time, and the first group of pictures is decoded
                in any case.
        """
        self._share = share
        self._is_live = is_live
        self._longest_s = _LONGEST_LIVE_S if is_live else _LONGEST_S
        self._key_s: float | None = None
        # A file that is played over and over has its key frames where they were.
        self._interval_s = share.interval_s if share is not None and not is_live else None
        self._decoded_s = 0.0
        self._until_s: float | None = None

    def begin(self, seconds: float) -> bool:
        """Leave out what comes before the first key frame so far on.

        Returns:
            False: key frames are too rare, or not known yet; nothing is left out.
        """
        if self._share is not None:
            self._share.common.note_late()
        if not self._has_keys:
            return False
        self._until_s = self._decoded_s + seconds
        return True

    @property
    def apart_s(self) -> float:
        """How much later it is played than others."""
        return self._share.apart_s if self._share is not None else 0.0

    def note_lag(self, seconds: float) -> None:
        """Tell how late the newest picture is."""
        if self._share is not None:
            self._share.common.note_lag(seconds)

    def holds(self, at_s: float, *, is_key: bool) -> bool:
        """Return True where a leap over a part of a file ends, which takes the time of that part.

        A file's packets are all there at once, and whether there is time for the next ones is to be
        asked when they are due.
        """
        return not self._is_live and is_key and self._has_landed(at_s)

    def passes_over(self, at_s: float, *, is_key: bool) -> bool:
        """Return True if the next packet is left out.

        Args:
            at_s: Its time, in the order of decoding.
            is_key: It begins a group of pictures.
        """
        is_first = self._key_s is None
        if is_key:
            if self._key_s is not None:
                self._interval_s = at_s - self._key_s
            self._key_s = at_s
        if self._until_s is not None:
            is_lost = not -1.0 < at_s - self._decoded_s < _LOST_S
            if not is_key or not (self._has_landed(at_s) or is_lost):
                return True
            self._until_s = None
        if self._leaves_out(at_s, is_key=is_key):
            self._until_s = at_s
            if not is_first:  # whoever opens a file wants to see one picture of it
                return True
        self._decoded_s = at_s
        return False

    def end_group(self) -> None:
        """Nothing more of this group of pictures is decoded, in any case."""
        if self._share is not None:
            self._share.rest()

    def _has_landed(self, at_s: float) -> bool:
        """At a key frame: tell whether it is where a leap ends."""
        return self._until_s is not None and at_s >= self._until_s

    @property
    def _has_keys(self) -> bool:
        return self._interval_s is not None and 0.0 < self._interval_s <= self._longest_s

    def _leaves_out(self, at_s: float, *, is_key: bool) -> bool:
        """Tell whether there is no time for a packet and what follows up to a key frame."""
        if self._share is None or not self._has_keys or self._interval_s is None:
            return False
        if self._key_s is None:  # cut out of something longer: it hasn't begun yet
            return False
        if not is_key:
            return not self._share.goes_on()
        self._share.interval_s = self._interval_s
        is_long = at_s - self._decoded_s + self._interval_s > _LONGEST_REST_S
        return not self._share.begins(must=is_long)
