from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tiny_detectors import found_by, table, tiny_detector
from vidpipe.errors import ModelError

ROWS = {8: 32, 16: 8, 32: 2}


def outputs() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """64x32; cell 11 of stride 8 is column 3 of row 1, cell 1 of stride 32 column 1 of row 0."""
    kinds = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
    values = {f"{k}_{s}": table(n, c, {}) for k, c in kinds.items() for s, n in ROWS.items()}
    values["cls_8"][0, 11], values["obj_8"][0, 11] = 0.9, 0.4
    values["bbox_8"][0, 11] = [0.5, 0.25, np.log(2), 0]
    values["cls_32"][0, 1], values["obj_32"][0, 1] = 1.0, 0.81
    values["bbox_32"][0, 1] = [0.5, 0.5, np.log(0.5), np.log(0.25)]
    values["cls_16"][0, 3], values["obj_16"][0, 3] = 1.0, 0.04
    return values


def test_a_face_is_decoded_by_its_cell(tmp_path: Path) -> None:
    found = found_by(tmp_path, outputs(), (64, 32), family="yunet")
    np.testing.assert_allclose(found.boxes_xyxy, [[40, 12, 56, 20], [20, 6, 36, 14]], rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.9, 0.6], rtol=1e-6)
    assert found.labels == ("face", "face")


def test_outputs_are_told_without_names_and_in_any_order(tmp_path: Path) -> None:
    shuffled = {f"o{i}": values for i, values in enumerate(reversed(outputs().values()))}
    found = found_by(tmp_path, shuffled, (64, 32), family="yunet")
    np.testing.assert_allclose(found.scores, [0.9, 0.6], rtol=1e-6)


def test_its_pixels_are_bgr_letterboxed_in_the_corner(tmp_path: Path) -> None:
    about = tiny_detector(tmp_path, outputs(), (64, 32)).describe()
    shown = {key: about["input"][key] for key in ("color", "resize", "anchor", "pad")}
    assert shown == {"color": "bgr", "resize": "letterbox", "anchor": "corner", "pad": 0}
    assert about["iou"] == 0.3


def test_a_missing_output_is_a_mismatch(tmp_path: Path) -> None:
    fewer = outputs()
    del fewer["kps_16"]
    with pytest.raises(ModelError, match="1, 1, 4 and 10"):
        tiny_detector(tmp_path, fewer, (64, 32), decoder="yunet")
