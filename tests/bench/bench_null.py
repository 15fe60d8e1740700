"""What vidpipe itself costs: blank synthetic frames, a model that computes next to nothing.

    python -m tests.bench.bench_null [--streams 8] [--seconds 4] [--jsonl]

Prints frames a second and CPU microseconds a frame in one process.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import openvino as ov
import yaml
from openvino import opset13 as ops

from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.apps.bench.runs import run_job


def make_trivial_model(path: Path) -> None:
    """Save an SSD detector of 16x16 that looks at its input once and finds nothing."""
    picture = ops.parameter([1, 3, 16, 16], np.float32, name="image")
    mean = ops.reduce_mean(picture, np.array([1, 2, 3]), keep_dims=True)
    nothing = np.array([-1, 0, 0, 0, 0, 0, 0], np.float32).reshape(1, 1, 1, 7)
    found = ops.add(ops.multiply(mean, np.float32(0)), nothing, name="detections")
    ov.save_model(ov.Model([found], [picture], "trivial"), path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--jsonl", action="store_true", help="write JSON Lines too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_trivial_model(folder / "trivial.xml")
        outputs = [{"type": "jsonl", "path": f"{folder}/{{stream}}.jsonl"}] if options.jsonl else []
        source = "synthetic:blank?size=64x64&frames=4000"
        document = {
            "version": 1,
            "models": {"trivial": {"path": str(folder / "trivial.xml")}},
            "streams": [
                {"id": f"s{n}", "source": source, "outputs": outputs}
                for n in range(options.streams)
            ],
        }
        path = folder / "null.yml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        subject = Subject(str(path), with_outputs=options.jsonl)
        run = run_job(RunJob(subject, seconds=options.seconds))
    row = {"name": "null run", "fps": run.fps, "cpu_ms_per_frame": run.cpu_ms}
    print(f"null run: {run.fps:.0f} frames/s, {1000 * run.cpu_ms:.0f} us of CPU a frame")
    print(json.dumps({"rows": [row]}))


if __name__ == "__main__":
    main()
