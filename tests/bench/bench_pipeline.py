"""Efficiency of a whole run against the bare parts, in CPU milliseconds a frame, in one run.

The ceiling is bare decoding and bare inference (and bare encoding, with --video) running together
as programs of their own; it is measured in turn with vidpipe, three times, and medians count:

    python -m tests.bench.bench_pipeline [--model M.xml] [--clip C.mp4] [--streams 8] [--video]

Without --clip a 1080p H.264 clip is made from the demo's own. Prints a table and, last, one line of
JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import av
import yaml

from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.zoo import fetch_clip, fetch_model

ROUNDS = 3


def make_clip(source: Path, target: Path, *, frames: int, size_wh: tuple[int, int]) -> None:
    """Scale a clip up and encode it as a camera would: a key frame every two seconds."""
    with av.open(str(source)) as clip, av.open(str(target), "w") as out:
        pictures = [frame.reformat(*size_wh, format="yuv420p") for frame in clip.decode(video=0)]
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = *size_wh, "yuv420p"
        stream.options = {"preset": "veryfast", "crf": "23", "g": "50"}
        there_and_back = pictures + pictures[::-1]
        for number in range(frames):
            frame = there_and_back[number % len(there_and_back)]
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start one of the programs beside this one."""
    command = [sys.executable, "-m", f"tests.bench.{script}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a program and return what it measured."""
    out, _ = process.communicate(timeout=600)
    if process.returncode:
        raise SystemExit("a program of the benchmark failed")
    measured: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    measured["cpu_ms"] = 1000 * measured["cpu_s"] / max(1, measured["frames"])
    return measured


def ceiling(clip: Path, model: Path, seconds: float, *, with_video: bool) -> dict[str, float]:
    """Run the bare parts together; return the CPU milliseconds a frame of each."""
    parts = {"decode": str(clip), "infer": str(model)} | (
        {"encode": str(clip)} if with_video else {}
    )
    running = {part: start("ceiling", part, path, str(seconds)) for part, path in parts.items()}
    return {part: result(process)["cpu_ms"] for part, process in running.items()}


def configuration(options: argparse.Namespace, folder: Path, clip: Path, model: Path) -> Path:
    """Write the configuration that is measured."""
    outputs = [{"type": "video", "path": f"{folder}/{{stream}}-{{n}}.mp4"}] if options.video else []
    stream: dict[str, Any] = {"source": str(clip), "outputs": outputs}
    document = {
        "version": 1,
        "models": {"model": {"path": str(model)}},
        "streams": [{"id": f"s{n}", **stream} for n in range(options.streams)],
    }
    path = folder / "bench.yml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--clip", type=Path)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--frames", type=int, default=500, help="of the clip that is made")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each bare part")
    parser.add_argument("--video", action="store_true", help="write annotated video too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = options.clip or folder / "clip.mp4"
        if options.clip is None:
            source = fetch_clip("bikes", default_cache_dir())
            make_clip(source, clip, frames=options.frames, size_wh=(1920, 1080))
        model = options.model or fetch_model("person-ssdlite", default_cache_dir())
        path = configuration(options, folder, clip, model)
        runs, ceilings = [], []
        for _ in range(ROUNDS):
            ceilings.append(ceiling(clip, model, options.seconds, with_video=options.video))
            runs.append(result(start("measured", str(path))))
    report(options, model, runs, ceilings)


def report(
    options: argparse.Namespace,
    model: Path,
    runs: list[dict[str, Any]],
    ceilings: list[dict[str, float]],
) -> None:
    """Print the table and the line of JSON."""
    parts = {part: median(one[part] for one in ceilings) for part in ceilings[0]}
    ratios = [sum(bare.values()) / run["cpu_ms"] for bare, run in zip(ceilings, runs, strict=True)]
    row = {
        "name": f"{options.streams} files of 1080p, {model.stem}" + (", video" * options.video),
        "fps": median(run["frames"] / run["seconds"] for run in runs),
        "cpu_ms_per_frame": median(run["cpu_ms"] for run in runs),
        "ceiling_ms": parts,
        "efficiency": median(ratios),
        "efficiency_spread": [min(ratios), max(ratios)],
        "frames": [run["frames"] for run in runs],
        "dropped": [run["dropped"] for run in runs],
        "in_flight": [run["in_flight"] for run in runs],
        "rss_mb": median(run["rss_mb"] for run in runs),
        "threads": runs[0]["threads"],
    }
    machine = f"{platform.machine()}, {platform.processor() or 'CPU'}, {len(runs)} rounds"
    print(f"{row['name']} ({machine})")
    bare = " + ".join(f"{part} {cost:.2f}" for part, cost in parts.items())
    print(f"  ceiling     {bare} = {sum(parts.values()):.2f} ms of CPU a frame, together")
    print(
        f"  vidpipe     {row['cpu_ms_per_frame']:.2f} ms of CPU a frame, {row['fps']:.1f} frames/s"
    )
    print(f"  efficiency  {row['efficiency']:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    print(f"  frames      {row['frames']}, dropped {row['dropped']}, in flight {row['in_flight']}")
    print(f"  memory      {row['rss_mb']:.0f} MB, {row['threads']} threads")
    print(json.dumps({"machine": machine, "rows": [row]}))


if __name__ == "__main__":
    main()
