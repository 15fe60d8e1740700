from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.graphs import fixed_outputs
from tests.tiny_detectors import found_by, graph_detector, table
from vidpipe.errors import ModelError


def test_a_row_is_a_finished_box(tmp_path: Path) -> None:
    rows = table(
        10, 6, {0: [4, 8, 20, 24, 0.9, 2], 1: [5, 8, 20, 24, 0.8, 2], 2: [0, 0, 9, 9, 0.1, 0]}
    )
    found = found_by(tmp_path, {"output0": rows}, (64, 64), family="yolo-e2e")
    # Overlap is resolved by the model: both stay.
    np.testing.assert_allclose(found.boxes_xyxy, [[4, 8, 20, 24], [5, 8, 20, 24]])
    np.testing.assert_allclose(found.scores, [0.9, 0.8])
    assert found.class_ids.tolist() == [2, 2]


def test_fractions_of_the_input_are_told_from_pixels(tmp_path: Path) -> None:
    rows = table(10, 6, {0: [0.25, 0.5, 0.5, 1, 0.9, 2]})
    found = found_by(tmp_path, {"output0": rows}, (64, 64), family="yolo-e2e")
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 32, 32, 64]])


def test_as_many_rows_as_unusual_maps_have_cells_are_ambiguous(tmp_path: Path) -> None:
    # 64x64 has 16 + 4 cells at strides 16 and 32.
    rows = table(20, 6, {0: [4, 8, 20, 24, 0.9, 2]})
    with pytest.raises(ModelError, match="decoder: yolo-e2e or yolox"):
        found_by(tmp_path, {"output0": rows}, (64, 64), family="")
    found = found_by(tmp_path, {"output0": rows}, (64, 64), family="yolo-e2e", decoder="yolo-e2e")
    np.testing.assert_allclose(found.boxes_xyxy, [[4, 8, 20, 24]])


def test_the_file_may_say_that_its_rows_are_finished(tmp_path: Path) -> None:
    rows = table(20, 9, {0: [4, 8, 20, 24, 0.9, 2, 7, 7, 7]})
    graph = fixed_outputs({"output0": rows}, shape=(1, 3, 64, 64))
    for key, text in {"task": "segment", "end2end": "True"}.items():
        graph.set_rt_info(text, ["model_info", key])
    detector = graph_detector(tmp_path, graph)
    assert detector.describe()["family"] == "yolo-e2e"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (57, {"task": "pose", "names": "{0: 'person'}", "args": "{'batch': 1, 'nms': True}"}),
        (38, {"task": "segment", "args": '{"nms": "True"}'}),
        (6, {"task": "detect", "end2end": "True", "names": "['a', 'b']"}),
    ],
)
def test_the_file_may_say_that_its_export_has_resolved_overlap(
    tmp_path: Path, columns: int, said: dict[str, str]
) -> None:
    graph = fixed_outputs({"output0": table(300, columns, {})}, shape=(1, 3, 640, 640))
    for key, text in said.items():
        graph.set_rt_info(text, ["framework", key])
    assert graph_detector(tmp_path, graph).describe()["family"] == "yolo-e2e"


def test_the_file_may_say_that_it_is_another_detector_with_six_columns(tmp_path: Path) -> None:
    graph = fixed_outputs({"output0": table(300, 6, {})}, shape=(1, 3, 640, 640))
    said = {"description": "Ultralytics rtdetr-l model", "task": "detect", "names": "['a', 'b']"}
    for key, text in said.items():
        graph.set_rt_info(text, ["framework", key])
    assert graph_detector(tmp_path, graph).describe()["family"] == "rt-detr"


@pytest.mark.parametrize("task", ["obb", "classify"])
def test_another_task_is_refused_by_its_name(tmp_path: Path, task: str) -> None:
    graph = fixed_outputs({"output0": table(10, 6, {})}, shape=(1, 3, 64, 64))
    graph.set_rt_info(task, ["model_info", "task"])
    with pytest.raises(ModelError, match=f"its task is {task}"):
        graph_detector(tmp_path, graph, decoder="yolo-e2e")
