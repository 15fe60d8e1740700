from __future__ import annotations

import json
from pathlib import Path

import openvino as ov
import pytest

from tests.graphs import fixed_outputs, saved, ssd_rows
from vidpipe.errors import ModelError
from vidpipe.inference.model import read_detector
from vidpipe.inference.settings import (
    Anchor,
    Color,
    DetectorSettings,
    InputRecipe,
    InputSettings,
    Resize,
)
from vidpipe.inference.stamp import carried_recipe, stamp

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
RECIPE = InputRecipe(
    Color.RGB, Resize.LETTERBOX, Anchor.CORNER, 7, (1.0, 2.5, 3.0), (58.395, 57.12, 57.375)
)


def stamped(folder: Path) -> Path:
    graph = ssd_rows([ROW])
    stamp(graph, name="gate", family="ssd", labels={1: "Fußgänger", 3: "car, red"}, recipe=RECIPE)
    return saved(graph, folder)


def test_a_stamped_file_says_by_itself_how_it_is_used(tmp_path: Path) -> None:
    detector = read_detector(stamped(tmp_path), DetectorSettings("any"))
    assert detector.family.name == "ssd"
    assert detector.rule.labels.by_id() == {1: "Fußgänger", 3: "car, red"}
    assert detector.recipe == RECIPE


def test_what_the_user_says_comes_before_what_the_file_says(tmp_path: Path) -> None:
    settings = DetectorSettings("any", labels=("a",), input=InputSettings(pad=9))
    detector = read_detector(stamped(tmp_path), settings)
    assert detector.recipe.pad == 9
    assert detector.recipe.anchor is Anchor.CORNER
    assert detector.rule.labels.by_id() == {0: "a"}


def test_the_stamp_settles_what_the_shapes_leave_open(tmp_path: Path) -> None:
    # One class of 21 cells: YOLOX by the count of rows, or end to end.
    graph = fixed_outputs({"output": [[[0.0] * 6] * 21]}, shape=(1, 3, 32, 32))
    stamp(graph, name="gate", family="yolo-e2e", labels={0: "face"}, recipe=InputRecipe())
    detector = read_detector(saved(graph, tmp_path), DetectorSettings("any"))
    assert detector.family.name == "yolo-e2e"


def test_a_stamp_replaces_an_older_one() -> None:
    graph = ssd_rows([ROW])
    stamp(graph, name="old", family="ssd", labels={1: "old"}, recipe=InputRecipe())
    stamp(graph, name="new", family="ssd", labels={1: "new"}, recipe=RECIPE, more={"by": "hand"})
    texts = {key: graph.get_rt_info(["vidpipe", key]).value for key in ("name", "labels", "by")}
    assert texts == {"name": "new", "labels": '{"1": "new"}', "by": "hand"}


def test_a_file_that_says_nothing_has_no_recipe() -> None:
    assert carried_recipe({"labels": "a b"}, "gate") is None
    assert carried_recipe({"input": json.dumps({"pad": 3})}, "gate") == InputRecipe(pad=3)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"color": "blue"}', '{"mean": [1, 2]}', '{"pad": "x"}']
)
def test_a_stamp_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"model gate: .* input makes no sense"):
        carried_recipe({"input": text}, "gate")


def test_a_stamp_survives_saving_with_16_bits(tmp_path: Path) -> None:
    graph = ssd_rows([ROW])
    stamp(graph, name="gate", family="ssd", labels={1: "person"}, recipe=RECIPE)
    ov.save_model(graph, tmp_path / "half.xml", compress_to_fp16=True)
    assert read_detector(tmp_path / "half.xml", DetectorSettings("any")).recipe == RECIPE
