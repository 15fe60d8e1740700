from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.graphs import picture_parameter, plane_means, saved, ssd_rows
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.proof import prove_batches
from vidpipe.inference.request import BoundRequest
from vidpipe.inference.settings import DetectorSettings
from vidpipe.types import Pixels

Mix = Callable[[ov.Node], ov.Node]
"""What happens to the pictures' mean brightness, [N,1,1,1], before it is answered."""


def told_apart(mix: Mix) -> ov.Model:
    """Return an SSD that answers every picture with one row, which tells its brightness."""
    image = picture_parameter()
    mean = ops.divide(ops.reduce_mean(image, np.array([1, 2, 3]), keep_dims=True), np.float32(255))
    nothing = ops.multiply(mean, np.float32(0))
    before = ops.constant(np.array([0, 1, 0.9, 0, 0], np.float32).reshape(1, 1, 1, 5))
    row = ops.concat([ops.add(nothing, before), mix(mean), ops.add(nothing, np.float32(1))], 3)
    row.output(0).set_names({"detection_out"})
    return ov.Model([ops.result(row)], [image], "apart")


def right(mean: ov.Node) -> ov.Node:
    return mean


def moved_on(mean: ov.Node) -> ov.Node:
    return ops.roll(mean, np.array([1]), np.array([0]))


def the_first_for_all(mean: ov.Node) -> ov.Node:
    first = ops.gather(mean, np.array([0]), np.array(0))
    return ops.add(ops.multiply(mean, np.float32(0)), first)


def a_little_of_the_others(mean: ov.Node) -> ov.Node:
    others = ops.subtract(ops.reduce_sum(mean, np.array([0]), keep_dims=True), mean)
    return ops.add(mean, ops.multiply(others, np.float32(0.05)))


def brightest_first(mean: ov.Node) -> ov.Node:
    count = ops.gather(ops.shape_of(mean), np.array(0), np.array(0))
    return ops.topk(mean, count, 0, "max", "value").output(0)


def darkest_first(mean: ov.Node) -> ov.Node:
    count = ops.gather(ops.shape_of(mean), np.array(0), np.array(0))
    return ops.topk(mean, count, 0, "min", "value").output(0)


def all_alike(mean: ov.Node) -> ov.Node:
    return ops.add(ops.multiply(mean, np.float32(0)), np.float32(0.5))


def fixed_for_one(mean: ov.Node) -> ov.Node:
    return ops.reshape(mean, np.array([1, 1, 1, 1]), special_zero=False)


def compiled(graph: ov.Model, folder: Path, *sizes: int) -> list[CompiledDetector]:
    path = saved(graph, folder)
    settings = DetectorSettings(name="tiny", decoder="ssd", labels=("thing",))
    return [compile_detector(path, settings, size) for size in sizes]


@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 4), (1, 40), (1,)])
def test_a_model_that_keeps_pictures_apart_is_proved(
    tmp_path: Path, sizes: tuple[int, ...], log_lines: list[str]
) -> None:
    prove_batches(compiled(told_apart(right), tmp_path, *sizes))
    assert not [line for line in log_lines if line.startswith("WARNING")]


@pytest.mark.parametrize(
    "mix",
    # One of the two that sort has it right by chance, until the pictures change places.
    [moved_on, the_first_for_all, a_little_of_the_others, brightest_first, darkest_first],
)
def test_a_model_that_mixes_pictures_up_is_refused(tmp_path: Path, mix: Mix) -> None:
    with pytest.raises(ModelError) as caught:
        prove_batches(compiled(told_apart(mix), tmp_path, 1, 2))
    text = str(caught.value)
    assert "model tiny: it can't run in batches: batches of 2 failed: picture" in text
    assert "answered otherwise than alone" in text
    assert "mode: shared" in text


def test_a_model_that_answers_all_pictures_with_one_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't run in batches"):
        prove_batches(compiled(plane_means(), tmp_path, 1, 2))


