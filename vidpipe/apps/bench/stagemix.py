"""From turns to what a stage costs: CPU time over many, kinds of streams mixed by their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vidpipe.apps.bench.rows import StageCost


@dataclass(frozen=True, slots=True)
class Part:
    """A stage of one kind of stream: of one source, model or output.

    Attributes:
        weight: How many streams are of this kind.
        cpu_ms: CPU milliseconds a frame.
        fps: Frames a second alone on this machine.
        detail: What was measured, for people.
    """

    weight: int
    cpu_ms: float
    fps: float
    detail: str


def cpu_ms_of(turn: Callable[[int], object], count: int, seconds: float) -> float:
    """Return the CPU milliseconds that a turn takes this whole process, after a first one each.

    Args:
        turn: Is called with 0, 1, ... count - 1, and again from 0.
        count: How many different turns there are.
        seconds: How long is counted; at least every turn once.
    """
    for number in range(count):
        turn(number)
    began_cpu_s, until, turns = time.process_time(), time.monotonic() + seconds, 0
    while turns < count or time.monotonic() < until:
        turn(turns % count)
        turns += 1
    return 1000 * (time.process_time() - began_cpu_s) / turns


def part_of(weight: int, cpu_ms: float, threads: int, detail: str) -> Part:
    """Return a part that so many threads do at once, each on a core of its own."""
    return Part(weight, cpu_ms, 1000 * threads / max(cpu_ms, 1e-6), detail)


def mixed(name: str, parts: Sequence[Part], *, is_used: bool = True) -> StageCost:
    """Return a stage's cost for one frame of each stream.

    Costs add up as streams do; so do the times that a frame takes, not the frames a second.
    """
    whole = sum(part.weight for part in parts)
    return StageCost(
        name=name,
        cpu_ms=sum(part.weight * part.cpu_ms for part in parts) / whole,
        fps=whole / sum(part.weight / part.fps for part in parts),
        detail="; ".join(dict.fromkeys(part.detail for part in parts)),
        is_used=is_used,
    )
