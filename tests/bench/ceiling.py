"""The bare parts that a pipeline is measured against: programs of their own, without vidpipe.

Run as ``python -m tests.bench.ceiling PART PATH SECONDS``, where PART is one of

    decode    PATH is a clip: PyAV, one thread
    infer     PATH is a model: saturated, asynchronous
    encode    PATH is a clip: libx264, as vidpipe sets it


Each prints one line of JSON: frames, seconds and CPU seconds from its first frame to its last.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import openvino as ov


def decode(clip: str) -> Iterator[None]:
    """Decode a clip over and over."""
    while True:
        with av.open(clip) as container:
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            for _ in container.decode(stream):
                yield


def infer(model: str) -> Iterator[None]:
    """Keep every request of a model busy; its input is u8 in the model's own layout or f32."""
    core = ov.Core()
    graph = core.read_model(model)
    steps = ov.preprocess.PrePostProcessor(graph)
    steps.input(0).tensor().set_element_type(ov.Type.u8)
    compiled = core.compile_model(
        steps.build(), "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "ENABLE_CPU_PINNING": False}
    )
    shape = compiled.input(0).shape
    count = 2 * int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")) + 1
    requests = [compiled.create_infer_request() for _ in range(count)]
    for request in requests:
        picture = np.random.default_rng(0).integers(0, 255, tuple(shape), np.uint8)
        request.set_input_tensor(ov.Tensor(picture))
        request.start_async()
    while True:
        for request in requests:
            request.wait()
            request.start_async()
            yield


def encode(clip: str) -> Iterator[None]:
    """Encode a clip's pictures over and over, decoded beforehand."""
    with av.open(clip) as container:
        frames = [frame for _, frame in zip(range(50), container.decode(video=0), strict=False)]
    while True:
        with av.open(BytesIO(), "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=25)
            stream.width, stream.height, stream.pix_fmt = (
                frames[0].width,
                frames[0].height,
                "yuv420p",
            )
            stream.codec_context.thread_count = 1
            stream.options = {"preset": "superfast", "crf": "23"}
            for number, frame in enumerate(frames * 10):
                frame.pts, frame.time_base = number, Fraction(1, 25)
                container.mux(stream.encode(frame))
                yield


def cpu_s() -> float:
    """Return the CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run one part for so long and print what it cost."""
    part, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    work = {"decode": decode, "infer": infer, "encode": encode}[part](path)
    for _ in range(20):
        next(work)
    started_at, cpu_before_s, frames = time.monotonic(), cpu_s(), 0
    while time.monotonic() - started_at < seconds:
        next(work)
        frames += 1
    wall_s = time.monotonic() - started_at
    print(json.dumps({"frames": frames, "seconds": wall_s, "cpu_s": cpu_s() - cpu_before_s}))


if __name__ == "__main__":
    main()
