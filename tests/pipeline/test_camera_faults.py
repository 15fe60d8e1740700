"""Everything that a camera can do wrong, done to one while another is watched: real RTSP servers.

A fault is over within the open timeout, the back-off and one group of pictures; the other camera
notices nothing, and every frame of both is accounted for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.graphs import saved, ssd_rows
from tests.peers import Proxy, proxied
from tests.rtsp import Camera, RtspServer, has_rtsp_server, rtsp_server
from tests.threads import wait_until
from vidpipe import FrameResult, Pipeline, StreamState
from vidpipe.errors import SourceCause

pytestmark = [
    pytest.mark.rtsp,
    pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server"),
]

PASSWORD = "p@ss/w:rd#1 ü%41"
PATIENCE_S = 40.0
OPEN_S = 3.0
BACKOFF_S = (0.1, 0.5)
LONGEST_REST_S = 2 * BACKOFF_S[1]
"""After a refused password, or a path that isn't there."""
KEY_FRAME_S = 12 / 25
RECOVERY_S = OPEN_S + LONGEST_REST_S + KEY_FRAME_S + 2.0
"""From the fault's end to the first frame."""
CONNECT = {
    "open_timeout_s": OPEN_S,
    "read_timeout_s": 1,
    "backoff_s": list(BACKOFF_S),
    "username": "viewer",
    "password": PASSWORD,
}


@dataclass
class Site:
    """Two cameras, the one steady, the other behind a proxy and about to have a fault."""

    pipeline: Pipeline
    proxy: Proxy
    server: RtspServer
    stack: ExitStack
    sizes: set[tuple[int, int]] = field(default_factory=set)
    times: list[float | None] = field(default_factory=list)

    def note(self, result: FrameResult) -> None:
        if result.frame.stream == "ill":
            self.sizes.add(result.frame.size_wh)
            self.times.append(result.frame.pts_s)

    def captured(self, stream: str) -> int:
        return self.pipeline.stats()[stream].captured

    def goes_on(self, stream: str, frames: int = 10) -> None:
        """Wait until so many more frames have come."""
        count = self.captured(stream) + frames
        wait_until(lambda: self.captured(stream) >= count, f"{stream} goes on", PATIENCE_S)

    def recovery_s(self) -> float:
        """Return how long it takes from now, the fault's end, to the next frame."""
        ended_at = time.monotonic()
        self.goes_on("ill", 1)
        return time.monotonic() - ended_at

    def is_in(self, *states: StreamState) -> None:
        """Wait until the ill camera is in one of these states, and the other goes on meanwhile."""
        wait_until(
            lambda: self.pipeline.reports()["ill"].state in states, f"one of {states}", PATIENCE_S
        )
        self.goes_on("well")

    def replace(self, username: str = "viewer", password: str = PASSWORD, **how: Any) -> None:
        """Let another camera take the ill one's place."""
        self.server.kill()
        self.server = self.stack.enter_context(
            rtsp_server(username, password, port=self.server.port, **how)
        )


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """Run both cameras until the block ends; every frame is accounted for then."""
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
    with ExitStack() as stack:
        well = stack.enter_context(rtsp_server("viewer", PASSWORD))
        ill = stack.enter_context(rtsp_server("viewer", PASSWORD))
        proxy = stack.enter_context(proxied(ill.port))
        config = {
            "version": 1,
            "models": {"tiny": {"path": str(model)}},
            "defaults": {"connect": CONNECT},
            "streams": [
                {"id": "well", "source": well.url()},
                {"id": "ill", "source": f"rtsp://127.0.0.1:{proxy.port}/cam"},
                # One that never comes up, all the while: its name can't be resolved.
                {"id": "lost", "source": "rtsp://camera.invalid/cam"},
            ],
        }
        notes: list[Callable[[FrameResult], None]] = []
        pipeline = Pipeline(config, lambda result: [note(result) for note in notes])
        here = Site(pipeline, proxy, ill, stack)
        notes.append(here.note)
        with pipeline:
            for stream in ("well", "ill"):
                here.goes_on(stream)
            yield here
            for stats in pipeline.stats().values():
                lost = sum(stats.dropped.values())
                assert stats.captured == stats.processed + stats.passed + lost + stats.in_flight
        stats = pipeline.stats()["well"]
        assert stats.reconnects == 0, "the steady camera was disturbed"
        assert all(s.in_flight == 0 for s in pipeline.stats().values())
        assert [failure.stream for failure in pipeline.failures] == ["lost"]


