from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from tests.builders import make_picture
from tests.graphs import fixed_outputs, picture_parameter, plane_means, saved, ssd_rows
from tests.model_files import write_frozen_graph, write_onnx_ssd
from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import (
    Color,
    DetectorSettings,
    InputSettings,
    Precision,
    PropertyValue,
    Resize,
)
from vidpipe.pixels import picture_from_bgr
from vidpipe.types import Picture

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
BGR = (200, 120, 40)


def solid(bgr: tuple[int, int, int] = BGR, size_wh: tuple[int, int] = (64, 48)) -> Picture:
    width, height = size_wh
    return picture_from_bgr(np.full((height, width, 3), bgr, np.uint8))


def settings(**changes: object) -> DetectorSettings:
    fields: dict[str, object] = {"name": "gate", "labels": ("vehicle", "person")}
    return DetectorSettings(**{**fields, **changes})  # type: ignore[arg-type] # by name


def compiled(graph: ov.Model, folder: Path, **changes: object) -> CompiledDetector:
    return compile_detector(saved(graph, folder), settings(**changes))


def test_what_the_graph_finds_comes_out_in_pixels_of_the_frame(tmp_path: Path) -> None:
    found = compiled(ssd_rows([ROW]), tmp_path).infer_once(make_picture(64, 48))
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 12, 32, 36]])
    assert found.labels == ("person",)


def test_a_rotated_picture_is_answered_upright(tmp_path: Path) -> None:
    found = compiled(ssd_rows([ROW]), tmp_path).infer_once(make_picture(64, 48, rotation_deg=90))
    np.testing.assert_allclose(found.boxes_xyxy, [[12, 16, 24, 48]])


@pytest.mark.parametrize("shape", [(1, 3, 24, 32), (1, 24, 32, 3), (-1, -1, -1, 3), (1, 3, -1, -1)])
@pytest.mark.parametrize("element_type", [ov.Type.f32, ov.Type.u8, ov.Type.f16])
@pytest.mark.parametrize("color", list(Color))
def test_the_model_sees_its_own_layout_type_and_colours(
    tmp_path: Path, shape: tuple[int, ...], element_type: ov.Type, color: Color
) -> None:
    graph = plane_means(shape, element_type=element_type)
    recipe = InputSettings(color=color, scale=(255, 255 * 4, 255 * 4))
    if element_type == ov.Type.u8:
        recipe = InputSettings(color=color)
    detector = compiled(graph, tmp_path, confidence=0.01, input=recipe)
    planes = np.array(BGR if color is Color.BGR else BGR[::-1], float)
    found = detector.infer_once(solid(size_wh=(100, 100)))
    if element_type == ov.Type.u8:
        assert found.scores.tolist() == [1.0]  # 0..255, and a score ends at 1
        return
    assert found.scores[0] == pytest.approx(planes[0] / 255, abs=0.02)
    np.testing.assert_allclose(found.boxes_xyxy[0, 2:], planes[1:] / 255 / 4 * 100, atol=1)


def test_mean_and_scale_are_applied_in_the_colour_order_of_the_model(tmp_path: Path) -> None:
    recipe = InputSettings(color=Color.RGB, mean=(10, 20, 30), scale=(255, 510, 1020))
    found = compiled(plane_means(), tmp_path, confidence=0.01, input=recipe).infer_once(solid())
    red, green, blue = (40 - 10) / 255, (120 - 20) / 510, (200 - 30) / 1020
    assert found.scores[0] == pytest.approx(red, abs=0.02)
    np.testing.assert_allclose(found.boxes_xyxy[0, 2:], [green * 64, blue * 48], atol=1)


def test_a_model_that_takes_bytes_gets_them_as_they_are_unless_the_user_says_otherwise(
    tmp_path: Path,
) -> None:
    rows = np.zeros((1, 300, 6), np.float32)
    graph = fixed_outputs({"output0": rows}, shape=(1, 640, 640, 3), element_type=ov.Type.u8)
    assert compiled(graph, tmp_path).describe()["input"]["scale"] == [1, 1, 1]
    detector = compiled(graph, tmp_path, input=InputSettings(scale=(2.0, 2.0, 2.0)))
    assert detector.describe()["input"]["scale"] == [2, 2, 2]


