"""Real detectors on real clips, against boxes that an independent, plain program found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from vidpipe.errors import ModelError
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings, Precision
from vidpipe.types import Detections, Picture

pytestmark = pytest.mark.realdata

FAMILIES = {
    "person-vehicle-bike-detection-2000": "ssd",
    "person-vehicle-bike-detection-2004": "omz-boxes",
    "person-detection-retail-0013": "ssd",
    "vehicle-license-plate-detection-barrier-0106": "ssd",
    "yolox_nano": "yolox",
    "nanodet_m": "nanodet",
}
HEAVY = "person-vehicle-bike-detection-crossroad-0078"
LEAST_IOU = 0.8
MARGIN = 0.05


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if not folder:
        pytest.skip("VIDPIPE_TEST_DATA is not set")
    return Path(folder)


def pictures(clip: Path) -> Iterator[tuple[int, Picture]]:
    with av.open(str(clip)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            y, u, v = (
                np.frombuffer(bytes(plane), np.uint8).reshape(-1, plane.line_size)[:, : plane.width]
                for plane in frame.planes
            )
            yield number, Picture(y, u, v)


def detector(data: Path, model: str, confidence: float) -> CompiledDetector:
    """Return a model of which only the path is said: all else is its own."""
    folder = data / "models" / model
    path = next(iter([*folder.glob("*.xml"), *folder.glob("*.onnx")]))
    return compile_detector(
        path, DetectorSettings(model, confidence=confidence, precision=Precision.F32)
    )


def overlaps(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (A, B) intersections over unions."""
    a, b = a[:, None], b[None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = np.maximum(sides, 0).prod(axis=2)
    areas = (a[..., 2:] - a[..., :2]).prod(axis=2) + (b[..., 2:] - b[..., :2]).prod(axis=2)
    return np.asarray(shared / (areas - shared))


def missing(found: Detections, expected: list[dict[str, Any]], least_score: float) -> list[object]:
    """Return what one side has and the other hasn't."""
    theirs = np.array([box["box"] for box in expected], float).reshape(-1, 4)
    alike = overlaps(theirs, found.boxes_xyxy.astype(float)) >= LEAST_IOU
    alike &= np.array([b["class_id"] for b in expected])[:, None] == found.class_ids
    alike &= np.array([b["label"] for b in expected])[:, None] == np.array(found.labels, str)
    faults: list[object] = [
        box
        for box, row in zip(expected, alike, strict=True)
        if box["score"] > least_score and not row.any()
    ]
    faults += [
        box
        for box, score, column in zip(
            found.boxes_xyxy.tolist(), found.scores.tolist(), alike.T, strict=True
        )
        if score > least_score and not column.any()
    ]
    return faults


@pytest.mark.parametrize("model", list(FAMILIES))
def test_real_models_agree_with_a_plain_program(data: Path, model: str) -> None:
    runs = json.loads((data / "expected.json").read_text("utf-8"))
    mine = [run for run in runs if run["model"] == model]
    assert mine
    for run in mine:
        detect = detector(data, model, run["confidence"])
        assert detect.describe()["family"] == FAMILIES[model]
        seen = 0
        for number, picture in pictures(data / "videos" / run["video"]):
            expected = run["expected"].get(str(number))
            if expected is not None:
                found = detect.infer_once(picture)
                assert not missing(found, expected, run["confidence"] + MARGIN), number
                seen += 1
        assert seen == len(run["expected"])


def test_every_model_with_expected_boxes_is_tried(data: Path) -> None:
    runs = json.loads((data / "expected.json").read_text("utf-8"))
    assert {run["model"] for run in runs} == set(FAMILIES)


@pytest.mark.parametrize(
    "model",
    ["license-plate-recognition-barrier-0001", "vehicle-attributes-recognition-barrier-0039"],
)
def test_models_that_detect_nothing_are_refused(data: Path, model: str) -> None:
    with pytest.raises(ModelError, match=model):
        detector(data, model, 0.4)


def test_a_heavy_model_finds_the_cars(data: Path) -> None:
    detect = detector(data, HEAVY, 0.5)
    for number, picture in pictures(data / "videos" / "udacity_test_video.mp4"):
        if number % 10 == 0:
            assert detect.infer_once(picture).labels[:2] == ("vehicle", "vehicle"), number
