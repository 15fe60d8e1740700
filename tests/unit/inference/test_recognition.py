"""Models whose shapes are open, or of several pictures at once, from a file to boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import fixed_outputs, picture_parameter
from tests.tiny_detectors import graph_detector, table
from vidpipe.errors import ModelError
from vidpipe.inference.describe import describe_model
from vidpipe.inference.settings import InputSettings


def convolutional(shape: tuple[int, ...], columns: int, boxes_a_cell: int = 1) -> ov.Model:
    """Return a graph like YOLOX's or YOLOv5's: a table whose rows are the cells of its input."""
    image = picture_parameter(shape)
    maps = []
    for stride in (8, 16, 32):
        weights = np.zeros((boxes_a_cell * columns, 3, 1, 1), np.float32)
        strides, none = np.array([stride, stride]), np.array([0, 0])
        cells = ops.convolution(image, ops.constant(weights), strides, none, none, np.array([1, 1]))
        flat = ops.reshape(
            ops.transpose(cells, np.array([0, 2, 3, 1])),
            np.array([0, -1, columns]),
            special_zero=True,
        )
        maps.append(flat)
    rows = ops.add(ops.concat(maps, 1), np.full((1, 1, columns), 0.9, np.float32))
    rows.output(0).set_names({"output"})
    return ov.Model([ops.result(rows)], [image], "open")


OPEN = (-1, 3, -1, -1)


@pytest.mark.parametrize(
    ("boxes_a_cell", "family"), [(1, "yolox"), (3, "yolov5")], ids=["one", "three"]
)
@pytest.mark.parametrize("shape", [OPEN, (1, 3, -1, -1), (4, 3, 64, 96), (-1, 3, 64, 96)])
def test_the_cells_of_a_likely_size_tell_an_open_model(
    tmp_path: Path, shape: tuple[int, ...], boxes_a_cell: int, family: str
) -> None:
    detector = graph_detector(tmp_path, convolutional(shape, 85, boxes_a_cell))
    assert detector.describe()["family"] == family
    assert detector.input_wh == ((96, 64) if shape[2] == 64 else (640, 640))


def test_the_users_size_goes_before_the_files_and_that_before_the_familys(tmp_path: Path) -> None:
    graph = convolutional(OPEN, 85)
    graph.set_rt_info("[96, 160]", ["model_info", "imgsz"])
    assert graph_detector(tmp_path, graph).input_wh == (160, 96)
    wanted = InputSettings(size_wh=(64, 32))
    assert graph_detector(tmp_path, graph, input=wanted).input_wh == (64, 32)


def test_a_fixed_model_can_be_given_another_size(tmp_path: Path) -> None:
    wanted = InputSettings(size_wh=(96, 64))
    detector = graph_detector(tmp_path, convolutional((1, 3, 64, 64), 85), input=wanted)
    assert detector.input_wh == (96, 64)
    assert detector.describe()["family"] == "yolox"


def test_a_model_whose_boxes_do_not_follow_its_size_is_refused_at_another(tmp_path: Path) -> None:
    graph = fixed_outputs({"output": table(84, 7, {})}, shape=(1, 3, 64, 64))
    wanted = InputSettings(size_wh=(96, 64))
    with pytest.raises(ModelError, match="input of 96x64 pixels it is no yolox: 84 is not"):
        graph_detector(tmp_path, graph, input=wanted)


def test_an_open_model_that_fits_nothing_is_refused_with_its_outputs(tmp_path: Path) -> None:
    graph = fixed_outputs({"probabilities": np.zeros((1, 1000))}, shape=OPEN)
    with pytest.raises(ModelError, match=r"no decoder fits its outputs \(probabilities \[1,1000\]"):
        graph_detector(tmp_path, graph)


def test_half_precision_outputs_are_read(tmp_path: Path) -> None:
    rows = table(10, 6, {0: [4, 8, 20, 24, 0.75, 2]})
    image = picture_parameter((1, 3, 64, 64), element_type=ov.Type.f16)
    nothing = ops.multiply(ops.reduce_max(image, np.array([0, 1, 2, 3])), np.float16(0))
    node = ops.add(ops.constant(rows.astype(np.float16)), nothing)
    node.output(0).set_names({"output0"})
    graph = ov.Model([ops.result(node)], [image], "half")
    found = graph_detector(tmp_path, graph).infer_once(make_picture(64, 64))
    np.testing.assert_allclose(found.boxes_xyxy, [[4, 8, 20, 24]])
    assert found.scores.tolist() == [0.75]


def test_boxes_across_classes_are_one_where_the_user_says_so(tmp_path: Path) -> None:
    rows = table(10, 6, {0: [4, 8, 20, 24, 0.9, 2], 1: [4, 8, 20, 23, 0.8, 1]})
    graph = fixed_outputs({"output0": rows}, shape=(1, 3, 64, 64))
    assert len(graph_detector(tmp_path, graph).infer_once(make_picture(64, 64))) == 2
    detector = graph_detector(tmp_path, graph, is_agnostic=True)
    assert detector.infer_once(make_picture(64, 64)).class_ids.tolist() == [2]
    assert (detector.describe()["nms"], detector.describe()["iou"]) == ("agnostic", 0.5)


def test_the_file_may_say_how_its_pixels_are_made(tmp_path: Path) -> None:
    graph = fixed_outputs({"output0": table(10, 6, {})}, shape=(1, 3, 64, 64))
    said = {"reverse_input_channels": "False", "resize_type": "standard", "scale_values": "127.5"}
    for key, text in said.items():
        graph.set_rt_info(text, ["model_info", key])
    about = graph_detector(tmp_path, graph, input=InputSettings(scale=(2, 2, 2))).describe()
    shown = {key: about["input"][key] for key in ("color", "resize", "scale")}
    assert shown == {"color": "bgr", "resize": "stretch", "scale": [2, 2, 2]}


def test_the_file_may_say_its_overlap_and_the_user_goes_before_it(tmp_path: Path) -> None:
    graph = fixed_outputs({"output0": table(6, 84, {})}, shape=(1, 3, 64, 64))
    graph.set_rt_info("0.6", ["model_info", "iou_threshold"])
    assert graph_detector(tmp_path, graph).describe()["iou"] == 0.6
    assert graph_detector(tmp_path, graph, iou=0.3).describe()["iou"] == 0.3


@pytest.mark.parametrize("boxes_a_cell", [1, 3])
@pytest.mark.parametrize("shape", [(-1, 3, -1, -1), (4, 3, 64, 96), (-1, -1, -1, -1)])
def test_of_an_open_model_the_same_is_said_as_a_run_does(
    tmp_path: Path, shape: tuple[int, ...], boxes_a_cell: int
) -> None:
    run = graph_detector(tmp_path, convolutional(shape, 85, boxes_a_cell))
    use = describe_model(tmp_path / "tiny.xml").use
    assert use is not None
    assert (use.family, use.input_wh) == (run.describe()["family"], run.input_wh)
