"""Hundreds of reconnects to cameras that aren't there: nothing of them stays behind."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import psutil
import pytest

from tests.peers import peer, silent
from tests.threads import running, wait_until
from vidpipe.runtime.meters import StreamMeter
from vidpipe.sources.capture import Capture, CapturePolicy
from vidpipe.sources.connection import Backoff
from vidpipe.sources.opening import SourceSpec, open_reader
from vidpipe.types import SourceKind

GROWTH_MB = 8
"""What the allocator may still take for itself."""


@contextmanager
def dead() -> Iterator[int]:
    """Yield a port where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield port


@contextmanager
def mute() -> Iterator[int]:
    """Yield a port where somebody answers, and says nothing."""
    with peer(silent) as port:
        yield port


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        pytest.param(dead, 60, id="dead-short"),
        pytest.param(mute, 30, id="silent-short"),
        pytest.param(dead, 500, id="dead", marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param(mute, 500, id="silent", marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
    ],
)
def test_reconnects_leave_nothing_behind(
    kind: Callable[[], AbstractContextManager[int]], tries: int
) -> None:
    process = psutil.Process()
    meter = StreamMeter()
    policy = CapturePolicy(
        "gate", is_live=True, backoff=Backoff(0.001, 0.001), open_timeout_s=0.05, read_timeout_s=1.0
    )

    def measured() -> tuple[float, int, int]:
        gc.collect()
        return process.memory_info().rss / 1e6, process.num_threads(), process.num_fds()

    with kind() as port:
        spec = SourceSpec(
            f"rtsp://bob:secret@127.0.0.1:{port}/x", SourceKind.NETWORK, open_timeout_s=0.05
        )
        capture = Capture(policy, partial(open_reader, spec), lambda _: True, meter, time.monotonic)
        with running(capture.run):
            wait_until(lambda: meter.snapshot().reconnects >= tries // 3, "the first ones", 300)
            before = measured()
            wait_until(lambda: meter.snapshot().reconnects >= tries, "all of them", 300)
            after = measured()
            capture.stop()
    assert after[0] - before[0] < GROWTH_MB, (before, after)
    assert abs(after[1] - before[1]) <= 4  # one open may be under way
    assert abs(after[2] - before[2]) <= 4
    assert meter.snapshot().errors["capture"] >= tries
