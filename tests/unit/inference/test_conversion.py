from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import picture_parameter, saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference.conversion import convert
from vidpipe.inference.describe import describe_model
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings

AFTER_RESIZING = "Preprocessor/map/TensorArrayStack/TensorArrayGatherV3"
COUNT = 1917


def detector_of_tensorflow() -> ov.Model:
    """Return a graph with the named nodes of TensorFlow's, whose anchor 1916 finds a person.

    What stands before the network (halving) and behind its heads (emptying) must be cut away.
    """
    image = picture_parameter((-1, -1, -1, 3), element_type=ov.Type.u8)
    resized = ops.multiply(ops.convert(image, ov.Type.f32), np.float32(0.5))
    resized.set_friendly_name(AFTER_RESIZING)
    planar = ops.transpose(resized, np.array([0, 3, 1, 2]))
    level = ops.divide(ops.reduce_max(planar, np.array([0, 1, 2, 3])), np.float32(255))
    boxes = ops.multiply(ops.constant(np.zeros((1, COUNT, 4), np.float32)), level)
    boxes.set_friendly_name("Squeeze")
    chosen = np.zeros((1, COUNT, 2), np.float32)
    chosen[0, -1, 1] = 1
    scores = ops.multiply(ops.constant(chosen), level)
    scores.set_friendly_name("Postprocessor/convert_scores")
    results = []
    for name, head in {"detection_boxes": boxes, "detection_scores": scores}.items():
        gone = ops.multiply(head, np.float32(0))
        gone.output(0).set_names({name})
        results.append(ops.result(gone))
    return ov.Model(results, [image], "tf")


def converted(source: Path, folder: Path, conversion: str) -> Path:
    target = folder / "made.xml"
    convert(
        source,
        target,
        model="tiny",
        conversion=conversion,
        family="tf-od",
        labels=("person",),
        input_wh=(300, 300),
    )
    return target


def test_a_graph_is_cut_to_the_network_and_says_what_it_is(tmp_path: Path) -> None:
    source = saved(detector_of_tensorflow(), tmp_path, "source")
    path = converted(source, tmp_path, "tf-od-raw-heads")
    about = describe_model(path)
    assert about.inputs == ("pixels [1,300,300,3] f32",)
    assert [text.split()[0] for text in about.outputs] == ["box_encodings", "class_scores"]
    assert about.use is not None
    assert (about.use.family, about.use.why) == ("tf-od", "the file says so")
    assert (about.labels, about.precision) == ({0: "person"}, "FP16")
    found = compile_detector(path, DetectorSettings("m")).infer_once(make_picture(200, 100))
    assert found.labels == ("person",)
    # The grey 128 of a television picture is 130: not halved, since the cut is behind it.
    assert found.scores[0] == pytest.approx(130 / 255, abs=0.01)
    side = 0.95**0.5
    expected = [100 * (1 - side), 50 * (1 - side), 100 * (1 + side), 50 * (1 + side)]
    np.testing.assert_allclose(found.boxes_xyxy, [expected], rtol=1e-4)


def test_a_graph_without_the_nodes_is_an_error_that_names_one(tmp_path: Path) -> None:
    graph = ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]], shape=(1, 300, 300, 3))
    with pytest.raises(ModelError, match="TensorArrayGatherV3"):
        converted(saved(graph, tmp_path, "source"), tmp_path, "tf-od-raw-heads")


def test_a_graph_may_be_kept_as_it_is(tmp_path: Path) -> None:
    source = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path, "source")
    assert describe_model(converted(source, tmp_path, "none")).outputs == (
        "detection_out [1,1,1,7] f32",
    )
