"""The same frames through every way of scheduling: the same results, in order, none missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.graphs import batchable, saved
from tests.threads import wait_until
from vidpipe import FrameResult, ModelError, Pipeline

FRAMES = 40
STREAMS = {"gate": "160x120", "dock": "96x128", "yard": "64x48"}

SCHEDULES: dict[str, dict[str, Any]] = {
    "sync": {"call": "sync"},
    "sync with fewer requests than streams": {"call": "sync", "requests": 1},
    "latency": {"hint": "latency"},
    "independent": {"mode": "independent"},
    "independent and sync": {"mode": "independent", "call": "sync"},
    "batches": {"mode": "batched", "batch": {"size": 4, "timeout_ms": 20}},
    "batches that never wait": {"mode": "batched", "batch": {"size": 8, "timeout_ms": 0}},
    "batches that wait for long": {"mode": "batched", "batch": {"size": 16, "timeout_ms": 60000}},
    "batches of one request": {"mode": "batched", "requests": 1, "batch": {"size": 3}},
    "adaptive": {"hint": "adaptive"},
}

Found = dict[str, list[tuple[int, list[float]]]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(batchable(), tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def expected(model: Path) -> Found:
    return run(model, {})


def configuration(model: Path, keys: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": 1,
        "models": {"tiny": {"path": str(model), "decoder": "yolo-e2e", **keys}},
        "streams": [
            {"id": name, "source": f"synthetic:people?size={size}&frames={FRAMES}&count=3"}
            for name, size in STREAMS.items()
        ],
    }


def run(model: Path, keys: dict[str, Any]) -> Found:
    found: Found = {name: [] for name in STREAMS}

    def take(result: FrameResult) -> None:
        assert result.error is None
        boxes = result.detections
        row = [*boxes.boxes_xyxy.ravel().tolist(), *boxes.scores.tolist()]
        found[result.frame.stream].append((result.frame.number, row))

    pipeline = Pipeline(configuration(model, keys), on_result=take)
    pipeline.run()
    assert pipeline.exit_code == 0
    for stats in pipeline.stats().values():
        assert (stats.captured, stats.processed, stats.in_flight) == (FRAMES, FRAMES, 0)
    return found


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_gives_the_same_results(name: str, model: Path, expected: Found) -> None:
    found = run(model, SCHEDULES[name])
    for stream, rows in expected.items():
        assert [number for number, _ in found[stream]] == list(range(FRAMES))
        numbers = [row for _, row in found[stream]]
        np.testing.assert_allclose(numbers, [row for _, row in rows], atol=1e-3)
    # the model sees something else in each frame: a mix-up would show
    assert len({tuple(row) for _, row in expected["gate"]}) > FRAMES // 2


def test_batches_are_filled_and_counted(model: Path) -> None:
    keys = {"mode": "batched", "batch": {"size": 4, "timeout_ms": 1000}}
    with Pipeline(configuration(model, keys)) as pipeline:
        assert len(list(pipeline)) == FRAMES * len(STREAMS)
        (pool,) = pipeline.pools()
    assert pool.batched_frames == FRAMES * len(STREAMS)
    assert FRAMES * len(STREAMS) / 4 <= pool.batches <= pool.batched_frames
    assert pool.batched_frames <= pool.batch_places <= 4 * pool.batches


def test_each_independent_stream_has_a_pool_of_its_own(model: Path) -> None:
    with Pipeline(configuration(model, {"mode": "independent"})) as pipeline:
        assert [pool.name for pool in pipeline.pools()] == [f"tiny/{name}" for name in STREAMS]
        assert len(list(pipeline)) == FRAMES * len(STREAMS)


def data_folder() -> Path:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if not folder:
        pytest.skip("VIDPIPE_TEST_DATA is not set")
    return Path(folder)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["yolox_nano/yolox_nano.onnx"])
def test_a_real_model_that_mixes_up_a_batch_is_refused(name: str) -> None:
    path = data_folder() / "models" / name
    keys = {"mode": "batched", "batch": {"size": 2}, "decoder": "auto"}
    with pytest.raises(ModelError, match=r"model tiny: it can't run in batches.*mode: shared"):
        Pipeline(configuration(path, keys))


@pytest.mark.slow
@pytest.mark.realdata
def test_a_load_that_rises_and_falls_switches_twice_and_loses_nothing() -> None:
    data = data_folder()
    model = data / "models/person-vehicle-bike-detection-2000"
    clip = str(data / "videos/one-by-one-person-detection.mp4")

    def results(hint: str) -> tuple[Found, dict[str, int]]:
        found: Found = {}

        def take(result: FrameResult) -> None:
            row = [*result.detections.boxes_xyxy.ravel().tolist()]
            found.setdefault(result.frame.stream, []).append((result.frame.number, row))

        # two files as fast as they go, and for a good while after them one of five frames a second
        streams = [
            {"id": "rush-0", "source": clip},
            {"id": "rush-1", "source": clip},
            {
                "id": "calm",
                "source": "synthetic:people?size=320x240&fps=5&frames=400",
                "realtime": True,
            },
        ]
        (path,) = model.glob("*.xml")
        models = {"m": {"path": str(path), "hint": hint, "precision": "f32"}}
        document = {"version": 1, "models": models, "streams": streams}
        pipeline = Pipeline(document, on_result=take)
        pipeline.start()
        wait_until(
            lambda: pipeline.is_done or pipeline.switches().get("m", 0) >= 2, "it is over", 200
        )
        pipeline.close()
        assert pipeline.exit_code == 0
        return found, pipeline.switches()

    found, switches = results("adaptive")
    fixed, _ = results("throughput")
    assert switches == {"m": 2}
    for stream in ("rush-0", "rush-1"):
        assert [number for number, _ in found[stream]] == [number for number, _ in fixed[stream]]
        for (_, left), (_, right) in zip(found[stream], fixed[stream], strict=True):
            np.testing.assert_allclose(left, right, atol=0.5)
    assert [number for number, _ in found["calm"]] == list(range(len(found["calm"])))
