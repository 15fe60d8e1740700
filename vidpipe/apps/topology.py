"""The machine's processors as this process may use them, by NUMA node and by core."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

Core: TypeAlias = tuple[int, ...]
"""The numbers of the processors that are one core's hardware threads."""

Node: TypeAlias = tuple[Core, ...]
"""The cores that share a memory."""

_SYSTEM = Path("/sys/devices/system")


def numa_nodes(allowed: Iterable[int] | None = None, system: Path = _SYSTEM) -> tuple[Node, ...]:
    """Return the nodes that have processors for this process.

    Args:
        allowed: The processors that may be used; None: those of this process (a container's, say).
        system: Where the kernel tells; where it doesn't, all processors are one node, and each is a
            core of its own.
    """
    left = set(os.sched_getaffinity(0) if allowed is None else allowed)
    nodes = []
    for folder in sorted(system.glob("node/node[0-9]*"), key=lambda path: int(path.name[4:])):
        cores = tuple(_cores(_listed(folder / "cpulist") & left, system))
        left -= {number for core in cores for number in core}
        if cores:
            nodes.append(cores)
    if left:
        nodes.append(tuple(_cores(left, system)))
    return tuple(nodes)


def _cores(numbers: set[int], system: Path) -> Iterator[Core]:
    left = set(numbers)
    for number in sorted(numbers):
        if number in left:
            path = system / "cpu" / f"cpu{number}" / "topology" / "thread_siblings_list"
            core = (_listed(path) & left) | {number}
            left -= core
            yield tuple(sorted(core))


def _listed(path: Path) -> set[int]:
    """Return the numbers in a file such as ``0-3,8-11``; none where there is no such file."""
    try:
        text = path.read_text("ascii").strip()
        spans = [span.split("-") for span in text.split(",") if span]
        return {n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)}
    except (OSError, ValueError):
        return set()
