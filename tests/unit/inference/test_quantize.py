from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from tests.graphs import saved, ssd_rows
from tests.greys import GREY_SETTINGS, grey_samples
from tests.layers import brightness
from vidpipe.errors import ModelError, UsageError
from vidpipe.inference import quantize as module
from vidpipe.inference.graph import take_constants
from vidpipe.inference.model import Detector, compile_detector, read_detector
from vidpipe.inference.quantize import (
    AccuracyControl,
    Ranges,
    is_quantizer_there,
    quantize,
    require_quantizer,
)
from vidpipe.inference.samples import Sample, answers
from vidpipe.inference.settings import (
    Color,
    DetectorSettings,
    InputRecipe,
    InputSettings,
    Precision,
    Resize,
)
from vidpipe.types import Detections

needs_nncf = pytest.mark.skipif(not is_quantizer_there(), reason="NNCF, an extra, is not installed")

BARE = DetectorSettings("gate", confidence=0.05, precision=Precision.F32)


def read(folder: Path, graph: ov.Model | None = None) -> Detector:
    return read_detector(saved(graph or brightness(), folder), GREY_SETTINGS)


def write(graph: ov.Model, folder: Path) -> Path:
    path = folder / "small.xml"
    ov.save_model(graph, path)
    return path


def quantizers(path: Path) -> int:
    operations = ov.Core().read_model(path).get_ops()
    return sum(node.get_type_name() == "FakeQuantize" for node in operations)


@needs_nncf
def test_a_quantised_file_says_by_itself_how_it_is_used_and_finds_the_same(tmp_path: Path) -> None:
    detector = read(tmp_path)
    shown = grey_samples(detector)
    graph = quantize(detector, shown, ranges=Ranges.WIDEST, details={"quantised_on": "20 frames"})
    path = write(graph, tmp_path)
    assert quantizers(path) >= 2  # of what goes into each layer; its weights are integers

    again = read_detector(path, BARE)
    assert again.family.name == "ssd"
    assert again.rule.labels.by_id() == {0: "person"}
    assert again.recipe == InputRecipe(color=Color.RGB, resize=Resize.LETTERBOX, pad=128)
    assert again.signature.metadata["quantised_on"] == "20 frames"
    assert again.signature.metadata["quantised_by"].startswith("nncf ")

    before = answers(compile_detector(detector.path, GREY_SETTINGS), shown)
    after = answers(compile_detector(path, BARE), shown)
    scores = [[found.scores[0] for found in every] for every in (before, after)]
    assert max(scores[0]) - min(scores[0]) > 0.1  # the pictures differ for the model
    np.testing.assert_allclose(scores[1], scores[0], atol=0.01)
    for mine, its in zip(before, after, strict=True):
        np.testing.assert_allclose(its.boxes_xyxy, mine.boxes_xyxy, atol=1e-3)


@needs_nncf
def test_the_ranges_are_taken_from_what_the_model_sees_of_the_frames(tmp_path: Path) -> None:
    settings = DetectorSettings(
        "gate", confidence=0.05, input=InputSettings(mean=(100, 100, 100), scale=(10, 10, 10))
    )
    detector = read_detector(saved(brightness(), tmp_path), settings)
    graph = quantize(detector, grey_samples(detector))
    (first, *_) = [node for node in graph.get_ordered_ops() if _takes_picture(node)]
    low = float(first.input_value(1).get_node().get_data().min())
    # Levels from 0 to 255, 127.5 in the mean, are -10 to 15.5 for the model, which takes 128 off
    # and divides by it. NNCF takes the mean of the pictures' least values.
    assert low == pytest.approx(((127.5 - 100) / 10 - 128) / 128, abs=0.005)


def _takes_picture(node: ov.Node) -> bool:
    is_weight = node.get_type_name() == "FakeQuantize" and (
        node.input_value(0).get_node().get_type_name() in ("Constant", "Convert")
    )
    return node.get_type_name() == "FakeQuantize" and not is_weight


@needs_nncf
def test_nothing_behind_the_last_layer_is_rounded(tmp_path: Path) -> None:
    detector = read(tmp_path)
    graph = quantize(detector, grey_samples(detector))
    (score,) = [node for node in graph.get_ops() if node.get_friendly_name() == "score"]
    node = score
    while node.get_type_name() != "Convolution":
        assert node.get_type_name() != "FakeQuantize"
        node = node.input_value(0).get_node()


@needs_nncf
def test_outputs_that_no_picture_changes_are_kept(tmp_path: Path) -> None:
    detector = read(tmp_path, brightness(constants={"anchors": [[0.1, 0.2], [0.3, 0.4]]}))
    path = write(quantize(detector, grey_samples(detector)), tmp_path)
    constants = take_constants(ov.Core().read_model(path))
    np.testing.assert_allclose(constants["anchors"], [[0.1, 0.2], [0.3, 0.4]], atol=1e-3)


@needs_nncf
def test_a_model_is_held_to_labelled_frames(tmp_path: Path) -> None:
    detector = read(tmp_path)
    box = np.array([[15, 0, 30, 30]], np.float32)
    truth = Detections(box, np.ones(1, np.float32), np.zeros(1, np.int32), ("class-1",))
    shown = grey_samples(detector)
    labelled = [Sample(sample.pixels, sample.geometry, truth) for sample in shown]
    steps: list[str] = []
    graph = quantize(
        detector,
        shown,
        AccuracyControl(labelled, detector),
        lambda step, *_: steps.append(step),
    )
    assert quantizers(write(graph, tmp_path)) >= 2
    assert "calibrating" in steps
    assert "holding it to the labels, round 2" in steps


@needs_nncf
def test_standard_output_is_for_data(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    detector = read(tmp_path)
    quantize(detector, grey_samples(detector))
    assert capfd.readouterr() == ("", "")


@needs_nncf
def test_a_model_that_is_quantised_already_is_refused(tmp_path: Path) -> None:
    detector = read(tmp_path)
    path = write(quantize(detector, grey_samples(detector)), tmp_path)
    with pytest.raises(ModelError, match=r"model gate: .*small\.xml is quantised already"):
        quantize(read_detector(path, BARE), grey_samples(detector))


@needs_nncf
def test_a_model_without_layers_is_refused(tmp_path: Path) -> None:
    detector = read(tmp_path, ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]))
    with pytest.raises(ModelError, match=r"model gate: .*quantised"):
        quantize(detector, grey_samples(detector))


@needs_nncf
def test_an_interrupt_comes_through(tmp_path: Path) -> None:
    detector = read(tmp_path)

    def interrupt(step: str, _done: int, _total: int) -> None:
        if step == "calibrating":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantize(detector, grey_samples(detector), progress=interrupt)


def test_without_nncf_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "nncf", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[quantize\]'"):
        require_quantizer()
