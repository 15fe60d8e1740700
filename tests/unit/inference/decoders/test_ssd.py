from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders import ssd
from vidpipe.inference.decoders.family import Decoder, DecodeRule, Signature, TensorSpec
from vidpipe.inference.geometry import Geometry, geometry_of
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.settings import InputRecipe, Resize
from vidpipe.types import Detections

FRAME = geometry_of((200, 100), (300, 300), InputRecipe())


def signature(*shape: int | None, background_id: int | None = None) -> Signature:
    output = TensorSpec(frozenset({"out"}), shape, "f32")
    return Signature(inputs=(), outputs=(output,), background_id=background_id)


def decoder(
    confidence: float = 0.5, iou: float = 1.0, kept: frozenset[int] | None = None
) -> Decoder:
    labels = LabelTable(("vehicle", "person", "bike"))
    rule = DecodeRule(confidence, iou, labels, kept, input_wh=(300, 300))
    return ssd.FAMILY.decoder(signature(1, 1, None, 7), rule)


def decode(rows: ArrayLike, decode_rows: Decoder | None = None, at: Geometry = FRAME) -> Detections:
    array = np.asarray(rows, np.float32).reshape(1, 1, -1, 7)
    return (decode_rows or decoder())([array], at)


def test_rows_become_boxes_of_the_frame_by_falling_score() -> None:
    found = decode([[0, 1, 0.6, 0.1, 0.2, 0.3, 0.4], [0, 2, 0.9, 0, 0, 1, 1]])
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 200, 100], [20, 20, 60, 40]], rtol=1e-6)
    np.testing.assert_allclose(found.scores, [0.9, 0.6])
    assert found.class_ids.tolist() == [2, 1]
    assert found.labels == ("bike", "person")
    assert found.boxes_xyxy.dtype == found.scores.dtype == np.float32
    assert found.class_ids.dtype == np.int32


def test_equal_scores_keep_the_order_of_the_model() -> None:
    rows = [(0.0, float(i % 3), 0.75, i / 100, 0.0, 1.0, 1.0) for i in range(40)]
    assert np.all(np.diff(decode(rows).boxes_xyxy[:, 0]) > 0)


def test_the_first_negative_image_ends_the_list() -> None:
    row = [0.0, 1, 0.9, 0, 0, 1, 1]
    assert len(decode([row, [-1.0, 1, 0.9, 0, 0, 1, 1], row])) == 1
    assert len(decode([[-1.0, 0, 0, 0, 0, 0, 0], row])) == 0


def test_the_threshold_itself_is_kept() -> None:
    assert len(decode([[0, 1, 0.5, 0, 0, 1, 1], [0, 1, 0.499, 0, 0, 1, 1]])) == 1


def test_boxes_are_clipped_and_those_outside_are_dropped() -> None:
    found = decode(
        [
            [0, 1, 0.9, -0.5, -0.5, 0.5, 0.5],
            [0, 1, 0.8, 0.5, 0.5, 9, 9],
            [0, 1, 0.7, 1.1, 0, 1.3, 1],
            [0, 1, 0.7, 0.5, 0.5, 0.4, 0.6],
            [0, 1, 0.7, 0.5, 0.5, 0.5, 0.6],
        ]
    )
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 100, 50], [100, 50, 200, 100]])


@pytest.mark.parametrize("column", range(7))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_nonsense_in_one_row_harms_no_row_before_it(column: int, value: float) -> None:
    good = [0.0, 1, 0.9, 0.25, 0.25, 0.5, 0.5]
    bad = [0.0, 2, 0.8, 0.25, 0.25, 0.5, 0.5]
    bad[column] = value
    found = decode([good, bad])
    assert found.labels[0] == "person" or column == 2
    assert len(found) == (2 if (column, value) in {(0, np.inf), (0, 3e38), (2, 3e38)} else 1)