def test_a_list_that_knows_the_first_picture_only_is_refused(tmp_path: Path) -> None:
    graph = ssd_rows([[0, 1, 0.9, 0.1, 0.1, 0.5, 0.5]])
    with pytest.raises(ModelError, match="picture 2 of 2"):
        prove_batches(compiled(graph, tmp_path, 1, 2))


def test_what_cannot_be_proved_is_said(tmp_path: Path, log_lines: list[str]) -> None:
    prove_batches(compiled(told_apart(all_alike), tmp_path, 1, 2))
    assert any("WARNING" in line and "not proved" in line for line in log_lines)


def test_a_model_that_takes_no_batch_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"takes no 2 pictures at once: .*mode: shared"):
        compiled(told_apart(fixed_for_one), tmp_path, 2)


class FailingRequest(BoundRequest):
    """The device fails at every batch."""

    __slots__ = ()

    def wait(self, timeout_s: float) -> bool:
        super().wait(timeout_s)
        raise InferenceError("the device failed: out of room")


def test_a_batch_that_fails_is_refused(tmp_path: Path) -> None:
    class Failing(CompiledDetector):
        def create_request(self, pixels: Pixels | None = None) -> BoundRequest:
            return FailingRequest(self._compiled, pixels)

    single, pair = compiled(told_apart(right), tmp_path, 1, 2)
    with pytest.raises(ModelError, match="batches of 2 failed: the device failed: out of room"):
        prove_batches([single, Failing(pair.detector, pair._compiled)])


def detection_output(least: float) -> ov.Model:
    """Return a model whose one box has the picture's brightness for its score; above ``least``."""
    image = picture_parameter()
    mean = ops.divide(
        ops.reduce_mean(image, np.array([1, 2, 3]), keep_dims=False), np.float32(2550)
    )
    score = ops.unsqueeze(mean, np.array(1))
    scores = ops.concat([ops.subtract(np.float32(1), score), score], 1)
    boxes = ops.multiply(ops.concat([score] * 4, 1), np.float32(0))
    priors = np.array([[[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.2, 0.2]]], np.float32)
    found = ops.detection_output(
        boxes,
        scores,
        ops.constant(priors.reshape(1, 2, 4)),
        {
            "background_label_id": 0,
            "top_k": 10,
            "keep_top_k": [10],
            "code_type": "caffe.PriorBoxParameter.CENTER_SIZE",
            "share_location": True,
            "nms_threshold": 0.5,
            "confidence_threshold": least,
            "normalized": True,
        },
    )
    found.output(0).set_names({"detection_out"})
    return ov.Model([ops.result(found)], [image], "lists")


@pytest.mark.parametrize("least", [0.0, 0.5])
def test_a_model_that_finds_nothing_in_the_cards_is_tried_with_a_lower_threshold(
    tmp_path: Path, least: float, log_lines: list[str]
) -> None:
    prove_batches(compiled(detection_output(least), tmp_path, 1, 2))
    assert not [line for line in log_lines if line.startswith("WARNING")]


@pytest.fixture(scope="module")
def models() -> Path:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if not folder:
        pytest.skip("VIDPIPE_TEST_DATA is not set")
    return Path(folder) / "models"


def prove(models: Path, name: str) -> None:
    path = next(iter([*(models / name).glob("*.xml"), *(models / name).glob("*.onnx")]))
    settings = DetectorSettings(name=name)
    prove_batches([compile_detector(path, settings, size) for size in (1, 2, 3)])


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    [
        "person-vehicle-bike-detection-2000",
        "person-detection-retail-0013",
        "vehicle-license-plate-detection-barrier-0106",
    ],
)
def test_real_models_with_a_list_of_detections_work_in_batches(
    models: Path, name: str, log_lines: list[str]
) -> None:
    prove(models, name)
    assert not [line for line in log_lines if line.startswith("WARNING")]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("yolox_nano", r"outputs \[1,7098,85\] where \[2,3549,85\] would be right"),
        ("nanodet_m", "takes no 2 pictures at once"),
        ("person-vehicle-bike-detection-2004", r"\[\?,5\] and \[\?\] where one a picture"),
    ],
)
def test_real_models_that_go_wrong_in_batches_are_refused(
    models: Path, name: str, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        prove(models, name)
