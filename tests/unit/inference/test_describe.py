from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.graphs import fixed_outputs, picture_parameter, saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference.describe import describe_model
from vidpipe.inference.settings import Color, Resize

ROWS = [[0, 1, 0.9, 0, 0, 1, 1]] * 50


def test_a_model_is_described_without_running_it(tmp_path: Path) -> None:
    graph = ssd_rows(ROWS)
    graph.set_rt_info(json.dumps(["dog", "traffic light"]), ["vidpipe", "labels"])
    graph.set_rt_info("tiny", ["vidpipe", "name"])
    path = saved(graph, tmp_path)
    about = describe_model(path)
    assert about.inputs == ("image [1,3,24,32] f32",)
    assert about.outputs == ("detection_out [1,1,50,7] f32",)
    assert about.reason == ""
    assert about.labels == {0: "dog", 1: "traffic light"}
    assert about.precision == "FP32"
    assert about.metadata == {"name": "tiny"}
    assert about.known_as is None
    assert about.size_bytes == path.stat().st_size + path.with_suffix(".bin").stat().st_size


def test_what_vidpipe_would_do_with_it_is_said(tmp_path: Path) -> None:
    use = describe_model(saved(ssd_rows(ROWS), tmp_path)).use
    assert use is not None
    assert use.family == "ssd"
    assert "[1,1,N,7]" in use.why
    assert use.input_wh == (32, 24)
    assert (use.recipe.color, use.recipe.resize) == (Color.BGR, Resize.STRETCH)
    assert (use.confidence, use.iou) == (0.4, None)
    assert (use.class_count, use.labels_from, use.complaint) == (None, "", "")


def test_halved_weights_are_told(tmp_path: Path) -> None:
    path = tmp_path / "half.xml"
    ov.save_model(ssd_rows(ROWS), path, compress_to_fp16=True)
    assert describe_model(path).precision == "FP16"


def test_a_model_of_no_family_is_described_with_the_reason(tmp_path: Path) -> None:
    graph = fixed_outputs({"colour": [[1.0] * 9]})
    graph.set_rt_info("red blue", ["model_info", "labels"])
    about = describe_model(saved(graph, tmp_path))
    assert about.use is None
    assert "no decoder fits its outputs (colour [1,9] f32)" in about.reason
    assert about.labels == {0: "red", 1: "blue"}


def test_open_dimensions_are_question_marks(tmp_path: Path) -> None:
    about = describe_model(saved(ssd_rows(ROWS, shape=(-1, 3, -1, 32)), tmp_path))
    assert about.inputs == ("image [?,3,?,32] f32",)
    assert about.use is not None
    assert about.use.input_wh == (32, 300)


def test_the_cost_is_reckoned_for_the_size_that_would_be_used(tmp_path: Path) -> None:
    image = picture_parameter((1, 3, -1, -1))
    kernel = ops.constant(np.zeros((16, 3, 1, 1), np.float32))
    shape = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
    most = ops.reduce_max(ops.convolution(image, kernel, **shape), np.array([0, 1, 2, 3]))
    rows = ops.add(most, ops.constant(np.zeros((1, 1, 5, 7), np.float32)))
    rows.output(0).set_names({"detection_out"})
    about = describe_model(saved(ov.Model([ops.result(rows)], [image], "tiny"), tmp_path))
    assert about.cost.gflops == pytest.approx(2 * 300 * 300 * 3 * 16 / 1e9)
    assert about.cost.parameters == 48 + 35


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        describe_model(tmp_path / "none.xml")
