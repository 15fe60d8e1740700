"""How much of all streams this machine can decode, learnt from those that come late. Pure policy.

Left to themselves, streams that happen to be early would go on decoding everything, and the others
next to nothing. So no more of them decode at once than there is time for: those that have had the
fewest answers for their weight. One that is due begins at its key frame, in the place of one that
has had more, which leaves out the rest of its group of pictures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from vidpipe.interfaces import Clock
from vidpipe.sources.decodelevel import DecodeLevel

_STRAINED_S = 0.1
"""Where a part is left out already, streams that lag so far say that it is too small a part: the
model, which is there for all of them, finds no time between so many decoders."""

_HALF_LIFE_S = 600.0
"""Answers that are so old count half."""

_GONE_S = 60.0
"""Who hasn't come to a key frame for so long has no part in what the others get."""

_SILENCE_S = 2.0
"""Who hasn't decoded anything for so long has left its place."""

_LOOK_S = 0.1
"""How old what is known of all streams' answers may be: many ask at once."""

_ENOUGH = 0.7
"""With so many of the places taken the model has enough to do; the rest is for those who have had
less than the others."""

_APART_S = 2.0
"""Commonly there is a key frame in so long a time."""

_GOLDEN = 0.618034
"""Multiples of it, without their whole part, lie evenly between 0 and 1, however many they are."""


class DecodeShare:
    """One for all streams of a process; any thread."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        """Begin with everything."""
        self.clock = clock
        self._lock = threading.Lock()
        self._level = DecodeLevel(clock())
        self._members: set[Member] = set()
        self._joined = self._asked = 0
        self._leads_at = float("-inf")
        self._lead: dict[Member, float] = {}

    def join(
        self, answered: Callable[[], int], weight: float = 1.0, rivals: Hashable = None
    ) -> Member:
        """Return a new member.

        Args:
            answered: How many answers it has had so far.
            weight: What it is to have of them, beside others.
            rivals: The same for all that ask the same model.
        """
        with self._lock:
            self._joined += 1
            self._prune(self.clock())
            member = Member(self, self._joined, answered, weight, rivals)
            self._members.add(member)
            return member

    @property
    def count(self) -> int:
        """How many streams there are."""
        return len(self._members)

    def note_late(self) -> None:
        """A stream is late beyond hope, since it can't be decoded in time."""
        with self._lock:
            was_all = self._level.part == 1.0
            self._level.note_late(self.clock(), len(self._members))
            if was_all and self._level.part < 1.0:
                for one in self._members:  # who had more of what was enough for all owes nothing
                    one.forget()

    def note_lag(self, seconds: float) -> None:
        """A stream's newest picture is so late, since it had to wait for its turn."""
        if seconds > _STRAINED_S:
            self._level.note_strain(self.clock())

    def begins(self, member: Member) -> bool:
        """Tell whether there is time to decode a member's group of pictures that begins now."""
        with self._lock:
            level = self._level_now()
            member.asked_at = self.clock()
            if member not in self._members:  # it has been away
                self._members.add(member)
                member.forget()
            self._asked += 1
            # now one more, now one fewer
            return level == 1.0 or self._has_place(member, level, (self._asked * _GOLDEN) % 1.0)

    def goes_on(self, member: Member) -> bool:
        """Tell whether there is still time for the group that a member decodes."""
        if self._level.part == 1.0:  # at every packet: no lock
            return True
        with self._lock:
            level = self._level_now()
            return level == 1.0 or self._has_place(member, level, 0.5)

    def _level_now(self) -> float:
        now_s = self.clock()
        if self._level.is_due(now_s):
            decoded = sum(one.take_decoded() for one in self._members)
            answered = sum(one.take_answered() for one in self._members)
            self._level.adjust(now_s, len(self._members), decoded, answered)
        return self._level.part

    def _has_place(self, member: Member, level: float, spare: float) -> bool:
        """Tell whether, of those that decode and this one, it is among the worst off.

        Places are whole, and their part is not: with ``spare`` they are rounded down.
        """
        now_s = self.clock()
        leads = self._leads(now_s)
        lead = leads.get(member, 1.0)
        places = level * len(self._members)
        if lead >= 1.0:
            places = max(1.0, _ENOUGH * places)
        worse_off = sum(
            one.is_at_it(now_s) and (leads.get(one, 1.0), one.number) < (lead, member.number)
            for one in self._members
        )
        return worse_off + 1 <= places + spare

    def _prune(self, now_s: float) -> None:
        self._members = {one for one in self._members if one.asked_at >= now_s - _GONE_S}

    def _leads(self, now_s: float) -> dict[Member, float]:
        """Return what each has had lately, as a part of what its rivals have had on average."""
        if now_s - self._leads_at < _LOOK_S:
            return self._lead
        self._leads_at, self._lead = now_s, {}
        self._prune(now_s)
        for rivals in {one.rivals for one in self._members}:
            recent = {one: one.recent(now_s) for one in self._members if one.rivals == rivals}
            known = [answers for answers in recent.values() if answers is not None]
            mean = sum(known) / len(known) if known else 0.0
            for one, answers in recent.items():
                if answers is None:  # it begins level with the others
                    one.begin_with(mean)
                self._lead[one] = answers / mean if answers is not None and mean > 0 else 1.0
        return self._lead


