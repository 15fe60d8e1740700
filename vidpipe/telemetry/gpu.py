"""How busy Intel's GPUs are, by what their kernel drivers say in ``/sys/class/drm``.

Neither driver publishes a load as such to everyone; both count how long the GPU has slept: ``i915``
as ``gt/gt*/rc6_residency_ms``, ``xe`` as ``device/tile*/gt*/gtidle/idle_residency_ms``. What is not
slept is taken as busy: all programs together, and a little more than the load proper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

_COUNTERS = ("gt/gt*/rc6_residency_ms", "device/tile*/gt*/gtidle/idle_residency_ms")


Asleep: TypeAlias = Mapping[tuple[str, str], float]
"""Seconds that each part of each GPU has slept, by card and part."""


@dataclass(slots=True)
class GpuMeter:
    """Reads how long each GPU has slept; any thread may."""

    drm: Path = Path("/sys/class/drm")
    _files: tuple[tuple[str, Path], ...] = field(init=False)

    def __post_init__(self) -> None:
        """Look for GPUs once: none comes later."""
        self._files = tuple(
            (card.name, counter)
            for card in sorted(self.drm.glob("card*"))
            for pattern in _COUNTERS
            for counter in sorted(card.glob(pattern))
        )

    def asleep_s(self) -> Asleep:
        """Return how long each part has slept so far; empty where there is no GPU."""
        asleep = {}
        for card, file in self._files:
            try:
                asleep[card, str(file)] = int(file.read_text("ascii")) / 1000
            except (OSError, ValueError):
                continue  # not for everyone to read, or the driver has been unloaded
        return asleep


def busy_shares(before: Asleep, after: Asleep, seconds: float) -> dict[str, float]:
    """Return for each GPU the share of so many seconds that its busiest part was awake, 0 to 1."""
    busy: dict[str, float] = {}
    for part, asleep_s in after.items():
        if part in before and seconds > 0:
            share = min(1.0, max(0.0, 1 - (asleep_s - before[part]) / seconds))
            busy[part[0]] = max(busy.get(part[0], 0.0), share)
    return busy
