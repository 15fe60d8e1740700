"""How much of all streams this machine can decode, learnt from those that come late. Pure policy.

Left to themselves, streams that happen to be early would go on decoding everything, and the others
next to nothing. So no more of them decode at once than there is time for, group of pictures by
group of pictures: those first that have had the fewest answers for their weight.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from vidpipe.interfaces import Clock

_LESS_IF_HOPELESS = 0.7
_LESS_IF_STRAINED = 0.9
_MORE = 1.02
_LEAST = 0.1
_SETTLING_S = 2.0
"""After less was taken on it takes so long until lateness tells anything again."""
_CALM_S = 1.0
"""After so long without a late stream a little more is tried."""

_STRAINED_S = 0.1
"""Where a part is left out already, streams that lag so far say that it is too small a part: the
model, which is there for all of them, finds no time between so many decoders."""

_HALF_LIFE_S = 120.0
"""Answers that are so old count half."""

_GONE_S = 20.0
"""Who hasn't come to a key frame for so long has no part in what the others get."""

_SLACK_S = 0.1
"""Groups that meet within so short a time don't overlap."""

_GOLDEN = 0.618034
"""Multiples of it, without their whole part, lie evenly between 0 and 1, however many they are."""


class DecodeShare:
    """One for all streams of a process; any thread."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """Begin with everything."""
        self.clock = clock
        self._lock = threading.Lock()
        self._level = 1.0
        self._late_at = self._less_at = self._more_at = clock()
        self._members: set[Member] = set()
        self._asked = 0

    def join(self, answered: Callable[[], float], rivals: Hashable = None) -> Member:
        """Return a new member.

        Args:
            answered: How many answers it has had so far, divided by its weight.
            rivals: The same for all that ask the same model.
        """
        member = Member(self, answered, rivals)
        with self._lock:
            self._members.add(member)
        return member

    def level(self) -> float:
        """Return which part of the streams may decode at once now, up to 1."""
        with self._lock:
            now_s = self.clock()
            if self._level < 1.0 and now_s - max(self._late_at, self._more_at) >= _CALM_S:
                self._level = min(1.0, self._level * _MORE)
                self._more_at = now_s
            return self._level

    def note_late(self) -> None:
        """A stream is late beyond hope, since it can't be decoded in time."""
        self._take(_LESS_IF_HOPELESS)

    def note_lag(self, seconds: float) -> None:
        """A stream's newest picture is so late, since it had to wait for its turn."""
        if seconds > _STRAINED_S and self._level < 1.0:
            self._take(_LESS_IF_STRAINED)

    def admits(self, member: Member) -> bool:
        """Tell whether there is time to decode a member's group of pictures that begins now.

        There is if fewer streams than may be at it at once are at it, or more in need.
        """
        level, now_s = self.level(), self.clock()
        with self._lock:
            member.asked_at = now_s
            self._members.add(member)
            self._members = {one for one in self._members if one.asked_at >= now_s - _GONE_S}
            leads = self._leads(now_s)
            self._asked += 1
            places = level * len(self._members) + (self._asked * _GOLDEN) % 1.0
            before = sum(
                one.busy_until > now_s or leads[one] < leads[member]
                for one in self._members
                if one is not member
            )
            return level == 1.0 or before + 1 <= places

    def _leads(self, now_s: float) -> dict[Member, float]:
        """Return what each has had lately, as a part of what its rivals have had on average."""
        leads = {}
        for rivals in {one.rivals for one in self._members}:
            recent = {one: one.recent(now_s) for one in self._members if one.rivals == rivals}
            known = [answers for answers in recent.values() if answers is not None]
            mean = sum(known) / len(known) if known else 0.0
            for one, answers in recent.items():
                if answers is None:  # it begins level with the others
                    one.begin_with(mean)
                leads[one] = answers / mean if answers is not None and mean > 0 else 1.0
        return leads

    def _take(self, part: float) -> None:
        with self._lock:
            self._late_at = self.clock()
            if self._late_at - self._less_at >= _SETTLING_S:
                # one alone is late whatever its share, and leaps by itself
                least = max(_LEAST, 1.0 / max(1, len(self._members)))
                self._level = max(least, self._level * part)
                self._less_at = self._late_at


class Member:
    """A stream's part, asked for at its key frames; one thread, but for what the others look at.

    Attributes:
        common: What it is a part of.
        rivals: The same for all that ask the same model.
        asked_at: When it last asked.
        busy_until: When the group that it decodes, or decoded last, is about over.
        interval_s: How long its groups are, as far as known.
    """

    def __init__(
        self, common: DecodeShare, answered: Callable[[], float], rivals: Hashable
    ) -> None:
        """Begin with no past."""
        self.common = common
        self.rivals = rivals
        self.asked_at = common.clock()
        self.busy_until = 0.0
        self.interval_s: float | None = None
        self._recent: float | None = None
        self._answered = answered
        self._counted, self._counted_at = answered(), common.clock()

    def decodes(self, interval_s: float, *, must: bool = False) -> bool:
        """At a key frame: tell whether the group of pictures that it begins is decoded.

        Args:
            interval_s: How long it is.
            must: It is, in any case.
        """
        if not self.common.admits(self) and not must:
            return False
        self.busy_until = self.common.clock() + interval_s - _SLACK_S
        return True

    def recent(self, now_s: float) -> float | None:
        """Return its answers by weight, the older ones counting less; None: not known yet."""
        answered = self._answered()
        if self._recent is not None:
            faded = 0.5 ** ((now_s - self._counted_at) / _HALF_LIFE_S)
            self._recent = self._recent * faded + answered - self._counted
        self._counted, self._counted_at = answered, now_s
        return self._recent

    def begin_with(self, recent: float) -> None:
        """Take so many answers for its own."""
        self._recent = recent
