"""What the wall costs: CPU beyond the pipeline without a viewer, and what many viewers do to it.

    python -m tests.bench.bench_wall [--streams 16] [--seconds 10] [--rounds 3] [--crowd 50]

The run is a process of its own (1080p clips played as cameras, at --source-fps), the viewers are
another one on the same machine, so that the CPU counted is the run's alone. Without, with one and
with two viewers of all tiles take turns, and medians count. Then a crowd looks on, half of it
stalled. Prints lines and, last, one of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.bench.bench_pipeline import make_clip
from tests.graphs import saved, ssd_rows
from tests.web import ask
from vidpipe.config.schema import default_cache_dir
from vidpipe.inference.zoo import fetch_clip

_SETTLING_S = 3.0
_STEADY = 0.95
_ROWS = [
    [0, 1, 0.9, 0.1, 0.2, 0.3, 0.8],
    [0, 1, 0.8, 0.4, 0.3, 0.55, 0.7],
    [0, 1, 0.7, 0.6, 0.1, 0.95, 0.9],
]
"""Three objects on every frame, found by a model that costs next to nothing."""


@contextmanager
def running(options: argparse.Namespace, folder: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Run the cameras, and yield their process and the server's address."""
    clip = folder / "clip.mp4"
    source, rate_fps = fetch_clip("bikes", default_cache_dir()), options.source_fps
    make_clip(source, clip, frames=200, size_wh=(1920, 1080), rate_fps=rate_fps)
    stream = {"source": str(clip), "realtime": True, "loop": True}
    document = {
        "version": 1,
        "models": {"tiny": {"path": str(saved(ssd_rows(_ROWS), folder))}},
        "streams": [{"id": f"s{n}", **stream} for n in range(options.streams)],
        "server": {"port": 0},
    }
    path = folder / "bench.yml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "vidpipe", "run", str(path)],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            url = next(
                found[1]
                for line in process.stderr
                if (found := re.search(r"the server listens on (\S+)$", line.rstrip()))
            )
            while ask(f"{url}/readyz").status != 200:
                time.sleep(0.2)
            yield psutil.Process(process.pid), url
        finally:
            process.terminate()
            process.communicate(timeout=30)


def looked_on(options: argparse.Namespace, url: str, **more: Any) -> subprocess.Popen[str]:
    """Start viewers."""
    keys = {"tiles": options.streams, "size": options.size, "fps": options.fps, **more}
    arguments = [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.bench.wall_viewers", url, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


def cpu_s(process: psutil.Process) -> float:
    """Return what a process and its children have used."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def processed(url: str) -> int:
    """Return the frames of all streams that the model has answered."""
    return sum(int(one["processed"]) for one in ask(f"{url}/api/streams").document["streams"])


def spell(
    options: argparse.Namespace, process: psutil.Process, url: str, viewers: int
) -> dict[str, Any]:
    """Return the run's cores and frames a second while so many look on, and what they saw."""
    looking = looked_on(options, url, healthy=viewers, seconds=options.seconds + _SETTLING_S)
    time.sleep(_SETTLING_S)
    before, frames, began_s = cpu_s(process), processed(url), time.monotonic()
    time.sleep(options.seconds)
    took_s = time.monotonic() - began_s
    cores, fps = (cpu_s(process) - before) / took_s, (processed(url) - frames) / took_s
    seen = json.loads(looking.communicate()[0])
    time.sleep(1.0)
    return {"cores": cores, "fps": fps, **seen}


def crowd(options: argparse.Namespace, process: psutil.Process, url: str) -> dict[str, Any]:
    """Return how the run and its healthy viewers fare with a crowd, half of it stalled."""
    half = options.crowd // 2
    looking = looked_on(
        options, url, healthy=options.crowd - half, stalled=half, seconds=options.crowd_seconds,
        tiles=options.crowd_tiles,
    )  # fmt: skip
    time.sleep(_SETTLING_S)
    frames, began_s, before = processed(url), time.monotonic(), cpu_s(process)
    rss_mb = []
    while looking.poll() is None:
        rss_mb.append(process.memory_info().rss / 1e6)
        time.sleep(1.0)
    took_s = time.monotonic() - began_s
    assert looking.stdout is not None
    third = max(1, len(rss_mb) // 3)
    return {
        **json.loads(looking.stdout.read()),
        "fps": (processed(url) - frames) / took_s,
        "cores": (cpu_s(process) - before) / took_s,
        "rss_mb_middle": statistics.median(rss_mb[third : 2 * third]),
        "rss_mb_end": statistics.median(rss_mb[-third:]),
        "rss_mb_most": max(rss_mb),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--source-fps", type=int, default=10, help="what the cameras send")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each spell")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="480x270", help="of a tile: 16 of them on 1920x1080")
    parser.add_argument("--fps", type=float, default=10.0)
    parser.add_argument("--crowd", type=int, default=50, help="viewers; 0: none")
    parser.add_argument("--crowd-seconds", type=float, default=60.0)
    parser.add_argument("--crowd-tiles", type=int, default=16)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        running(options, Path(name)) as (process, url),
    ):
        time.sleep(_SETTLING_S)
        spells: dict[int, list[dict[str, Any]]] = {0: [], 1: [], 2: []}
        for _ in range(options.rounds):
            for viewers, found in spells.items():
                found.append(spell(options, process, url, viewers))
        crowded = crowd(options, process, url) if options.crowd else None
    report(options, spells, crowded)


