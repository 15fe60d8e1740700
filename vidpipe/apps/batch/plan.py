"""Units of work: a file, or a part of one from key frame to key frame. Pure, and plain data.

A unit says all that is needed to do it anywhere: which packets to decode, which frames come out,
and what numbers they bear. So units can be planned in one place, done in others, and their results
put one after the other are those of the file in one piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from vidpipe.apps.batch.sampling import Sampling
from vidpipe.sources.keyframes import KeyFrame, KeyFrames, span_between
from vidpipe.sources.spans import Span

LONGEST_UNIT_S = 60.0
SHORTEST_UNIT_S = 10.0
"""Opening a file and seeking in it costs as much as some tens of frames."""

_PARTS_A_CORE = 4
"""So many units for each core, so that the last ones end at about the same time."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a file, or all of it.

    Attributes:
        number: Its place in the file, from 0.
        span: What is decoded.
        first_frame: The number of its first frame.
        frames: How many frames it has, whether they are wanted or not; None: as many as there are.
        before_s: The timestamp of the frame before its first; None for the file's beginning.
        start_s: Where it begins, for people; likewise ``end_s``, which may be None.
        end_s: Where it ends.
    """

    number: int = 0
    span: Span = field(default_factory=Span)
    first_frame: int = 0
    frames: int | None = None
    before_s: float | None = None
    start_s: float = 0.0
    end_s: float | None = None

    @property
    def is_whole(self) -> bool:
        """True if it is the whole file."""
        return self.span == Span()

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        span = self.span
        return {
            "number": self.number,
            "span": [span.start_ticks, span.end_ticks, span.packets],
            "first_frame": self.first_frame,
            "frames": self.frames,
            "before_s": self.before_s,
            "start_s": self.start_s,
            "end_s": self.end_s,
        }


def unit_from_document(document: Mapping[str, Any]) -> Unit:
    """Return the unit of a document; floats are exact in both directions."""
    return Unit(**{**document, "span": Span(*document["span"])})


def plan_units(
    found: KeyFrames, sampling: Sampling, *, cores: int, longest_s: float = LONGEST_UNIT_S
) -> tuple[Unit, ...]:
    """Divide a file; one unit for all of it where it can't be divided, or isn't worth it.

    Parts in which no frame is wanted are left out.

    Args:
        found: Its key frames.
        sampling: Which frames are wanted.
        cores: How many there are to work at it.
        longest_s: A part is about so long at most; but key frames may be further apart.
    """
    if found.reason or not found.keys:
        return (Unit(),)
    wanted_s = found.end_s / max(1, _PARTS_A_CORE * cores)
    step_s = min(longest_s, max(min(SHORTEST_UNIT_S, longest_s), wanted_s))
    chosen: list[KeyFrame] = []
    last_s = 0.0
    for key in found.keys:
        if key.seconds - last_s >= step_s:
            chosen.append(key)
            last_s = key.seconds
    if not chosen:
        return (Unit(),)
    bounds: Sequence[KeyFrame | None] = (None, *chosen, None)
    units: list[Unit] = []
    for start, end in pairwise(bounds):
        if _is_wanted(start, end, sampling):
            units.append(_unit(len(units), start, end, found))
    return tuple(units)


def _is_wanted(start: KeyFrame | None, end: KeyFrame | None, sampling: Sampling) -> bool:
    if end is not None and sampling.start_s is not None and end.seconds <= sampling.start_s:
        return False
    return start is None or not sampling.is_over(start.seconds)


def _unit(number: int, start: KeyFrame | None, end: KeyFrame | None, found: KeyFrames) -> Unit:
    first = start.frames_before if start else 0
    return Unit(
        number=number,
        span=span_between(start, end),
        first_frame=first,
        frames=(end.frames_before if end else found.frames) - first,
        before_s=start.seconds_before if start else None,
        start_s=start.seconds if start else 0.0,
        end_s=end.seconds if end else found.end_s,
    )
