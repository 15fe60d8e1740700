"""Far too many live streams: how old results are, whether they grow older, and who gets how much.

    python -m tests.bench.bench_overload [--streams 16] [--seconds 180] [--weights 1,2,4]
        [--size WxH]

Each stream is a clip played as a camera would, at 25 frames a second. Judged are the 95th
percentile of the ages against 4 x (streams / throughput), the last third of the time against the
first, and the frames of each stream by its weight. Prints lines and, last, one of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.bench.bench_pipeline import make_clip
from vidpipe import Pipeline
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.zoo import fetch_clip, fetch_model
from vidpipe.runtime.durations import Durations, together
from vidpipe.runtime.meters import StreamStats
from vidpipe.runtime.supervisor import take_short_turns

_SETTLING_S = 5.0
_SPELLS = 3


def document(options: argparse.Namespace, clip: Path, model: Path) -> dict[str, Any]:
    """Return the configuration."""
    weights = [float(part) for part in options.weights.split(",")]
    stream = {"source": str(clip), "realtime": True, "loop": True}
    return {
        "version": 1,
        "models": {"model": {"path": str(model)}},
        "streams": [
            {"id": f"s{n}", "weight": weights[n % len(weights)], **stream}
            for n in range(options.streams)
        ],
    }


def watched(config: dict[str, Any], seconds: float) -> list[dict[str, StreamStats]]:
    """Run, and return all counters at the end of settling and of each spell."""
    with closing(Pipeline(config)) as pipeline:
        pipeline.start(with_results=False)
        pipeline.wait(_SETTLING_S)
        seen = [pipeline.stats()]
        for _ in range(_SPELLS):
            pipeline.wait(seconds / _SPELLS)
            seen.append(pipeline.stats())
    return seen


def between(before: dict[str, StreamStats], after: dict[str, StreamStats]) -> Durations:
    """Return the ages of all results between two looks."""
    return together(new.age.since(before[name].age) for name, new in after.items())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--weights", default="1", help="of the streams, in turn")
    parser.add_argument("--size", default="1920x1080", help="smaller: the model is the bottleneck")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    take_short_turns()
    with tempfile.TemporaryDirectory() as name:
        clip = Path(name) / "clip.mp4"
        source = fetch_clip("bikes", default_cache_dir())
        make_clip(source, clip, frames=500, size_wh=(width, height))
        model = options.model or fetch_model("person-ssdlite", default_cache_dir())
        config = document(options, clip, model)
        seen = watched(config, options.seconds)
    report(options, config, seen)


def report(
    options: argparse.Namespace, config: dict[str, Any], seen: list[dict[str, StreamStats]]
) -> None:
    """Print what is judged."""
    first, last = seen[0], seen[-1]
    shares = {
        one["id"]: (last[one["id"]].processed - first[one["id"]].processed) / one["weight"]
        for one in config["streams"]
    }
    processed = sum(last[name].processed - first[name].processed for name in last)
    fps = processed / options.seconds
    spells = [between(*pair) for pair in pairwise(seen)]
    p95_ms = [1000 * (spell.quantile_s(0.95) or 0.0) for spell in spells]
    whole = between(first, last)
    limit_ms = 4000 * options.streams / fps
    balance = [
        one.captured - one.processed - one.passed - sum(one.dropped.values()) - one.in_flight
        for one in last.values()
    ]
    lost: Counter[str] = Counter()
    for name, stats in last.items():
        lost.update(stats.dropped)
        lost.subtract(first[name].dropped)
    figures = {
        "fps": fps,
        "dropped_fps": {cause: count / options.seconds for cause, count in lost.items()},
        "p50_ms": 1000 * (whole.quantile_s(0.5) or 0.0),
        "p95_ms": 1000 * (whole.quantile_s(0.95) or 0.0),
        "p99_ms": 1000 * (whole.quantile_s(0.99) or 0.0),
        "limit_ms": limit_ms,
        "p95_ms_by_spell": p95_ms,
        "fairness": max(shares.values()) / max(min(shares.values()), 1e-9),
        "balance": balance,
        "load": os.getloadavg()[0],
    }
    print(f"{options.streams} live streams of {options.size} at 25/s, weights {options.weights}")
    print(f"  throughput  {fps:.1f} frames/s of {25 * options.streams}")
    causes = ", ".join(f"{rate:.1f} {cause}" for cause, rate in figures["dropped_fps"].items())
    print(f"  dropped     {causes or 'none'} a second")
    print(
        f"  age         p50 {figures['p50_ms']:.0f}, p95 {figures['p95_ms']:.0f}, p99"
        f" {figures['p99_ms']:.0f} ms; p95 at most {limit_ms:.0f}"
    )
    print(f"  growth      p95 {', '.join(f'{value:.0f}' for value in p95_ms)} ms by third")
    print(f"  fairness    {figures['fairness']:.3f} (most by least, by weight)")
    print(f"  unbalanced  {sum(balance)} frames")
    print(json.dumps({"rows": [{"name": "overload", **figures}]}))


if __name__ == "__main__":
    main()
