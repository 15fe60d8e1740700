from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders import make_picture
from tests.tiny_detectors import found_by, table, tiny_detector
from vidpipe.errors import ModelError

# 64x32: 32 cells at stride 8, 8 at 16, 2 at 32.
FAR = -50.0


def bins(*distances: float) -> list[float]:
    """Return the logarithms of weights of four sides, each a whole bin or halfway between two."""
    values = np.full((4, 8), FAR)
    for side, distance in enumerate(distances):
        values[side, int(np.floor(distance))] = values[side, int(np.ceil(distance))] = 3.0
    return values.ravel().tolist()


def pairs(classes: int = 3) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Cell 11 of stride 8 is column 3 of row 1; cell 5 of stride 16 column 1 of row 1."""
    return {
        "cls_pred_stride_8": table(32, classes, {11: [0.1, 0.9]}),
        "cls_pred_stride_16": table(8, classes, {5: [0.2, 0, 0.8]}),
        "cls_pred_stride_32": table(2, classes, {}),
        "dis_pred_stride_8": table(32, 32, {11: bins(1, 0.5, 2, 1)}),
        "dis_pred_stride_16": table(8, 32, {5: bins(1, 1, 1, 0)}),
        "dis_pred_stride_32": table(2, 32, {}),
    }


# Centres are (27.5, 11.5) and (23.5, 23.5).
BOXES = [[19.5, 7.5, 43.5, 19.5], [7.5, 7.5, 39.5, 23.5]]


def test_a_side_is_the_expectation_of_its_bins(tmp_path: Path) -> None:
    found = found_by(tmp_path, pairs(), (64, 32), family="nanodet")
    np.testing.assert_allclose(found.boxes_xyxy, BOXES, rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.9, 0.8])
    assert found.class_ids.tolist() == [1, 2]


def test_pairs_without_names_are_told_by_their_shapes(tmp_path: Path) -> None:
    outputs = {f"o{i}": values for i, values in enumerate(reversed(pairs().values()))}
    found = found_by(tmp_path, outputs, (64, 32), family="nanodet")
    np.testing.assert_allclose(found.boxes_xyxy, BOXES, rtol=1e-5)


def test_the_joined_export_of_plus_has_a_fourth_map_and_cells_from_their_corner(
    tmp_path: Path,
) -> None:
    rows = np.zeros((1, 43, 112), np.float32)
    rows[0, 11, 7], rows[0, 11, 80:] = 0.9, bins(1, 0.5, 2, 1)
    rows[0, 42, 0], rows[0, 42, 80:] = 0.6, bins(0, 0, 1, 0.5)
    found = found_by(tmp_path, {"out": rows}, (64, 32), family="nanodet")
    np.testing.assert_allclose(found.boxes_xyxy, [[16, 4, 40, 16], [0, 0, 64, 32]], rtol=1e-5)
    assert found.labels == ("truck", "person")


def test_other_numbers_of_classes_need_labels_or_a_name(tmp_path: Path) -> None:
    rows = np.zeros((1, 43, 35), np.float32)
    rows[0, 11, 1], rows[0, 11, 3:] = 0.9, bins(1, 0.5, 2, 1)
    for more in ({"labels": ("a", "b", "c")}, {"decoder": "nanodet"}):
        found = found_by(tmp_path, {"out": rows}, (64, 32), family="nanodet", **more)
        np.testing.assert_allclose(found.boxes_xyxy, [[16, 4, 40, 16]], rtol=1e-5)


def test_its_pixels_are_normalised_and_letterboxed_in_the_corner(tmp_path: Path) -> None:
    detector = tiny_detector(tmp_path, pairs(), (64, 32))
    found = detector.infer_once(make_picture(64, 64))
    np.testing.assert_allclose(found.boxes_xyxy[0], [39, 15, 64, 39], rtol=1e-5)
    about = detector.describe()
    assert about["iou"] == 0.6
    assert about["input"]["mean"] == [103.53, 116.28, 123.675]
    assert about["input"]["scale"] == [57.375, 57.12, 58.395]
    assert (about["input"]["color"], about["input"]["pad"]) == ("bgr", 0)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("dis_pred_stride_8", (1, 32, 31)),
        ("cls_pred_stride_16", (1, 8, 4)),
        ("cls_pred_stride_32", (1, 3, 3)),
    ],
)
def test_pairs_that_do_not_fit_are_refused(
    tmp_path: Path, name: str, shape: tuple[int, ...]
) -> None:
    outputs = {**pairs(), name: np.zeros(shape, np.float32)}
    with pytest.raises(ModelError, match="nanodet"):
        tiny_detector(tmp_path, outputs, (64, 32), decoder="nanodet")
