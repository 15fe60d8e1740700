"""Which moments of a recording are worth a look: pure, and the same for the same results.

For a sheet: the first time that each class appears, the busiest moments, those in which something
changes, and the rest evenly between them. For a report: the busiest ones. No two of them lie close
together, unless the recording is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vidpipe.apps.batch.formats.digest import Digest
from vidpipe.apps.batch.formats.spans import Moment

_GAP = 0.5
"""Of the even distance between so many moments: chosen ones keep at least this far apart."""

_NEARLY_BUSIEST = 0.6
"""Of the highest count: what is called busy beside the busiest moment itself."""


@dataclass(frozen=True, slots=True)
class KeyMoment:
    """A chosen moment.

    Attributes:
        moment: The frame.
        why: Why it was chosen, in a few words.
    """

    moment: Moment
    why: str


def key_moments(digest: Digest, count: int) -> list[KeyMoment]:
    """Return at most so many moments of a file, in their order; each frame once."""
    candidates = digest.moments
    chosen = _Choice(digest, count)
    quota = max(1, count // 3)
    for label, moment in _by_time(digest.firsts)[:quota]:
        chosen.take(moment, f"first {label}")
    chosen.fill(_busy(candidates, digest.most), "busiest", quota)
    chosen.fill(_changed(candidates), "change", quota)
    chosen.spread(candidates)
    return chosen.in_order()


def busiest_moments(digest: Digest, count: int) -> list[KeyMoment]:
    """Return the frames with the most objects, in their order; others only where there are none."""
    chosen = _Choice(digest, count)
    busy = sorted(digest.moments, key=_rank, reverse=True)
    chosen.fill([moment for moment in busy if moment.total], "busiest", count)
    if not chosen.reasons:
        chosen.spread(digest.moments)
    return chosen.in_order()


class _Choice:
    """What has been chosen so far."""

    def __init__(self, digest: Digest, count: int) -> None:
        self.reasons: dict[int, list[str]] = {}
        self._moments: dict[int, Moment] = {}
        self._count = count
        self._gap = _GAP * (digest.end - digest.start) / max(1, count)

    def take(self, moment: Moment, why: str) -> None:
        """Choose a moment; one that is chosen already has one reason more."""
        if moment.frame in self.reasons:
            self.reasons[moment.frame].append(why)
        elif len(self._moments) < self._count:
            self._moments[moment.frame] = moment
            self.reasons[moment.frame] = [why]

    def fill(self, moments: Iterable[Moment], why: str, most: int) -> None:
        """Choose the first of some moments that lie apart from all others."""
        for moment in moments:
            if most <= 0:
                return
            if moment.frame in self.reasons or self._distance(moment) >= self._gap:
                self.take(moment, why)
            else:
                continue
            most -= 1

    def spread(self, moments: Sequence[Moment]) -> None:
        """Fill what is left, each time with the moment that lies furthest from all others."""
        left = [moment for moment in moments if moment.frame not in self.reasons]
        while left and len(self._moments) < self._count:
            furthest = max(left, key=self._distance) if self._moments else left[0]
            if self._moments and self._distance(furthest) < self._gap:
                return
            self.take(furthest, "")
            left.remove(furthest)

    def in_order(self) -> list[KeyMoment]:
        """Return what was chosen."""
        return [
            KeyMoment(self._moments[frame], _sentence(self.reasons[frame]))
            for frame in sorted(self._moments)
        ]

    def _distance(self, moment: Moment) -> float:
        return min(
            (abs(moment.at - other.at) for other in self._moments.values()), default=float("inf")
        )


def _sentence(reasons: Sequence[str]) -> str:
    """Join reasons: several first ones share their word."""
    firsts = [why.removeprefix("first ") for why in reasons if why.startswith("first ")]
    others = dict.fromkeys(why for why in reasons if why and not why.startswith("first "))
    return ", ".join([*(["first " + ", ".join(firsts)] if firsts else []), *others])


def _by_time(firsts: Mapping[str, Moment]) -> list[tuple[str, Moment]]:
    return sorted(firsts.items(), key=lambda item: (item[1].at, item[0]))


def _busy(moments: Sequence[Moment], most: int) -> list[Moment]:
    """Return the busiest moments: the first of all, and what is hardly less and above the mean."""
    ranked = sorted((moment for moment in moments if moment.total), key=_rank, reverse=True)
    mean = sum(moment.total for moment in ranked) / max(1, len(ranked))
    return ranked[:1] + [
        moment
        for moment in ranked[1:]
        if moment.total > mean and moment.total >= _NEARLY_BUSIEST * most
    ]


def _rank(moment: Moment) -> tuple[int, float]:
    return moment.rank


def _changed(moments: Sequence[Moment]) -> list[Moment]:
    """Return the moments that differ from the one before, the most different first."""
    changes = [
        (_difference(before.counts, after.counts), after) for before, after in pairwise(moments)
    ]
    changed = sorted((c for c in changes if c[0]), key=lambda change: -change[0])
    return [moment for _, moment in changed]


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    return sum(abs(before.get(label, 0) - after.get(label, 0)) for label in {*before, *after})
