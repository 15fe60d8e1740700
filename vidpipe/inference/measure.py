"""How many inferences a second a model makes here: bare, saturated, with noise or real pictures."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.request import BoundRequest
from vidpipe.types import Picture

_WARM_UP = 0.2
"""Part of the time that isn't counted."""

_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured.

    Attributes:
        inferences_per_s: With all requests in flight; filling and decoding are not in it.
        requests: How many were in flight.
        seconds: How long was counted.
        cpu_ms: Milliseconds of this process's CPU time an inference: on a machine that has other
            work too, the surer figure.
        device: The devices' full names.
        cores: The cores that this process may use.
    """

    inferences_per_s: float
    requests: int
    seconds: float
    cpu_ms: float
    device: str
    cores: int


def measure_speed(
    model: CompiledDetector,
    seconds: float = 2.0,
    *,
    pictures: Sequence[Picture] = (),
    requests_count: int | None = None,
) -> Speed:
    """Keep a model's device busy for so many seconds and count.

    Args:
        model: The model.
        seconds: How long is counted.
        pictures: What its requests hold, in turn; none: noise.
        requests_count: How many are in flight; None: as many as a pool has.

    Raises:
        InferenceError: The device failed.
        ModelError: It has no room for the requests.
    """
    noise = np.random.default_rng(0)
    wanted = requests_count or 2 * model.optimal_requests + 1
    requests = deque(model.create_request() for _ in range(wanted))
    for number, request in enumerate(requests):
        if pictures:
            model.fill(request, pictures[number % len(pictures)])
        else:
            request.tensor[:] = noise.integers(0, 256, request.tensor.shape, np.uint8)
        request.start()
    try:
        _run(requests, seconds * _WARM_UP)
        began, cpu_began = time.perf_counter(), time.process_time()
        count = _run(requests, seconds)
        taken, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    finally:
        for request in requests:
            request.cancel()
        for request in requests:
            _end(request)
    return Speed(
        inferences_per_s=count / taken,
        requests=len(requests),
        seconds=taken,
        cpu_ms=1000 * cpu_s / count,
        device=", ".join(model.describe()["device_names"].values()),
        cores=len(os.sched_getaffinity(0)),
    )


def _run(requests: deque[BoundRequest], seconds: float) -> int:
    """Start each request again as it ends, for so long; return how many ended."""
    deadline, count = time.perf_counter() + seconds, 0
    while not count or time.perf_counter() < deadline:
        request = requests[0]
        if not request.wait(_LONGEST_S):
            raise InferenceError(f"the device gave no answer within {_LONGEST_S:g} s")
        request.start()
        requests.rotate(-1)
        count += 1
    return count


def _end(request: BoundRequest) -> None:
    try:
        request.wait(_LONGEST_S)
    except InferenceError:  # cancelled, as it was told
        return
