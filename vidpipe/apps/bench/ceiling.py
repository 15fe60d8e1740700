"""What the bare parts of a run cost when they run together, as programs of their own.

    python -m vidpipe.apps.bench.ceiling PART

PART is ``decode``, ``inference`` or ``encode``; the order comes on standard input. Each program
does its part for the frames of a run, in the run's own proportions: so much decoding of each
source, so much inference of each model, so much encoding of each output. All are held to one pace
(see ``coupling``), start counting at the same moment, and stop together.

As many programs decode (and encode) as there are cores, each with its share of the streams in one
thread; one program infers, as the device's own threads are as many as it wants.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import cv2

from vidpipe.apps.bench.bare import decode_file, encode, infer
from vidpipe.apps.bench.child import answer_order
from vidpipe.apps.bench.coupling import Coupling, make_board
from vidpipe.apps.bench.job import RunJob, RunResult, derived_config, job_from_json, used_models
from vidpipe.apps.bench.pictures import endless_reading, neighbours_of
from vidpipe.apps.bench.runs import Child, started_child
from vidpipe.apps.detectors import detector_settings, model_path
from vidpipe.apps.sinks import video_options
from vidpipe.config.outputs import VideoOutput
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import UsageError
from vidpipe.inference.model import compile_detector
from vidpipe.types import Picture

_WARM_UP_TURNS = 10
_SETTLE_S = 0.5
"""All run for so long before anyone counts."""

_ENCODED_PICTURES = 48
"""Of each source, encoded there and back: 150 MB at 1080p."""

_INFERRED_PICTURES = 2
_USUAL_RATE_FPS = 25.0
_TICK_S = 0.05
_LONGEST_START_S = 300.0


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the bare parts cost together.

    Attributes:
        parts: CPU milliseconds a processed frame of ``decode``, ``inference`` and ``encode``.
        fps: Processed frames a second for which all parts were done.
    """

    parts: Mapping[str, float]
    fps: float

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a processed frame, of all parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of each part a run does for one processed frame, whichever stream it is of.

    Attributes:
        decoded: Frames that are decoded, by the stream's id; 1 altogether where every frame is
            processed, more where ``detect_fps`` passes some over.
        processed: Frames that are detected, by the stream's id; 1 altogether.
    """

    decoded: Mapping[str, float]
    processed: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Order:
    """What one of the programs is told.

    Attributes:
        job: The run, as its own process gets it.
        shares: How much of each part to do.
        board: The file of the coupling.
        index: Which of all programs this is, from 0.
        programs: How many there are.
        number: Which of its part's programs this is, from 0.
        of: How many share its part.
        seconds: How long to count.
    """

    job: RunJob
    shares: Shares
    board: str
    index: int
    programs: int
    number: int
    of: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Endless work of one kind.

    Attributes:
        turns: Each turn does it for one frame.
        share: Turns for each processed frame of the run.
    """

    turns: Iterator[None]
    share: float


def shares_of(result: RunResult) -> Shares:
    """Return what a run did of each part for each frame that it processed."""
    frames = max(1, result.frames)
    return Shares(
        decoded={name: count / frames for name, count in result.captured_of.items()},
        processed={name: fps * result.seconds / frames for name, fps in result.fps_of.items()},
    )


def measure_ceiling(job: RunJob, shares: Shares, seconds: float) -> Ceiling:
    """Run the bare parts of a job together, and return what they cost.

    Raises:
        ConfigError: The job's configuration is not right.
        UsageError: A part failed; the text says why.
    """
    parts = list(_programs(derived_config(job), _cores()))
    per_part = Counter(parts)
    with tempfile.TemporaryDirectory(prefix="vidpipe-ceiling-") as folder, ExitStack() as stack:
        board = Path(folder) / "board"
        make_board(board, len(parts))
        children = []
        for index, part in enumerate(parts):
            number = parts[:index].count(part)
            order = Order(
                job, shares, str(board), index, len(parts), number, per_part[part], seconds
            )
            line = json.dumps(asdict(order))
            children.append(
                stack.enter_context(started_child("vidpipe.apps.bench.ceiling", part, order=line))
            )
        answers = _answers(children, _LONGEST_START_S + seconds)
    costs: Counter[str] = Counter()
    speeds: dict[str, float] = {}
    for part, answer in zip(parts, answers, strict=True):
        # Each does a share of its part for every frame of the run, so that these add up.
        costs[part] += 1000 * answer["cpu_s"] / answer["progress"]
        speeds[part] = answer["progress"] / answer["seconds"]
    return Ceiling(dict(costs), min(speeds.values()))


def _programs(config: Config, cores: int) -> Iterator[str]:
    """Yield the part of each program."""
    videos = sum(len(_videos(stream)) for stream in config.streams)
    yield "inference"
    yield from ["decode"] * min(cores, len(config.streams))
    yield from ["encode"] * min(cores, videos)


