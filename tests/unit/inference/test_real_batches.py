"""A real detector in batches, against what it says of each frame alone."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import av
import numpy as np
import pytest

from tests.builders import make_frame
from tests.desks import batch_desk
from tests.threads import running
from vidpipe.inference.batching import BatchSettings
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.types import Frame, Picture


def people(clip: Path, count: int) -> list[Frame]:
    """Return every tenth frame of a clip."""
    frames: list[Frame] = []
    with av.open(str(clip)) as container:
        for number, decoded in enumerate(container.decode(video=0)):
            if number % 10:
                continue
            y, u, v = (
                np.frombuffer(bytes(plane), np.uint8).reshape(-1, plane.line_size)[:, : plane.width]
                for plane in decoded.planes
            )
            frames.append(make_frame(len(frames), picture=Picture(y, u, v)))
            if len(frames) == count:
                break
    return frames


@pytest.mark.realdata
def test_a_real_model_answers_in_batches_as_it_does_alone() -> None:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if not folder:
        pytest.skip("VIDPIPE_TEST_DATA is not set")
    name = "person-detection-retail-0013"
    path = Path(folder) / "models" / name / f"{name}.xml"
    compile_model = partial(compile_detector, path, DetectorSettings(name=name))
    frames = people(Path(folder) / "videos" / "one-by-one-person-detection.mp4", 22)
    alone = compile_model()
    expected = [alone.infer_once(frame.picture) for frame in frames]
    assert len({found.boxes_xyxy.tobytes() for found in expected}) > 10
    settings = BatchSettings(size=4, gather_s=60.0, requests=2)
    with batch_desk(compile_model, settings) as (bench, pool):

        def read() -> None:
            for _ in frames:
                submission = bench.delivered.get(timeout_s=60)
                found, own = submission.detections(), expected[submission.sequence]
                submission.release()
                assert found.labels == own.labels
                np.testing.assert_allclose(found.boxes_xyxy, own.boxes_xyxy, atol=0.5)
                np.testing.assert_allclose(found.scores, own.scores, atol=0.01)

        with running(read):
            for frame in frames:
                bench.submit(frame)
            pool.flush()
        assert pool.report(name).batched_frames == 22
        bench.assert_complete()
