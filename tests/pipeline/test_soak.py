"""Many streams for a while: memory, threads and descriptors stay where they are."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import ended, started, write_config
from tests.graphs import saved, ssd_rows

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
GROWTH_MB = 24
"""What the allocator may still take for itself after the first third."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the process."""

    at_s: float
    rss_mb: float
    threads: int
    descriptors: int


def many_streams(folder: Path, count: int) -> dict[str, Any]:
    """Return a configuration of drawn scenes and looping files, played as cameras would."""
    model = saved(ssd_rows([ROW]), folder)
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=50, size_wh=(320, 240)))
    drawn = "synthetic:people?size=320x240&fps=12"
    streams: list[dict[str, Any]] = [
        {"id": f"s{n}", "source": drawn if n % 2 else str(clip), "realtime": True, "loop": True}
        for n in range(count)
    ]
    streams[0]["outputs"] = [{"type": "video", "path": "out/{stream}.mp4"}]
    return {
        "models": {"tiny": {"path": str(model)}},
        "defaults": {"outputs": [{"type": "jsonl", "path": "out/{stream}.jsonl"}]},
        "streams": streams,
    }


def watch(process: psutil.Process, seconds: float) -> list[Sample]:
    """Look at a process once a second."""
    samples = []
    started_at = time.monotonic()
    while (at_s := time.monotonic() - started_at) < seconds:
        samples.append(
            Sample(
                at_s,
                process.memory_info().rss / 1e6,
                process.num_threads(),
                process.num_fds(),
            )
        )
        try:
            process.wait(1.0)
        except psutil.TimeoutExpired:
            continue
        raise AssertionError("the process ended by itself")
    return samples


@pytest.mark.parametrize(
    ("count", "seconds"),
    [
        pytest.param(16, 12.0, id="short"),
        pytest.param(64, 60.0, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(240)]),
    ],
)
def test_memory_stays_flat(tmp_path: Path, count: int, seconds: float) -> None:
    config = write_config(tmp_path, many_streams(tmp_path, count))
    with started("run", config, cwd=tmp_path) as process:
        samples = watch(psutil.Process(process.pid), seconds)
        process.send_signal(signal.SIGTERM)
        done = ended(process)

    assert done.code == 0, done.err
    settled = [sample for sample in samples if sample.at_s > seconds / 3]
    middle, last = settled[: len(settled) // 2], settled[len(settled) // 2 :]
    print(f"\n{count} streams: {settled[0]} ... {settled[-1]}, {os.cpu_count()} cores")
    assert max(s.rss_mb for s in last) - max(s.rss_mb for s in middle) < GROWTH_MB
    assert len({s.threads for s in settled}) <= 3
    assert max(s.descriptors for s in last) <= max(s.descriptors for s in middle) + count
    counts = re.findall(r"s\d+: \w+, (\d+) frames captured, (\d+) processed", done.err)
    assert len(counts) == count
    assert all(int(processed) > 0 for _, processed in counts)