@pytest.mark.parametrize("section", ["framework", "model_info"])
def test_keys_of_our_own_mean_something_else_in_others_sections(
    tmp_path: Path, section: str
) -> None:
    graph = ssd_rows([ROW])
    for key, text in {"input": "images", "family": "tf-od", "anchors": "[[10, 13]]"}.items():
        graph.set_rt_info(text, [section, key])
    assert compiled(graph, tmp_path).describe()["family"] == "ssd"


@pytest.mark.parametrize(
    ("shape", "size_wh", "expected"),
    [
        ((1, 3, 24, 32), None, (32, 24)),
        ((1, 3, 24, 32), (40, 20), (40, 20)),
        ((4, 3, 24, 32), None, (32, 24)),
        ((-1, 3, -1, -1), None, (300, 300)),
        ((1, 3, 24, -1), None, (300, 24)),
        ((-1, -1, -1, 3), (64, 32), (64, 32)),
        ((-1, -1, -1, -1), (64, 32), (64, 32)),
    ],
)
def test_open_dimensions_are_fixed(
    tmp_path: Path,
    shape: tuple[int, ...],
    size_wh: tuple[int, int] | None,
    expected: tuple[int, int],
) -> None:
    detector = compiled(
        ssd_rows([ROW], shape=shape), tmp_path, input=InputSettings(size_wh=size_wh)
    )
    assert detector.input_wh == expected
    assert detector.create_request().tensor.shape == (expected[1], expected[0], 3)


def test_a_second_input_gets_the_size_of_the_picture(tmp_path: Path) -> None:
    image = picture_parameter()
    info = ops.parameter(ov.PartialShape([1, 3]), ov.Type.f32, name="im_info")
    info.output(0).set_names({"im_info"})
    nothing = ops.multiply(ops.reduce_max(image, np.array([0, 1, 2, 3])), np.float32(0))
    scaled = ops.reshape(
        ops.divide(info, ops.constant(np.array([[100, 100, 2]], np.float32))),
        np.array([3]),
        special_zero=False,
    )
    head = ops.constant(np.array([0, 1], np.float32))
    row = ops.concat([head, ops.gather(scaled, np.array([2, 2, 2, 1, 0]), np.array(0))], 0)
    row = ops.multiply(row, ops.constant(np.array([1, 1, 1, 0, 0, 1, 1], np.float32)))
    rows = ops.reshape(ops.add(row, nothing), np.array([1, 1, 1, 7]), special_zero=False)
    graph = ov.Model([ops.result(rows)], [info, image], "two")
    found = compiled(graph, tmp_path).infer_once(make_picture(100, 100))
    assert found.scores.tolist() == [0.5]
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 32, 24]], rtol=1e-5)


def test_finished_outputs_of_tensorflow_are_understood(tmp_path: Path) -> None:
    graph = fixed_outputs(
        {
            "num_detections": np.array([1.0]),
            "detection_scores": np.array([[0.9, 0.8]]),
            "detection_classes": np.array([[2.0, 1]]),
            "detection_boxes": np.array([[[0.25, 0.5, 0.5, 1], [0, 0, 1, 1]]]),
        },
        shape=(-1, -1, -1, 3),
        element_type=ov.Type.u8,
    )
    detector = compiled(graph, tmp_path)
    found = detector.infer_once(make_picture(64, 48))
    np.testing.assert_allclose(found.boxes_xyxy, [[32, 12, 64, 24]])
    assert found.labels == ("person",)
    assert detector.input_wh == (300, 300)


@pytest.mark.parametrize(
    ("shape", "input_wh"), [((1, 3, 24, 32), (32, 24)), (("N", 3, "H", "W"), (300, 300))]
)
def test_an_onnx_file_is_read(
    tmp_path: Path, shape: tuple[int | str, ...], input_wh: tuple[int, int]
) -> None:
    path = tmp_path / "tiny.onnx"
    write_onnx_ssd(path, [ROW], shape)
    detector = compile_detector(path, settings())
    found = detector.infer_once(make_picture(64, 48))
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 12, 32, 36]])
    assert detector.input_wh == input_wh


