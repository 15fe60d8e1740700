from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.builders import make_picture
from tests.tiny_detectors import found_by, tiny_detector
from vidpipe.inference.decoders.family import Signature, TensorSpec
from vidpipe.inference.decoders.fastestdet import FAMILY


def maps() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """64x32 has 4 by 2 cells."""
    values = np.zeros((1, 7, 2, 4), np.float32)
    values[0, :, 1, 2] = [0.81, np.arctanh(0.5), np.arctanh(-0.5), 0, np.log(3), 0.1, 0.64]
    values[0, :, 0, 0] = [0.3, 0, 0, 0, 0, 0.1, 0]
    return values


def test_a_cell_is_a_box_in_fractions_of_the_input(tmp_path: Path) -> None:
    found = found_by(tmp_path, {"out": maps()}, (64, 32), family="fastestdet")
    # Centre (2.5 / 4, 0.5 / 2) of 64x32; half as wide, three quarters as high.
    np.testing.assert_allclose(found.boxes_xyxy, [[24, 0, 56, 20]], rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.81**0.6 * 0.64**0.4], rtol=1e-6)
    assert found.class_ids.tolist() == [1]


def test_it_is_stretched(tmp_path: Path) -> None:
    detector = tiny_detector(tmp_path, {"out": maps()}, (64, 32))
    found = detector.infer_once(make_picture(640, 640))
    np.testing.assert_allclose(found.boxes_xyxy, [[240, 0, 560, 400]], rtol=1e-5)
    about = detector.describe()
    assert (about["iou"], about["input"]["resize"]) == (0.45, "stretch")
    assert (about["input"]["color"], about["input"]["scale"]) == ("bgr", [255.0] * 3)


def test_a_model_that_takes_two_inputs_is_none() -> None:
    spec = TensorSpec(frozenset({"in"}), (1, 3, 352, 352), "f32")
    out = TensorSpec(frozenset({"out"}), (1, 85, 22, 22), "f32")
    one = Signature((spec,), (out,), picture_wh=(352, 352))
    assert FAMILY.mismatch(one) is None
    assert FAMILY.mismatch(replace(one, inputs=(spec, spec))) == "it has 2 inputs, not one"