def report(
    options: argparse.Namespace,
    spells: dict[int, list[dict[str, Any]]],
    crowded: dict[str, Any] | None,
) -> None:
    """Print what is judged."""
    cores = {n: statistics.median(one["cores"] for one in found) for n, found in spells.items()}
    fps = {n: statistics.median(one["fps"] for one in found) for n, found in spells.items()}
    # A machine that others keep busy lets the pipeline fall behind: its share goes with its frames.
    share = {n: cores[n] - cores[0] * fps[n] / fps[0] for n in cores}
    first, second = share[1], share[2] - share[1]
    tile_fps = statistics.median(one["fps_median"] for one in spells[1])
    figures: dict[str, Any] = {
        "cores": cores,
        "fps": fps,
        "first_viewer_cores": first,
        "second_viewer_share": second / first,
        "age_p95_ms": statistics.median(one["age_p95_ms"] for one in spells[1]),
        "tile_fps": tile_fps,
        "ms_per_picture": 1000 * first / (tile_fps * options.streams),
        "crowd": crowded,
        "load": os.getloadavg()[0],
    }
    print(
        f"{options.streams} streams of 1080p, {options.fps:g} wall frames a second, {options.size}"
    )
    print(f"  nobody watches  {cores[0]:.2f} cores, {fps[0]:.0f} frames/s")
    print(f"  one viewer      {cores[1]:.2f} cores: {first:.2f} more (at most 0.35)")
    print(f"  a second one    {second:.3f} more: {second / first:.0%} of that (at most 15 %)")
    print(
        f"  its tiles       {tile_fps:.1f} a second, p95 {figures['age_p95_ms']:.0f} ms;"
        f" {figures['ms_per_picture']:.2f} ms of CPU each"
    )
    if min(fps.values()) < _STEADY * max(fps.values()) or tile_fps < _STEADY * options.fps:
        print("  not steady      the machine has other things to do: measure again on a quiet one")
    if crowded is not None:
        print(
            f"  {options.crowd} viewers      healthy ones get {crowded['fps_least']:.1f} to"
            f" {crowded['fps_most']:.1f} a second; the pipeline {crowded['fps']:.0f} frames/s"
            f" ({crowded['fps'] / fps[1]:.0%}); {crowded['cores']:.2f} cores; memory"
            f" {crowded['rss_mb_middle']:.0f}, then {crowded['rss_mb_end']:.0f} MB"
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