def test_a_frozen_graph_is_read(tmp_path: Path) -> None:
    path = tmp_path / "frozen_inference_graph.pb"
    write_frozen_graph(
        path,
        {
            "detection_boxes": [[[0.25, 0.5, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0]]],
            "detection_scores": [[0.9, 0.3]],
            "detection_classes": [[2.0, 1]],
            "num_detections": [2.0],
        },
    )
    detector = compile_detector(path, settings())
    found = detector.infer_once(make_picture(64, 48))
    np.testing.assert_allclose(found.boxes_xyxy, [[32, 12, 64, 24]])
    assert found.labels == ("person",)
    assert detector.input_wh == (300, 300)


def test_constant_anchors_are_no_output(tmp_path: Path) -> None:
    anchors = np.array([[0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]], np.float32)
    graph = fixed_outputs(
        {"boxes": np.zeros((1, 2, 4)), "scores": np.array([[[0.9, 0.1], [0.2, 0.8]]])}
    )
    constant = ops.constant(anchors)
    constant.output(0).set_names({"anchors"})
    graph.add_results([ops.result(constant)])
    detector = compiled(graph, tmp_path, labels=("person",))
    found = detector.infer_once(make_picture(64, 48))
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 12, 48, 36]], rtol=1e-5)
    assert len(detector.create_request().outputs()) == 2


def test_labels_in_the_file_are_used_where_none_are_given(tmp_path: Path) -> None:
    graph = ssd_rows([ROW])
    graph.set_rt_info(json.dumps(["дом", "traffic light"]), ["vidpipe", "labels"])
    path = saved(graph, tmp_path)
    found = compile_detector(path, DetectorSettings("m")).infer_once(make_picture())
    assert found.labels == ("traffic light",)


def test_labels_of_the_model_api_are_read(tmp_path: Path) -> None:
    graph = ssd_rows([ROW])
    graph.set_rt_info("dog cat", ["model_info", "labels"])
    path = saved(graph, tmp_path)
    found = compile_detector(path, DetectorSettings("m")).infer_once(make_picture())
    assert found.labels == ("cat",)


def test_a_class_that_the_model_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean 'person'"):
        compiled(ssd_rows([ROW]), tmp_path, classes=("persons",))


def test_a_letterboxed_model_answers_in_pixels_of_the_frame(tmp_path: Path) -> None:
    graph = ssd_rows([[0, 1, 0.9, 0, 0.25, 1, 0.75]], shape=(1, 3, 32, 32))
    recipe = InputSettings(resize=Resize.LETTERBOX)
    found = compiled(graph, tmp_path, input=recipe).infer_once(make_picture(64, 32))
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 64, 32]])


def test_each_request_has_tensors_of_its_own(tmp_path: Path) -> None:
    recipe = InputSettings(scale=(255, 255, 255))
    detector = compiled(plane_means(), tmp_path, confidence=0.01, input=recipe)
    requests = [detector.create_request() for _ in range(4)]
    geometries = [
        detector.fill(request, solid((level, 60, 60)))
        for level, request in zip((20, 80, 140, 200), requests, strict=True)
    ]
    for request in requests:
        request.start()
    for request in reversed(requests):
        assert request.wait(10)
    scores = [
        float(detector.decode(request, geometry).scores[0])
        for request, geometry in zip(requests, geometries, strict=True)
    ]
    np.testing.assert_allclose(scores, np.array([20, 80, 140, 200]) / 255, atol=0.03)


def test_the_callback_comes_after_an_answer_each_time(tmp_path: Path) -> None:
    detector = compiled(ssd_rows([ROW]), tmp_path)
    request = detector.create_request()
    called = threading.Semaphore(0)
    request.set_callback(called.release)
    for _ in range(20):
        geometry = detector.fill(request, make_picture())
        request.start()
        assert called.acquire(timeout=10)
        assert request.wait(10)
        assert len(detector.decode(request, geometry)) == 1


def test_a_request_that_runs_cannot_be_started_again(tmp_path: Path) -> None:
    detector = compiled(ssd_rows([ROW], shape=(1, 3, 2000, 2000)), tmp_path)
    request = detector.create_request()
    refused = False
    for _ in range(50):
        request.start()
        try:
            request.start()
        except InferenceError:
            refused = True
        request.wait(10)
        if refused:
            break
    assert refused


