from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import make_picture
from tests.tiny_detectors import found_by, table, tiny_detector
from vidpipe.errors import ModelError

# 64x32: 32 cells of 3 boxes, 8 of 2, 2 of 2 and 1 of 3.
BOXES = 32 * 3 + 8 * 2 + 2 * 2 + 3
OUTPUTS = {
    "boxes": table(BOXES, 4, {5: [0.25, 0.5, 0.5, 1], 9: [0, 0, 0.125, 0.25]}),
    "scores": table(BOXES, 2, {5: [0.1, 0.9], 9: [0.8, 0.2]}),
}


def test_the_second_score_is_the_faces(tmp_path: Path) -> None:
    found = found_by(tmp_path, OUTPUTS, (64, 32), family="ultralight-face")
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 16, 32, 32]])
    np.testing.assert_allclose(found.scores, [0.9])
    assert found.labels == ("face",)


def test_it_is_stretched_rgb(tmp_path: Path) -> None:
    detector = tiny_detector(tmp_path, OUTPUTS, (64, 32))
    found = detector.infer_once(make_picture(640, 640))
    np.testing.assert_allclose(found.boxes_xyxy, [[160, 320, 320, 640]])
    about = detector.describe()
    assert (about["iou"], about["input"]["color"]) == (0.5, "rgb")
    assert (about["input"]["mean"], about["input"]["scale"]) == ([127.0] * 3, [128.0] * 3)


def test_the_published_sizes_are_known(tmp_path: Path) -> None:
    for input_wh, count in {(320, 240): 4420, (640, 480): 17640}.items():
        outputs = {"scores": table(count, 2, {}), "boxes": table(count, 4, {})}
        detector = tiny_detector(tmp_path, outputs, input_wh)
        assert detector.describe()["family"] == "ultralight-face"


def test_another_number_of_boxes_is_a_mismatch(tmp_path: Path) -> None:
    outputs = {"scores": table(100, 2, {}), "boxes": table(100, 4, {})}
    with pytest.raises(ModelError, match="has 100 boxes, and such a model of that input has 119"):
        tiny_detector(tmp_path, outputs, (64, 32), decoder="ultralight-face")
