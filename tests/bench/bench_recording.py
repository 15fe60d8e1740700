"""What it costs to measure a run: all that is recorded of one frame, and all that is read of it.

    python -m tests.bench.bench_recording [--frames 200000] [--streams 16]

Prints the CPU microseconds of one frame's records, as a share of the 3 ms that a frame of 1080p
costs at the very least (decoding and a light model), and those of one second's look at the run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from tests.overviews import FakeOverview, busy_meter, make_report
from vidpipe.runtime.durations import Stage, StageMeters
from vidpipe.runtime.meters import StreamMeter
from vidpipe.server.metrics import RunCollector
from vidpipe.telemetry.board import StatusBoard
from vidpipe.telemetry.recent import Recent

_FRAME_US = 3000.0
_ROUNDS = 5


def cpu_us(work: Callable[[], object], times: int = 1) -> float:
    """Return the CPU microseconds of one call: the best of some rounds."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began_at = time.thread_time()
        for _ in range(times):
            work()
        best = min(best, time.thread_time() - began_at)
    return 1e6 * best / times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--streams", type=int, default=16)
    options = parser.parse_args()

    stream, stages = StreamMeter(), StageMeters()

    def record_frame() -> None:
        stream.count_captured()
        began_at = time.monotonic()
        for stage in Stage:
            # Every stage reads the clock twice.
            ended_at = time.monotonic()
            stages.record(stage, time.monotonic() - began_at + ended_at - ended_at)
        stream.count_processed(0.02, 3)

    frame_us = cpu_us(record_frame, options.frames)
    share = 100 * frame_us / _FRAME_US
    print(f"records of one frame: {frame_us:.1f} us of CPU, {share:.2f} % of {_FRAME_US:.0f} us")

    names = [f"stream-{number}" for number in range(options.streams)]
    overview = FakeOverview(
        meters={name: busy_meter(100) for name in names},
        states={name: make_report() for name in names},
    )
    recent = Recent()
    recent.show(overview)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RunCollector(recent))
    board = StatusBoard(overview, time.monotonic())
    looks: dict[str, Callable[[], object]] = {
        "the server's look, once a second": recent.sample,
        "the table's look, once a second": lambda: board.view(time.monotonic()),
        "one scrape of /metrics": lambda: generate_latest(registry),
    }
    for name, look in looks.items():
        us = cpu_us(look, 10)
        print(f"{name}: {us / 1000:.2f} ms of CPU for {options.streams} streams")


if __name__ == "__main__":
    main()