class Member:
    """A stream's part, asked for packet by packet; one thread, but for what the others look at.

    Attributes:
        common: What it is a part of.
        number: Its own; among those that are as well off, the lower ones come first.
        rivals: The same for all that ask the same model.
        asked_at: When it last came to a key frame.
        interval_s: How far its key frames are apart, as far as known.
    """

    def __init__(
        self,
        common: DecodeShare,
        number: int,
        answered: Callable[[], int],
        weight: float,
        rivals: Hashable,
    ) -> None:
        """Begin with no past."""
        self.common = common
        self.number = number
        self.rivals = rivals
        self.asked_at = common.clock()
        self.interval_s: float | None = None
        self._decoded = 0
        self._decoded_at = float("-inf")
        self._recent: float | None = None
        self._answered = answered
        self._weight = weight
        self._counted = self._taken = answered()
        self._counted_at = common.clock()

    @property
    def apart_s(self) -> float:
        """How much later than others it is played, if it is a file; one alone is not late.

        Cameras don't begin together. Files that do have their key frames at the same moments, and
        nobody can take a place in between.
        """
        is_alone = self.common.count == 1
        return 0.0 if is_alone else _APART_S * ((self.number * _GOLDEN) % 1.0)

    def begins(self, *, must: bool = False) -> bool:
        """At a key frame: tell whether it is decoded, and what follows; ``must``: in any case."""
        return self._decodes(is_in=self.common.begins(self) or must)

    def goes_on(self) -> bool:
        """At another packet of a group that is decoded: tell whether it is, too.

        If not, nothing is up to the next key frame.
        """
        return self._decodes(is_in=self.common.goes_on(self))

    def rest(self) -> None:
        """Leave its place up to the next key frame."""
        self._decoded_at = float("-inf")

    def is_at_it(self, now_s: float) -> bool:
        """Tell whether it decodes a group of pictures."""
        return self._decoded_at > now_s - _SILENCE_S

    def take_decoded(self) -> int:
        """Return how many pictures it has decoded since the last time."""
        decoded, self._decoded = self._decoded, 0
        return decoded

    def take_answered(self) -> int:
        """Return how many answers it has had since the last time."""
        before, self._taken = self._taken, self._answered()
        return self._taken - before

    def _decodes(self, *, is_in: bool) -> bool:
        self._decoded += is_in
        self._decoded_at = self.common.clock() if is_in else float("-inf")
        return is_in

    def recent(self, now_s: float) -> float | None:
        """Return its answers by weight, the older ones counting less; None: not known yet."""
        answered = self._answered()
        if self._recent is not None:
            faded = 0.5 ** ((now_s - self._counted_at) / _HALF_LIFE_S)
            self._recent = self._recent * faded + (answered - self._counted) / self._weight
        self._counted, self._counted_at = answered, now_s
        return self._recent

    def forget(self) -> None:
        """Have no past again."""
        self._recent = None
        self.take_decoded()
        self.take_answered()

    def begin_with(self, recent: float) -> None:
        """Take so many answers for its own."""
        self._recent = recent
