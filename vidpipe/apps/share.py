"""Which worker gets which streams and which cores: decided from numbers alone.

Guarantees:
    * every stream goes to exactly one worker, and every worker gets at least one;
    * the streams of one model stay together as long as that overloads nobody: each worker that has
      a model holds a copy of it;
    * a core's hardware threads go to one worker, and a worker's cores lie in as few NUMA nodes as
      can be.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from vidpipe.apps.topology import Core, Node
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError

CAMERA_FPS = 25.0
"""What a camera is taken to send until it is known better."""

_NAMES_SHOWN = 8

_DECODE_MS = 3.0
_DETECT_MS = 10.0
"""CPU time a frame, roughly: of 1080p H.264, and of a light detector. Only their ratio counts."""

_FILE_CAMERAS = 4.0
"""A file is read as fast as it goes; it is taken for so many cameras."""

_CORES_A_PROCESS = 16
"""More cores than this wait for the interpreter's lock: vidpipe's own work is about 0.3 ms a frame,
so a process gets some 3000 frames a second out, and a core some 200 through a light detector."""

_FPS_A_PROCESS = 1000.0
"""A third of what the lock allows: at that rate nobody waits for it long."""


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """What a stream is expected to cost.

    Attributes:
        stream: Its id.
        model: Its model's name.
        cost: CPU milliseconds a second, roughly.
        fps: Frames a second; infinite where only the machine is the limit.
    """

    stream: str
    model: str
    cost: float
    fps: float = CAMERA_FPS


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """One worker's part.

    Attributes:
        number: The worker's, from 1.
        streams: The ids of its streams, in the configuration's order.
        processors: The numbers of the processors that it is bound to.
    """

    number: int
    streams: tuple[str, ...]
    processors: tuple[int, ...]

    def __str__(self) -> str:
        """Say it in a log line."""
        count = len(self.streams)
        what = f"{count} stream{'s' * (count != 1)} ({shortened(self.streams)})"
        return f"processors {_spans(self.processors)}, {what}"


def shares(config: Config, nodes: Sequence[Node]) -> list[WorkerShare]:
    """Return each worker's share; a single one if the configuration wants no more."""
    loads = [load_of(stream) for stream in config.streams]
    count = worker_count(config.workers, loads, nodes)
    cores = share_cores(nodes, count)
    streams = share_streams(loads, [len(part) for part in cores])
    return [
        WorkerShare(number, names, tuple(sorted(n for core in part for n in core)))
        for number, (names, part) in enumerate(zip(streams, cores, strict=True), start=1)
    ]


def load_of(stream: StreamConfig) -> StreamLoad:
    """Return what a stream is expected to cost; a guess that only has to be right in proportion."""
    rate = CAMERA_FPS if stream.detect_fps is None else min(CAMERA_FPS, stream.detect_fps)
    cost = CAMERA_FPS * _DECODE_MS + rate * _DETECT_MS * stream.weight
    if stream.is_live:
        return StreamLoad(stream.id, stream.model, cost)
    return StreamLoad(stream.id, stream.model, cost * _FILE_CAMERAS, math.inf)