def test_only_classes_that_are_kept_come_out() -> None:
    rows = [[0, 0, 0.9, 0, 0, 1, 1], [0, 1, 0.8, 0, 0, 1, 1], [0, 9, 0.7, 0, 0, 1, 1]]
    assert decode(rows, decoder(kept=frozenset({1, 9}))).labels == ("person", "class-9")


def test_an_overlap_threshold_of_the_user_joins_boxes_of_a_class() -> None:
    rows = [[0, 1, 0.9, 0, 0, 1, 1], [0, 1, 0.8, 0, 0, 1, 0.95], [0, 2, 0.7, 0, 0, 1, 1]]
    assert decode(rows, decoder(iou=0.5)).labels == ("person", "bike")
    assert len(decode(rows)) == 3


def test_letterboxed_boxes_come_back() -> None:
    at = geometry_of((200, 100), (300, 300), InputRecipe(resize=Resize.LETTERBOX))
    found = decode([[0, 1, 0.9, 0, 0.25, 1, 0.75], [0, 1, 0.8, 0, 0, 1, 0.2]], at=at)
    np.testing.assert_allclose(found.boxes_xyxy, [[0, 0, 200, 100]])


@pytest.mark.parametrize("shape", [(1, 1, 0, 7), (1, 0, 7), (0, 7)])
def test_no_rows_are_no_detections(shape: tuple[int, ...]) -> None:
    assert len(decoder()([np.zeros(shape, np.float32)], FRAME)) == 0


def test_outputs_of_another_shape_are_an_inference_error() -> None:
    with pytest.raises(InferenceError, match="rows of seven"):
        decoder()([np.zeros((1, 1, 5, 6), np.float32)], FRAME)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 12), st.just(7)),
        elements=st.floats(width=32, allow_nan=True, allow_infinity=True)
        | st.sampled_from([0.0, 1.0, 0.5, -1.0, 2.0]),
    ),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.5, 1.0]),
)
def test_whatever_the_model_says_boxes_lie_within_the_frame(
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]], confidence: float, iou: float
) -> None:
    found = decode(rows, decoder(confidence, iou))
    boxes = found.boxes_xyxy
    assert np.isfinite(boxes).all()
    assert (boxes >= 0).all()
    assert (boxes <= [200, 100, 200, 100]).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.scores >= confidence) & (found.scores <= 1)).all()
    assert (found.class_ids >= 0).all()
    assert len(found.labels) == len(boxes) == len(found.scores) == len(found.class_ids)


@pytest.mark.parametrize(
    ("shape", "background_id", "is_ssd", "is_certain"),
    [
        ((1, 1, 200, 7), None, True, True),
        ((1, 1, None, 7), None, True, True),
        ((None, 1, None, 7), None, True, True),
        ((1, 200, 7), None, True, False),
        ((1, 200, 7), 0, True, True),
        ((None, 7), None, True, False),
        ((1, 1, 200, 6), None, False, False),
        ((1, 1, 200, None), None, False, False),
        ((1, 7), None, True, False),
        ((7,), None, False, False),
        ((1, 3, 200, 7), None, False, False),
    ],
)
def test_the_family_is_told_by_its_shape(
    shape: tuple[int | None, ...],
    background_id: int | None,
    is_ssd: bool,  # noqa: FBT001 - a column of the table
    is_certain: bool,  # noqa: FBT001 - a column of the table
) -> None:
    shown = signature(*shape, background_id=background_id)
    assert (ssd.FAMILY.mismatch(shown) is None) == is_ssd
    if is_ssd:
        assert ssd.FAMILY.is_certain(shown) == is_certain


@pytest.mark.parametrize(("stated", "expected"), [(0, 0), (3, None), (None, None)])
def test_a_background_before_the_classes_moves_the_labels(
    stated: int | None, expected: int | None
) -> None:
    assert ssd.FAMILY.background_id(signature(1, 1, 5, 7, background_id=stated)) == expected
