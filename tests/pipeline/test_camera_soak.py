"""A site of cameras of which one is restarted every few seconds: nothing grows, all come back."""

from __future__ import annotations

import random
import re
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.command import ended, started, write_config
from tests.graphs import saved, ssd_rows
from tests.rtsp import Camera, RtspServer, has_rtsp_server, rtsp_server
from tests.threads import wait_until

pytestmark = [
    pytest.mark.rtsp,
    pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
]

SMALL = Camera(size="160x120")
RESTART_EVERY_S = 5.0
GROWTH_MB = 24
"""What the allocator may still take for itself after the first third."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the process."""

    rss_mb: float
    threads: int
    descriptors: int


def size_of(folder: Path, stream: str) -> int:
    path = folder / "out" / f"{stream}.jsonl"
    return path.stat().st_size if path.exists() else 0


def has_grown(folder: Path, stream: str, size: int) -> bool:
    """Tell whether a stream has written more than that."""
    return size_of(folder, stream) > size


@pytest.mark.parametrize(
    ("count", "seconds"),
    [
        pytest.param(12, 30.0, id="short", marks=pytest.mark.timeout(240)),
        pytest.param(12, 1200.0, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(1600)]),
    ],
)
def test_cameras_that_are_restarted_all_the_time_leave_nothing_behind(
    tmp_path: Path, count: int, seconds: float
) -> None:
    rng = random.Random(12)
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), tmp_path)
    names = [f"c{number}" for number in range(count)]
    samples: list[Sample] = []
    with ExitStack() as stack:

        def camera(port: int = 0) -> RtspServer:
            return stack.enter_context(rtsp_server(camera=SMALL, port=port))

        servers = [camera() for _ in names]
        document = {
            "models": {"tiny": {"path": str(model)}},
            "defaults": {
                "detect_fps": 5,
                "connect": {"backoff_s": [0.2, 1.0], "open_timeout_s": 10},
                "outputs": [{"type": "jsonl", "path": "out/{stream}.jsonl"}],
            },
            "streams": [
                {"id": name, "source": server.url()}
                for name, server in zip(names, servers, strict=True)
            ],
        }
        with started("run", write_config(tmp_path, document), cwd=tmp_path) as running:
            process = psutil.Process(running.pid)
            for name in names:
                wait_until(partial(has_grown, tmp_path, name, 0), f"{name} is up", 90.0)
            started_at = last_at = time.monotonic()
            while time.monotonic() - started_at < seconds:
                samples.append(
                    Sample(
                        process.memory_info().rss / 1e6, process.num_threads(), process.num_fds()
                    )
                )
                with pytest.raises(psutil.TimeoutExpired):
                    process.wait(1.0)
                if time.monotonic() - last_at >= RESTART_EVERY_S:
                    last_at = time.monotonic()
                    number = rng.randrange(count)
                    servers[number].kill()
                    servers[number] = camera(servers[number].port)
            before = {name: size_of(tmp_path, name) for name in names}
            for name in names:
                wait_until(partial(has_grown, tmp_path, name, before[name]), f"{name} is up", 60.0)
            running.send_signal(signal.SIGTERM)
            done = ended(running)
    assert done.code == 0, done.err
    counts = re.findall(r"c\d+: \w+, (\d+) frames captured, (\d+) processed", done.err)
    assert len(counts) == count
    settled = samples[len(samples) // 3 :]
    middle, last = settled[: len(settled) // 2], settled[len(settled) // 2 :]
    story = f"{settled[0]} ... {settled[-1]}"
    assert max(s.rss_mb for s in last) - max(s.rss_mb for s in middle) < GROWTH_MB, story
    # Those that are being opened at the moment have threads and descriptors of their own.
    assert min(s.threads for s in last) <= min(s.threads for s in middle) + 4, story
    assert min(s.descriptors for s in last) <= min(s.descriptors for s in middle) + 4, story
