from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest

from tests.graphs import saved
from tests.greys import GREY_SETTINGS, grey_samples
from tests.layers import brightness
from vidpipe.inference import choice
from vidpipe.inference.choice import quantize_best
from vidpipe.inference.model import compile_detector, read_detector
from vidpipe.inference.quantize import is_quantizer_there
from vidpipe.inference.samples import answers

pytestmark = pytest.mark.skipif(not is_quantizer_there(), reason="NNCF, an extra, is not installed")


def test_the_ranges_that_keep_what_the_model_says_are_chosen(tmp_path: Path) -> None:
    # Every picture is of one grey: the mean of their extremes cuts off the darkest and brightest.
    detector = read_detector(saved(brightness(), tmp_path), GREY_SETTINGS)
    samples = grey_samples(detector)
    ov.save_model(quantize_best(detector, samples), tmp_path / "small.xml")

    again = read_detector(tmp_path / "small.xml", GREY_SETTINGS)
    assert again.signature.metadata["quantised_ranges"] == "widest"
    scores = [
        [found.scores[0] for found in answers(compile_detector(path, GREY_SETTINGS), samples)]
        for path in (detector.path, tmp_path / "small.xml")
    ]
    assert scores[1] == pytest.approx(scores[0], abs=0.01)


def test_where_nothing_tells_them_apart_means_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "compare", lambda *_: _Alike())
    detector = read_detector(saved(brightness(), tmp_path), GREY_SETTINGS)
    graph = quantize_best(detector, grey_samples(detector))
    assert graph.get_rt_info(["vidpipe", "quantised_ranges"]).value == "mean"


class _Alike:
    disagreement = 0.5
