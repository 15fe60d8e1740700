"""One camera and the latency hint: from capture to result, against the stages alone.

    python -m tests.bench.bench_latency [--seconds 20]

The stages (decoding, resizing, inference, decoding of boxes) are made one after the other in a loop
of the bench's own, by the same compiled model, at the same pace: a machine that is paced below its
capacity runs slower. Prints lines and, last, one of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from tests.bench.bench_pipeline import make_clip
from vidpipe import Pipeline
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings, Hint
from vidpipe.inference.zoo import fetch_clip, fetch_model
from vidpipe.runtime.supervisor import take_short_turns
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.types import SourceKind

_PERIOD_S = 0.04


def alone_ms(clip: Path, model: Path, frames: int) -> list[tuple[float, float]]:
    """Return what all stages take together, and all but the decoding, frame by frame."""
    detector = compile_detector(model, DetectorSettings("model", hint=Hint.LATENCY))
    request = detector.create_request()
    reader = open_reader(SourceSpec(url=str(clip), kind=SourceKind.FILE))
    taken: list[tuple[float, float]] = []
    due_at = time.monotonic()
    for _ in range(frames):
        due_at += _PERIOD_S
        time.sleep(max(0.0, due_at - time.monotonic()))
        began_at = time.monotonic()
        decoded = reader.read()
        if decoded is None:
            break
        started_at = time.monotonic()
        geometry = detector.fill(request, decoded.picture)
        request.start()
        request.wait(10.0)
        detector.decode(request, geometry)
        ended_at = time.monotonic()
        taken.append((1000 * (ended_at - began_at), 1000 * (ended_at - started_at)))
    reader.close()
    return taken[10:]


def run_ms(clip: Path, model: Path, frames: int, call: str) -> tuple[float, float]:
    """Return the median and the 95th percentile of capture to result in a run."""
    config = {
        "version": 1,
        "models": {"model": {"path": str(model), "hint": "latency", "call": call}},
        "streams": [{"id": "gate", "source": str(clip), "realtime": True, "loop": True}],
    }
    with closing(Pipeline(config)) as pipeline:
        pipeline.start(with_results=False)
        pipeline.wait(1.0)
        before = pipeline.stats()["gate"].age
        pipeline.wait(frames * _PERIOD_S)
        age = pipeline.stats()["gate"].age.since(before)
    return 1000 * (age.quantile_s(0.5) or 0.0), 1000 * (age.quantile_s(0.95) or 0.0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    take_short_turns()
    frames = int(options.seconds / _PERIOD_S)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        clip = Path(name) / "clip.mp4"
        source = fetch_clip("bikes", default_cache_dir())
        make_clip(source, clip, frames=frames, size_wh=(1920, 1080))
        model = options.model or fetch_model("person-ssdlite", default_cache_dir())
        for _ in range(options.rounds):
            bare = np.percentile(alone_ms(clip, model, frames), [50, 95], axis=0)
            rows.append([*bare.flatten(), *run_ms(clip, model, frames, "async")])
    p50, model_p50, p95, model_p95, run_p50, run_p95 = np.median(rows, axis=0).tolist()
    print(f"one stream of 1080p25, {model.stem}, hint latency, load {os.getloadavg()[0]:.1f}")
    print(f"  all stages alone, paced                   p50 {p50:.1f}, p95 {p95:.1f} ms")
    print(
        f"  the same without decoding                 p50 {model_p50:.1f}, p95 {model_p95:.1f} ms"
    )
    print(f"  capture to result                         p50 {run_p50:.1f}, p95 {run_p95:.1f} ms")
    print(f"  more, at p95                              {run_p95 - p95:.1f} ms, at most 5")
    figures = {"alone_p50_ms": p50, "alone_p95_ms": p95, "p50_ms": run_p50, "p95_ms": run_p95}
    print(json.dumps({"rows": [{"name": "latency", **figures}]}))


if __name__ == "__main__":
    main()
