"""How near `vidpipe batch` comes to its parts, and what dividing a long file brings.

    python -m tests.bench.bench_batch efficiency --clip 1080p.mp4 --model model.xml
    python -m tests.bench.bench_batch [split] [--clip 1080p.mp4] [--seconds 120]

* efficiency: 8 files of 1080p through one pool, without video. The ceiling is bare decoding (PyAV,
  one thread) and bare inference (the same compiled model, saturated) as programs of their own at
  the same time; both in CPU ms a frame, in turn, median of three.
* split: one long file with a very light model, divided and in one piece: frames a second, and
  whether the bytes are the same. The file is the clip over and over: what is bound by decoding has
  to be as hard to decode as a camera's pictures, which drawn ones are not.

Without --clip a 1080p H.264 clip is made from the demo's own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.bench_pipeline import make_clip
from tests.command import environment, write_config
from tests.recordings import repeated, tiny_model
from vidpipe.apps.bench.ceiling import Shares, measure_ceiling
from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.zoo import fetch_clip, fetch_model

ROUNDS = 3
FILES = 8
SECONDS = 15.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("what", nargs="?", choices=["efficiency", "split"], default="split")
    parser.add_argument("--clip", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--seconds", type=int, default=120)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = given.clip or folder / "clip.mp4"
        if given.clip is None:
            make_clip(
                fetch_clip("bikes", default_cache_dir()), clip, frames=500, size_wh=(1920, 1080)
            )
        if given.what == "split":
            split(folder, clip, given.seconds)
        else:
            model = given.model or fetch_model("person-ssdlite", default_cache_dir())
            efficiency(folder, clip, model)


def timed(words: list[str | Path], folder: Path) -> tuple[float, dict[str, Any]]:
    """Run `vidpipe WORDS`; return its seconds, and its last event."""
    began_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "vidpipe", *map(str, words), "--json-progress"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - began_s
    if done.returncode:
        sys.exit(done.stderr)
    return took_s, json.loads(done.stdout.splitlines()[-1])


def split(folder: Path, clip: Path, seconds: int) -> None:
    """Compare one file that is divided with the same in one piece."""
    model = tiny_model(folder)
    clip = repeated(clip, folder / "long.mp4", seconds)
    kinds = {"divided": [], "in one piece": ["--jobs", "1"]}
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    results = set()
    for _ in range(ROUNDS):
        for name, more in kinds.items():
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            _, last = timed(["batch", clip, "-o", out, "--model", model, *more], folder)
            rates[name].append(last["frames"] / last["work_s"])
            results.add((out / "long.mp4.jsonl").read_bytes())
    for name, found in rates.items():
        print(f"{name}: {statistics.median(found):.1f} frames a second ({spread(found)})")
    ratio = statistics.median(rates["divided"]) / statistics.median(rates["in one piece"])
    same = "the same bytes" if len(results) == 1 else "OTHER BYTES"
    print(f"{os.cpu_count()} cores: {ratio:.2f} times as fast, {same}")


def efficiency(folder: Path, clip: Path, model: Path) -> None:
    """Compare CPU time a frame with that of decoding and inference without vidpipe."""
    inputs = folder / "in"
    inputs.mkdir()
    for number in range(FILES):
        shutil.copy(clip, inputs / f"{number}.mp4")
    streams = [{"id": f"s{n}", "source": str(inputs / f"{n}.mp4")} for n in range(FILES)]
    config = write_config(folder, {"models": {"m": {"path": str(model)}}, "streams": streams})
    even = {f"s{number}": 1 / FILES for number in range(FILES)}
    ratios = []
    for _ in range(ROUNDS):
        shutil.rmtree(folder / "out", ignore_errors=True)
        words: list[str | Path] = ["batch", inputs, "-o", folder / "out", "--model", model]
        _, last = timed(words, folder)
        ours_ms = 1000 * last["work_cpu_s"] / last["frames"]
        job = RunJob(Subject(str(config)))
        ceiling = measure_ceiling(job, Shares(even, even), SECONDS)
        ratios.append(ceiling.cpu_ms / ours_ms)
        print(
            f"batch {ours_ms:.3f} CPU ms a frame, {last['frames'] / last['work_s']:.1f} frames a "
            f"second; bare parts together {ceiling.cpu_ms:.3f} ms, {ceiling.fps:.1f}: "
            f"efficiency {ratios[-1]:.3f}"
        )
    print(f"efficiency {statistics.median(ratios):.3f} ({spread(ratios)})")


def spread(found: list[float]) -> str:
    return f"{min(found):.3g} to {max(found):.3g}"


if __name__ == "__main__":
    main()
