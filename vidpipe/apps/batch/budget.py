"""How many units are at work at once: as many as keep the cores busy, and as memory allows."""

from __future__ import annotations

from pathlib import Path

_FRAMES_A_UNIT = 32
"""In a decoder, its lane, and on the way to the model and back."""

_SHARE = 0.3
_ASSUMED_WH = (1920, 1080)
_MEMORY = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")
_USED = Path("/sys/fs/cgroup/memory.current")
_USE = Path("/sys/fs/cgroup/memory.stat")
_CACHES = ("inactive_file", "active_file")
"""What has been read of files counts as used there, and is given back as soon as it is needed."""


def chosen_jobs(core_count: int, largest_wh: tuple[int, int] | None, free_bytes: int | None) -> int:
    """Return how many units to have at work.

    One more than there are cores: decoding is the one thing that a unit does alone, on one core,
    and while one is being opened the others still keep all of them busy. More would only take
    memory: what decodes faster than the model answers waits.

    Args:
        core_count: The cores there are.
        largest_wh: The largest picture among the inputs, or None where that isn't known.
        free_bytes: The memory that there is, or None likewise.
    """
    wanted = core_count + 1
    if free_bytes is None:
        return wanted
    width, height = largest_wh or _ASSUMED_WH
    unit_bytes = _FRAMES_A_UNIT * width * height * 3 // 2
    return max(1, min(wanted, int(free_bytes * _SHARE) // max(1, unit_bytes)))


def free_memory_bytes() -> int | None:
    """Return the memory that may still be taken: the machine's, or the container's if less."""
    found = [value for value in (_available_bytes(), _container_bytes()) if value is not None]
    return min(found) if found else None


def _available_bytes() -> int | None:
    try:
        for line in _MEMORY.read_text("utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _container_bytes() -> int | None:
    try:
        limit, used = int(_LIMIT.read_text("utf-8")), int(_USED.read_text("utf-8"))
        entries = dict(line.split() for line in _USE.read_text("utf-8").splitlines())
        return limit - used + sum(int(entries.get(name, "0")) for name in _CACHES)
    except (OSError, ValueError):
        return None  # no limit ("max"), or no such system