def killed(here: Site) -> None:
    here.server.kill()
    here.is_in(StreamState.BACKING_OFF)
    here.replace()


def frozen(here: Site) -> None:
    here.server.freeze()
    here.is_in(StreamState.STALLED)
    here.is_in(StreamState.BACKING_OFF, StreamState.CONNECTING)
    here.server.thaw()


def held_on_the_way(here: Site) -> None:
    here.proxy.hold()
    here.is_in(StreamState.BACKING_OFF)
    here.proxy.release()


def delayed_on_the_way(here: Site) -> None:
    here.proxy.delay_s = 0.2
    here.goes_on("ill", 25)
    assert here.pipeline.reports()["ill"].state is StreamState.LIVE
    here.proxy.delay_s = 0.0


def cut_in_the_middle(here: Site) -> None:
    here.proxy.cut()
    here.is_in(StreamState.BACKING_OFF)
    here.proxy.mend()


def locked(here: Site) -> None:
    here.replace(password="another")
    here.is_in(StreamState.FAILED)
    assert here.pipeline.reports()["ill"].cause is SourceCause.AUTHENTICATION
    here.replace()


def moved(here: Site) -> None:
    here.replace(camera=Camera(path="elsewhere"))
    here.is_in(StreamState.BACKING_OFF, StreamState.FAILED)
    wait_until(
        lambda: here.pipeline.reports()["ill"].cause is SourceCause.NOT_FOUND, "told", PATIENCE_S
    )
    here.replace()


def lossy(here: Site) -> None:
    here.replace(camera=Camera(loss=0.2))
    here.goes_on("ill", 25)
    here.replace()


def another_camera(here: Site) -> None:
    here.replace(camera=Camera("h265", "480x272"))
    wait_until(lambda: (480, 272) in here.sizes, "the new camera", PATIENCE_S)
    here.replace()
    here.sizes.clear()
    wait_until(lambda: (320, 240) in here.sizes, "the old camera", PATIENCE_S)


FAULTS = (
    killed,
    frozen,
    held_on_the_way,
    delayed_on_the_way,
    cut_in_the_middle,
    locked,
    moved,
    lossy,
    another_camera,
)


@pytest.mark.timeout(300)
def test_whatever_happens_to_a_camera_it_comes_back_and_harms_no_other(
    tmp_path: Path, log_lines: list[str]
) -> None:
    with site(tmp_path) as here:
        for fault in FAULTS:
            fault(here)
            assert here.recovery_s() <= RECOVERY_S, fault.__name__
            here.goes_on("ill", 20)
            assert here.pipeline.reports()["ill"].error is None
    times = [time_s for time_s in here.times if time_s is not None]
    assert len(times) == len(here.times)
    assert times == sorted(set(times)), "timestamps only rise, whatever the cameras say"
    told = "\n".join(log_lines)
    assert PASSWORD not in told
    assert "p%40ss" not in told


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_camera_with_a_new_fault_every_few_seconds_costs_nothing(tmp_path: Path) -> None:
    process = psutil.Process()
    rng = random.Random(5)
    samples: list[tuple[float, int, int]] = []
    with site(tmp_path) as here:
        started_at, first = time.monotonic(), here.captured("well")
        while time.monotonic() - started_at < 600.0:
            fault = rng.choice(FAULTS)
            fault(here)
            assert here.recovery_s() <= RECOVERY_S, fault.__name__
            here.goes_on("ill", 20)
            memory_mb = process.memory_info().rss / 1e6
            samples.append((memory_mb, process.num_threads(), process.num_fds()))
        took_s = time.monotonic() - started_at
        rate_fps = (here.captured("well") - first) / took_s
    assert rate_fps == pytest.approx(25.0, rel=0.05)
    middle, last = samples[len(samples) // 3 : len(samples) * 2 // 3], samples[-10:]
    assert max(s[0] for s in last) - max(s[0] for s in middle) < 24.0, samples
    assert max(s[1] for s in last) <= max(s[1] for s in middle) + 3, samples
    assert max(s[2] for s in last) <= max(s[2] for s in middle) + 6, samples
