"""A spread of frames from files and cameras, as a model sees them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vidpipe.apps.spread import Spread, chosen, shares
from vidpipe.errors import SourceError
from vidpipe.inference.cache import Progress
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.samples import Sample
from vidpipe.interfaces import Reader
from vidpipe.runtime.supervisor import ThreadGroup
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.types import Decoded, Detections, Pixels, SourceKind

_NOMINAL_FPS = 25.0
"""For sources without timestamps: only the spacing counts."""

_GRACE_S = 2.0
_IN_TURN = (SourceKind.FILE, SourceKind.SYNTHETIC)
"""These wait until they are read; all others are watched at the same time."""


@dataclass(frozen=True, slots=True)
class FrameSource:
    """Where frames come from.

    Attributes:
        name: What it is called in messages; no secret in it.
        spec: How it is opened.
    """

    name: str
    spec: SourceSpec


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found.

    Attributes:
        samples: The frames, source by source, each in its order.
        counts: How many frames of each source are among them.
        failures: What went wrong, one sentence a source.
    """

    samples: tuple[Sample, ...]
    counts: Mapping[str, int]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FramePlan:
    """What is asked of the sources.

    Attributes:
        count: How many frames altogether.
        watch_s: How long cameras, and sources without an end, are watched.
    """

    count: int = 300
    watch_s: float = 60.0


def gather(
    sources: Sequence[FrameSource], filler: InputFiller, plan: FramePlan, progress: Progress
) -> Gathered:
    """Read the sources, files from end to end, and return frames spread evenly over them.

    A source that fails is told among the failures; what came of it before counts.
    """
    each = -(-plan.count // max(1, len(sources)))
    spreads = [
        Spread[Sample](each, 0.0 if source.spec.kind in _IN_TURN else plan.watch_s / each)
        for source in sources
    ]
    failures: list[str] = []
    is_over = threading.Event()

    def read(index: int) -> Callable[[], None]:
        def run() -> None:
            source = sources[index]
            try:
                _collect(source.spec, spreads[index], filler, plan.watch_s, is_over)
            except SourceError as error:
                failures.append(f"{source.name}: {error}")

        return run

    threads = ThreadGroup()
    watched = [i for i, source in enumerate(sources) if source.spec.kind not in _IN_TURN]
    try:
        for index in watched:
            threads.spawn(f"vp-frames-{sources[index].name}", read(index), may_hang=True)
        for index, source in enumerate(sources):
            if index not in watched:
                progress(f"reading {source.name}", index, len(sources))
                read(index)()
        if watched:
            progress(f"watching {len(watched)} cameras for {plan.watch_s:g} s", 0, 0)
            limits_s = [sources[i].spec.open_timeout_s + plan.watch_s for i in watched]
            threads.join(max(limits_s) + _GRACE_S)
    finally:
        is_over.set()
    found = [spread.items for spread in spreads]
    counts = shares([len(items) for items in found], plan.count)
    samples = [
        sample
        for items, count in zip(found, counts, strict=True)
        for sample in chosen(items, count)
    ]
    return Gathered(
        samples=tuple(samples),
        counts={source.name: count for source, count in zip(sources, counts, strict=True)},
        failures=tuple(failures),
    )


def pick(
    spec: SourceSpec,
    truths: Mapping[int, Detections],
    filler: InputFiller,
) -> list[Sample]:
    """Return the frames of a source that have a truth, by their numbers from 0.

    Raises:
        SourceError: It can't be opened, or ends before the last of them.
    """
    samples: list[Sample] = []
    reader = open_reader(spec)
    try:
        for number in range(max(truths, default=-1) + 1):
            decoded = reader.read()
            if decoded is None:
                break
            if number in truths:
                samples.append(_sample(decoded, filler, truths[number]))
    finally:
        reader.close()
    return samples


def _collect(
    spec: SourceSpec,
    spread: Spread[Sample],
    filler: InputFiller,
    watch_s: float,
    is_over: threading.Event,
) -> None:
    reader = open_reader(replace(spec, thread_count=0) if spec.kind in _IN_TURN else spec)
    try:
        has_end = _has_end(reader)
        started_at, first_s, number = time.monotonic(), None, 0
        while not is_over.is_set() and (decoded := reader.read()) is not None:
            if reader.info.is_live:
                at_s = time.monotonic() - started_at
            else:
                at_s = number / _NOMINAL_FPS if decoded.pts_s is None else decoded.pts_s
            first_s = at_s if first_s is None else first_s
            if not has_end and at_s - first_s > watch_s:
                return
            if spread.wants(at_s):
                spread.add(at_s, _sample(decoded, filler))
            number += 1
    finally:
        reader.close()


def _has_end(reader: Reader) -> bool:
    info = reader.info
    if info.is_live:
        return False
    return info.kind is SourceKind.FILE or (info.frame_count or info.duration_s) is not None


def _sample(decoded: Decoded, filler: InputFiller, truth: Detections | None = None) -> Sample:
    width, height = filler.input_wh
    pixels: Pixels = np.empty((height, width, 3), np.uint8)
    return Sample(pixels, filler.fill(decoded.picture, pixels), truth)
