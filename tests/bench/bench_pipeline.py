"""Efficiency of a whole run of 1080p files against the bare parts: `vidpipe bench --efficiency`.

    python -m tests.bench.bench_pipeline [--model M.xml] [--clip C.mp4] [--streams 8] [--video]

The run and the bare parts take turns, and medians count. Without --clip a 1080p H.264 clip is made
from the demo's own. Prints a table and, last, one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import yaml

from vidpipe.apps.bench.efficiency import Round, efficiency_from_rounds, measure_round
from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.apps.bench.runs import run_job
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.zoo import fetch_clip, fetch_model


def make_clip(
    source: Path, target: Path, *, frames: int, size_wh: tuple[int, int], rate_fps: int = 25
) -> None:
    """Scale a clip up and encode it as a camera would: a key frame every two seconds."""
    with av.open(str(source)) as clip, av.open(str(target), "w") as out:
        pictures = [frame.reformat(*size_wh, format="yuv420p") for frame in clip.decode(video=0)]
        stream = out.add_stream("libx264", rate=rate_fps)
        stream.width, stream.height, stream.pix_fmt = *size_wh, "yuv420p"
        stream.options = {"preset": "veryfast", "crf": "23", "g": str(2 * rate_fps)}
        there_and_back = pictures + pictures[::-1]
        for number in range(frames):
            frame = there_and_back[number % len(there_and_back)]
            frame.pts, frame.time_base = number, Fraction(1, rate_fps)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


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
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--video", action="store_true", help="write annotated video too")
    options = parser.parse_args()
    rounds: list[Round] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = options.clip or folder / "clip.mp4"
        if options.clip is None:
            source = fetch_clip("bikes", default_cache_dir())
            make_clip(source, clip, frames=options.frames, size_wh=(1920, 1080))
        model = options.model or fetch_model("person-ssdlite", default_cache_dir())
        path = configuration(options, folder, clip, model)
        job = RunJob(Subject(str(path), with_outputs=options.video), seconds=options.seconds)
        for _ in range(options.rounds):
            rounds += [measure_round(job, run_job)]
    report(f"{options.streams} files, {model.stem}{', video' * options.video}", rounds)


def report(name: str, rounds: list[Round]) -> None:
    """Print the table and the line of JSON."""
    found = efficiency_from_rounds(rounds)
    runs = [one.run for one in rounds]
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    bare = " + ".join(f"{part} {cost:.2f}" for part, cost in found.parts.items())
    print(f"{name} ({machine}, {len(rounds)} rounds)")
    print(f"  ceiling     {bare} = {found.ceiling_cpu_ms:.2f} ms of CPU a frame, together")
    print(f"  vidpipe     {found.measured_cpu_ms:.2f} ms of CPU a frame, {found.fps:.1f} frames/s")
    print(f"  efficiency  {found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})")
    print(f"  frames      {[run.frames for run in runs]}, dropped {[run.dropped for run in runs]}")
    print(f"  memory      {runs[0].rss_mb:.0f} MB, {runs[0].threads} threads")
    print(json.dumps({"machine": machine, "rows": [{"name": name, **asdict(found)}]}))


if __name__ == "__main__":
    main()