def worker_count(wanted: int | str, loads: Sequence[StreamLoad], nodes: Sequence[Node]) -> int:
    """Return how many workers there will be: what is wanted, but no more than streams.

    ``auto``: one a NUMA node, and as many more as the cores and the frames a second call for.
    """
    if isinstance(wanted, int):
        return min(wanted, len(loads))
    by_cores = sum(max(1, len(node) // _CORES_A_PROCESS) for node in nodes)
    by_frames = sum(load.fps for load in loads) / _FPS_A_PROCESS
    needed = by_cores if by_frames >= by_cores else math.ceil(by_frames)
    return max(1, min(len(loads), max(len(nodes), needed)))


def share_cores(nodes: Sequence[Node], workers: int) -> list[tuple[Core, ...]]:
    """Return each worker's cores, node by node; where there are too few, workers share them."""
    if workers <= len(nodes):
        bounds = [len(nodes) * part // workers for part in range(workers + 1)]
        return [
            tuple(core for node in nodes[first:last] for core in node)
            for first, last in pairwise(bounds)
        ]
    counts = [1] * len(nodes)
    for _ in range(workers - len(nodes)):
        # to the node whose workers would have the most cores each
        roomiest = max(range(len(nodes)), key=lambda n: (len(nodes[n]) / (counts[n] + 1), -n))
        counts[roomiest] += 1
    return [part for node, count in zip(nodes, counts, strict=True) for part in _split(node, count)]


def _split(node: Node, count: int) -> list[tuple[Core, ...]]:
    if count > len(node):
        return [(node[part % len(node)],) for part in range(count)]
    bounds = [len(node) * part // count for part in range(count + 1)]
    return [node[first:last] for first, last in pairwise(bounds)]


@dataclass(slots=True)
class _Bin:
    """What a worker has been given so far."""

    room: float
    """The cost that would be its fair share."""
    cost: float = 0.0
    streams: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)

    def take(self, load: StreamLoad) -> None:
        self.cost += load.cost
        self.streams.add(load.stream)
        self.models.add(load.model)


def share_streams(loads: Sequence[StreamLoad], strengths: Sequence[int]) -> list[tuple[str, ...]]:
    """Return each worker's streams, in the order given.

    Largest first: to a worker that has the stream's model already and room in its fair share, else
    to the one that is the least loaded for its strength.

    Args:
        loads: All streams; at least as many as workers.
        strengths: Each worker's cores.
    """
    total = sum(load.cost for load in loads)
    bins = [_Bin(room=total * strength / sum(strengths)) for strength in strengths]
    of_model: dict[str, float] = {}
    for load in loads:
        of_model[load.model] = of_model.get(load.model, 0.0) + load.cost
    # By model, the heaviest first, so that small ones fill what is left.
    order = sorted(loads, key=lambda load: (-of_model[load.model], load.model, -load.cost))
    for place, load in enumerate(order):
        _bin_for(load, bins, left=len(order) - place).take(load)
    return [tuple(load.stream for load in loads if load.stream in b.streams) for b in bins]


def _bin_for(load: StreamLoad, bins: Sequence[_Bin], left: int) -> _Bin:
    empty = [b for b in bins if not b.streams]
    if empty and left <= len(empty):
        return max(empty, key=lambda b: b.room)
    for one in bins:
        if load.model in one.models and one.cost + load.cost <= one.room * (1 + 1e-9):
            return one
    return min(bins, key=lambda b: (b.cost + load.cost) / b.room)


def reassigned(
    config: Config, shares_now: Sequence[WorkerShare], able: Collection[int]
) -> list[WorkerShare]:
    """Return the shares of a configuration that takes the place of another.

    Streams stay where they are; those that come go to the workers that have the least to do, the
    costliest first.

    Args:
        config: The new configuration.
        shares_now: As it was.
        able: The numbers of the workers that can take further streams.

    Raises:
        UsageError: There is none, and streams have come.
    """
    loads = {stream.id: load_of(stream) for stream in config.streams if stream.enabled}
    home = {stream: share.number for share in shares_now for stream in share.streams}
    cores = {share.number: max(1, len(share.processors)) for share in shares_now}
    cost = {share.number: 0.0 for share in shares_now}
    for stream, load in loads.items():
        if stream in home:
            cost[home[stream]] += load.cost
    new = [stream.id for stream in config.streams if stream.id not in home]
    if new and not able:
        raise UsageError("no worker is left that could take further streams")
    for stream in sorted(new, key=lambda one: -loads[one].cost if one in loads else 0.0):
        load_cost = loads[stream].cost if stream in loads else 0.0
        number = min(able, key=lambda one: ((cost[one] + load_cost) / cores[one], one))
        home[stream] = number
        cost[number] += load_cost
    return [
        replace(share, streams=tuple(s.id for s in config.streams if home[s.id] == share.number))
        for share in shares_now
    ]


def shortened(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ``0-3,8-11``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)