def _answers(children: Sequence[Child], timeout_s: float) -> list[dict[str, Any]]:
    """Wait for all programs; the first that fails ends the waiting, as the others wait for it."""
    deadline = time.monotonic() + timeout_s
    answers: dict[int, dict[str, Any]] = {}
    while len(answers) < len(children):
        for index, child in enumerate(children):
            if index not in answers and child.process.poll() is not None:
                answer = child.result(_TICK_S)
                if "error" in answer:
                    raise UsageError(answer["error"])
                answers[index] = answer["result"]
        if time.monotonic() > deadline:
            raise UsageError(f"the bare parts didn't end within {timeout_s:.0f} s")
        time.sleep(_TICK_S)
    return [answers[index] for index in range(len(children))]


# ---- The programs ------------------------------------------------------------------------------


def main() -> None:
    """Do one part as it is ordered, and answer what it cost."""
    part = sys.argv[1]
    cv2.setNumThreads(1)
    answer_order(lambda line: _work(part, order_from_json(line)))


def order_from_json(line: str) -> Order:
    """Return an order as it was given."""
    fields = json.loads(line)
    job, shares = fields.pop("job"), fields.pop("shares")
    return Order(job=job_from_json(json.dumps(job)), shares=Shares(**shares), **fields)


def _work(part: str, order: Order) -> dict[str, float]:
    config = derived_config(order.job)
    makers = {"decode": _decoding, "inference": _inference, "encode": _encoding}
    works = [work for work in makers[part](config, order.shares) if work.share > 0]
    mine = works if part == "inference" else works[order.number :: order.of]
    if not mine:
        raise UsageError(f"there is nothing to {part}")
    board = Path(order.board)
    with Coupling(board, order.index, order.programs) as coupling:
        return run_together(mine, coupling, order.seconds)


def run_together(works: Sequence[Work], coupling: Coupling, seconds: float) -> dict[str, float]:
    """Do several works in their proportions, at the pace of all programs, and count.

    Returns:
        ``progress``, processed frames of the run for which this was done; ``seconds`` and
        ``cpu_s`` that it took.
    """
    whole = sum(work.share for work in works)
    for work in works:
        for _ in islice(work.turns, _WARM_UP_TURNS):
            pass
    if not coupling.begin():
        raise UsageError("the other programs didn't begin")
    start = time.monotonic() + _SETTLE_S
    end = start + seconds
    done = [0] * len(works)
    progress = 0.0
    first: tuple[float, float, float] | None = None
    while (now := time.monotonic()) < end:
        if first is None and now >= start:
            first = now, _cpu_s() - coupling.waiting_cpu_s, progress
        # The one that is furthest behind its share.
        index = min(range(len(works)), key=lambda n: done[n] / works[n].share)
        next(works[index].turns)
        done[index] += 1
        progress = sum(done) / whole
        coupling.advance(progress, end)
    if first is None or progress <= first[2]:
        raise UsageError(f"not one frame was done in {seconds:g} s: measure longer (--seconds)")
    return {
        "progress": progress - first[2],
        "seconds": time.monotonic() - first[0],
        "cpu_s": _cpu_s() - coupling.waiting_cpu_s - first[1],
    }


def _decoding(config: Config, shares: Shares) -> Iterator[Work]:
    for stream in config.streams:
        path = Path(stream.url())
        turns = decode_file(path) if path.is_file() else endless_reading(stream)
        yield Work(turns, shares.decoded.get(stream.id, 0.0))


def _inference(config: Config, shares: Shares) -> Iterator[Work]:
    for name in used_models(config):
        model = config.models[name]
        streams = [stream for stream in config.streams if stream.model == name]
        path = model_path(name, model, config.cache_dir)
        detector = compile_detector(path, detector_settings(name, model))
        yield Work(
            infer(detector, neighbours_of(streams[0], _INFERRED_PICTURES)[0]),
            sum(shares.processed.get(stream.id, 0.0) for stream in streams),
        )


def _encoding(config: Config, shares: Shares) -> Iterator[Work]:
    found: dict[str, tuple[list[Picture], float]] = {}
    for stream in config.streams:
        for output in _videos(stream):
            url = stream.url()
            if url not in found:
                pictures, info = neighbours_of(stream, _ENCODED_PICTURES)
                found[url] = pictures, info.rate_fps or _USUAL_RATE_FPS
            pictures, rate_fps = found[url]
            share = shares.decoded.get(stream.id, 0.0)
            options = video_options(output)
            if options.max_fps is not None:
                share *= min(1.0, options.max_fps / rate_fps)
            yield Work(encode(pictures, options, rate_fps), share)


def _videos(stream: StreamConfig) -> list[VideoOutput]:
    return [output for output in stream.outputs if isinstance(output, VideoOutput)]


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _cores() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    main()