def test_requests_work_in_many_threads_at_once(tmp_path: Path) -> None:
    recipe = InputSettings(scale=(255, 255, 255))
    detector = compiled(plane_means(), tmp_path, confidence=0.01, input=recipe)

    def score(level: int) -> float:
        return float(detector.infer_once(solid((level, 60, 60), (64 + level, 48))).scores[0])

    levels = list(range(20, 220, 5))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(score, levels))
    np.testing.assert_allclose(together, np.array(levels) / 255, atol=0.03)


def test_the_description_is_json_with_what_the_runtime_answered(tmp_path: Path) -> None:
    properties: dict[str, PropertyValue] = {"NUM_STREAMS": 1}
    detector = compiled(ssd_rows([ROW]), tmp_path, precision=Precision.F32, properties=properties)
    about = json.loads(json.dumps(detector.describe()))
    assert about["family"] == "ssd"
    assert about["input"]["shape"] == [1, 24, 32, 3]
    assert about["runtime"]["inference_precision_hint"] == "f32"
    assert about["runtime"]["num_streams"] == "1"
    assert about["runtime"]["enable_cpu_pinning"] == "False"
    assert sorted(about["sha256"]) == ["tiny.bin", "tiny.xml"]
    assert detector.optimal_requests == 1


def missing(folder: Path) -> Path:
    return folder / "none.xml"


def empty(folder: Path) -> Path:
    path = folder / "empty.onnx"
    path.touch()
    return path


def without_weights(folder: Path) -> Path:
    path = saved(ssd_rows([ROW]), folder)
    path.with_suffix(".bin").unlink()
    return path


def cut_weights(folder: Path) -> Path:
    path = saved(ssd_rows([ROW]), folder)
    weights = path.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:4])
    return path


def cut_graph(folder: Path) -> Path:
    path = saved(ssd_rows([ROW]), folder)
    path.write_bytes(path.read_bytes()[:400])
    return path


def renamed(folder: Path) -> Path:
    path = saved(ssd_rows([ROW]), folder).with_suffix(".onnx")
    path.write_bytes(b"not a model at all")
    return path


def folder_without_model(folder: Path) -> Path:
    return folder


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (missing, "there is no file"),
        (empty, "is empty"),
        (without_weights, r"copy tiny\.bin"),
        (cut_weights, "can't be read"),
        (cut_graph, "can't be read"),
        (renamed, "can't be read"),
        (folder_without_model, "folder without"),
    ],
)
def test_a_broken_file_is_an_error_that_names_model_and_file(
    tmp_path: Path, broken: object, said: str
) -> None:
    assert callable(broken)
    path = broken(tmp_path)
    with pytest.raises(ModelError, match=said) as caught:
        compile_detector(path, settings())
    assert "gate" in str(caught.value)
    assert path.stem in str(caught.value)


def test_a_model_without_a_picture_is_refused(tmp_path: Path) -> None:
    rows = np.asarray([ROW], np.float32).reshape(1, 1, 1, 7)
    parameter = ops.parameter(ov.PartialShape([1, 10]), ov.Type.f32, name="x")
    nothing = ops.multiply(ops.reduce_max(parameter, np.array([0, 1])), np.float32(0))
    graph = ov.Model([ops.result(ops.add(ops.constant(rows), nothing))], [parameter], "t")
    with pytest.raises(ModelError, match="exactly one input"):
        compiled(graph, tmp_path)


def test_a_size_that_the_model_cannot_take_is_refused(tmp_path: Path) -> None:
    image = picture_parameter()
    flat = ops.reshape(image, np.array([1, 3 * 24 * 32]), special_zero=False)
    weights = ops.constant(np.zeros((3 * 24 * 32, 7), np.float32))
    rows = ops.reshape(ops.matmul(flat, weights, False, False), np.array([1, 1, 1, 7]), False)  # noqa: FBT003 - positional there
    graph = ov.Model([ops.result(rows)], [image], "dense")
    with pytest.raises(ModelError, match="can't be given an input of 64x64"):
        compiled(graph, tmp_path, input=InputSettings(size_wh=(64, 64)))
