"""Which stage is the floor: the slowest of those measured alone, and what it allows at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vidpipe.apps.bench.rows import StageCost

_NAMES = {
    "decode": "decoding",
    "resize": "resizing",
    "boxes": "decoding boxes",
    "draw": "drawing",
    "encode": "encoding",
}


def with_floor(stages: Sequence[StageCost]) -> list[StageCost]:
    """Return the stages with the slowest one marked: the one that makes the fewest frames a second.

    That is not always the one with the most CPU milliseconds: a device of its own costs the
    processor nothing, and a stage with one thread can't use more than one core.
    """
    used = [stage for stage in stages if stage.is_used]
    floor = min(used, key=lambda stage: stage.fps, default=None)
    return [replace(stage, is_floor=stage is floor) for stage in stages]


def most_together_fps(stages: Sequence[StageCost], cores: int) -> float:
    """Return the frames a second that all stages in use can't exceed together on so many cores.

    The cores bound the sum of what all stages compute, and the slowest stage bounds them all.
    """
    used = [stage for stage in stages if stage.is_used]
    cpu_s = sum(stage.cpu_ms for stage in used) / 1000
    slowest_fps = min(stage.fps for stage in used)
    return min(slowest_fps, cores / cpu_s) if cpu_s > 0 else slowest_fps


def floor_words(stages: Sequence[StageCost], cores: int) -> str:
    """Say which stage is the floor, what it allows, and what all of them together allow.

    Args:
        stages: At least one in use.
        cores: The cores that they share.
    """
    used = [stage for stage in with_floor(stages) if stage.is_used]
    floor = next(stage for stage in used if stage.is_floor)
    on = f"on this machine ({cores} core{'s' * (cores != 1)})"
    words = (
        f"{_NAMES.get(floor.name, floor.name)} {floor.cpu_ms:.3g} ms: at most {floor.fps:.0f} "
        f"frames a second {on}, if it had them to itself"
    )
    if len(used) == 1:
        return words
    total_ms = sum(stage.cpu_ms for stage in used)
    together = most_together_fps(used, cores)
    return f"{words}; all stages share them, {total_ms:.3g} ms a frame: at most {together:.0f}"


def stage_detail(stage: StageCost) -> str:
    """Return what a stage was measured with, and whether anything here asks for it."""
    return stage.detail if stage.is_used else f"{stage.detail}: no output here asks for it"
