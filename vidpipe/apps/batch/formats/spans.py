"""A recording of any length as a few hundred spans of time: what was there, and the best moment.

Nobody knows how long the results are until they have been read, and they are read once: the spans
begin short, and whenever there are too many of them, each two become one. Pure, and of bounded
memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from vidpipe.apps.batch.formats.lines import Found, ResultLine

MOST_SPANS = 160
_FIRST_WIDTH = 0.5
_MOST_BOXES = 100
"""Of a moment that is kept to be drawn; more would hide the picture."""

_MOST_LABELS = 64
OTHERS = "(others)"
"""What labels beyond the first 64 are counted as in the course of time."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame that may be worth a look.

    Attributes:
        at: Its place on the recording's clock: seconds, or frames where it has no times.
        frame: Its number.
        pts_s: Its time, or None.
        counts: How many objects of each class are in it.
        weight: The sum of their scores: of two equal counts the surer one wins.
        found: The surest objects, to be drawn.
        size_wh: Of the frame in pixels, or None where it isn't known.
    """

    at: float
    frame: int
    pts_s: float | None
    counts: Mapping[str, int]
    weight: float
    found: tuple[Found, ...]
    size_wh: tuple[int, int] | None

    @property
    def total(self) -> int:
        """How many objects are in it."""
        return sum(self.counts.values())

    @property
    def rank(self) -> tuple[int, float]:
        """More is busier."""
        return self.total, self.weight


def moment_of(line: ResultLine, at: float) -> Moment:
    """Return a line as a moment."""
    size_wh = None if line.width is None or line.height is None else (line.width, line.height)
    return Moment(
        at,
        line.frame,
        line.pts_s,
        dict(Counter(found.label for found in line.found)),
        round(sum(found.score for found in line.found), 4),
        line.found[:_MOST_BOXES],
        size_wh,
    )


@dataclass(slots=True)
class Span:
    """A stretch of a recording.

    Attributes:
        frames: How many frames of it were analysed.
        sums: Objects of each class, over all its frames.
        most: How many there were in one frame at most.
        busiest: Its busiest frame, the first of equals.
    """

    frames: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    most: int = 0
    busiest: Moment | None = None

    def add(self, moment: Moment, counts: Mapping[str, int]) -> None:
        """Count one frame."""
        self.frames += 1
        for label, count in counts.items():
            self.sums[label] = self.sums.get(label, 0) + count
        self.most = max(self.most, moment.total)
        if self.busiest is None or moment.rank > self.busiest.rank:
            self.busiest = moment

    def join(self, later: Span) -> None:
        """Take in the span that follows."""
        self.frames += later.frames
        for label, count in later.sums.items():
            self.sums[label] = self.sums.get(label, 0) + count
        self.most = max(self.most, later.most)
        if later.busiest is not None and (
            self.busiest is None or later.busiest.rank > self.busiest.rank
        ):
            self.busiest = later.busiest


class Course:
    """The spans of one recording, from its first frame on.

    Attributes:
        spans: In their order; some may be empty.
        width: How long each one is, on the recording's clock.
        start: Where the first one begins.
    """

    def __init__(self) -> None:
        """Begin without a frame."""
        self.spans: list[Span] = []
        self.width = _FIRST_WIDTH
        self.start = 0.0
        self._labels: set[str] = set()

    def add(self, moment: Moment) -> None:
        """Count a frame; one that lies before the first counts as at the beginning."""
        if not self.spans:
            self.start = moment.at
        while (index := int(max(0.0, moment.at - self.start) / self.width)) >= MOST_SPANS:
            self._halve()
        while len(self.spans) <= index:
            self.spans.append(Span())
        self.spans[index].add(moment, self._known(moment.counts))

    def _halve(self) -> None:
        self.width *= 2
        for first, second in zip(self.spans[::2], self.spans[1::2], strict=False):
            first.join(second)
        self.spans = self.spans[::2]

    def _known(self, counts: Mapping[str, int]) -> Mapping[str, int]:
        """Return the counts with labels beyond the first ones taken together."""
        for label in counts:
            if label not in self._labels and len(self._labels) < _MOST_LABELS:
                self._labels.add(label)
        if self._labels.issuperset(counts):
            return counts
        together: Counter[str] = Counter()
        for label, count in counts.items():
            together[label if label in self._labels else OTHERS] += count
        return together
