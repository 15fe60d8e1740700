"""Leaping over what has become too late to be decoded, from key frame to key frame. Pure policy.

What lies between two key frames can be left out whole, and nothing else: pictures there stand on
one another.
"""

from __future__ import annotations

from vidpipe.sources.decodeshare import DecodeShare

_LONGEST_S = 8.0
"""Nothing longer is left out at a stretch; where key frames are rarer, none is waited for."""

_LOST_S = 2 * _LONGEST_S
"""Timestamps that are further from the last ones have begun anew."""


class Leap:
    """Which packets of one connection are left out, told packet by packet; one thread."""

    def __init__(self, share: DecodeShare | None) -> None:
        """Begin with nothing to leave out; ``share``: None: nothing is, unless it is told."""
        self._share = share
        self._credit = share.phase() if share is not None else 0.0
        self._key_s: float | None = None
        self._interval_s: float | None = None
        self._decoded_s = 0.0
        self._until_s: float | None = None

    def begin(self, seconds: float) -> bool:
        """Leave out what comes before the first key frame so far on.

        Returns:
            False: key frames are too rare, or not known yet; nothing is left out.
        """
        if self._share is not None:
            self._share.note_late()
        if not self._has_keys:
            return False
        self._until_s = self._decoded_s + seconds
        return True

    def passes_over(self, at_s: float, *, is_key: bool) -> bool:
        """Return True if the next packet is left out.

        Args:
            at_s: Its time, in the order of decoding.
            is_key: It begins a group of pictures.
        """
        if is_key:
            self._interval_s = None if self._key_s is None else at_s - self._key_s
            self._key_s = at_s
        if self._until_s is not None:
            has_landed = is_key and at_s >= self._until_s
            is_lost = not -1.0 < at_s - self._decoded_s < _LOST_S
            if not has_landed and not is_lost:
                return True
            self._until_s = None
        if is_key and self._leaves_out(at_s):
            self._until_s = at_s
            return True
        self._decoded_s = at_s
        return False

    @property
    def _has_keys(self) -> bool:
        return self._interval_s is not None and 0.0 < self._interval_s <= _LONGEST_S

    def _leaves_out(self, at_s: float) -> bool:
        """At a key frame: tell whether its group is one of those that there is no time for."""
        if self._share is None or not self._has_keys or self._interval_s is None:
            return False
        self._credit += self._share.share()
        is_long = at_s - self._decoded_s + self._interval_s > _LONGEST_S
        if self._credit < 1.0 and not is_long:
            return True
        self._credit = max(0.0, self._credit - 1.0)
        return False
