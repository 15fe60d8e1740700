from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders import tfod
from vidpipe.inference.decoders.anchors import AnchorGrid
from vidpipe.inference.decoders.family import (
    Decoder,
    DecodeRule,
    Output,
    Shape,
    Signature,
    TensorSpec,
)
from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.settings import InputRecipe
from vidpipe.types import Detections

FRAME = geometry_of((200, 100), (300, 300), InputRecipe())
NAMED: dict[str, Shape] = {
    "detection_boxes": (1, 3, 4),
    "detection_classes": (1, 3),
    "detection_scores": (1, 3),
    "num_detections": (1,),
}
VALUES: dict[str, Output] = {
    "detection_boxes": np.array(
        [[[0.1, 0.2, 0.5, 0.4], [0, 0, 1, 1], [0, 0, 0.5, 0.5]]], np.float32
    ),
    "detection_classes": np.array([[1, 2, 2]], np.float32),
    "detection_scores": np.array([[0.9, 0.8, 0.7]], np.float32),
    "num_detections": np.array([2], np.float32),
}
TWO_MAPS = AnchorGrid(maps=(2, 1))
COUNT = 2 * 2 * 3 + 6


def signature(
    shapes: Mapping[str, Shape],
    *,
    constants: Mapping[str, Output] | None = None,
    metadata: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
) -> Signature:
    outputs = tuple(
        TensorSpec(frozenset({name}), shape, (types or {}).get(name, "f32"))
        for name, shape in shapes.items()
    )
    return Signature((), outputs, constants or {}, metadata=metadata or {})


def rule(confidence: float = 0.5, iou: float = 1.0) -> DecodeRule:
    labels = LabelTable(("person", "car"), background_id=-1)
    return DecodeRule(confidence, iou, labels, None, input_wh=(300, 300))


def expected_of_values(found: Detections) -> None:
    np.testing.assert_allclose(found.boxes_xyxy, [[40, 10, 80, 50], [0, 0, 200, 100]], rtol=1e-5)
    np.testing.assert_allclose(found.scores, [0.9, 0.8])
    assert found.class_ids.tolist() == [0, 1]
    assert found.labels == ("person", "car")


@pytest.mark.parametrize("order", list(itertools.permutations(NAMED))[::5])
def test_finished_outputs_are_found_by_name_in_any_order(order: tuple[str, ...]) -> None:
    decode = tfod.FAMILY.decoder(signature({name: NAMED[name] for name in order}), rule())
    expected_of_values(decode([VALUES[name] for name in order], FRAME))


def test_further_outputs_are_passed_over() -> None:
    shapes = {"raw_detection_boxes": (1, 1917, 4), **NAMED, "detection_masks": (1, 3, 9, 9)}
    decode = tfod.FAMILY.decoder(signature(shapes), rule())
    values = {"raw_detection_boxes": np.zeros(1), **VALUES, "detection_masks": np.zeros(1)}
    expected_of_values(decode(list(values.values()), FRAME))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_finished_outputs_without_names_are_found_by_shape(order: tuple[int, ...]) -> None:
    names = list(NAMED)
    shapes = {f"Identity_{i}": NAMED[names[i]] for i in order}
    decode = tfod.FAMILY.decoder(signature(shapes), rule())
    expected_of_values(decode([VALUES[names[i]] for i in order], FRAME))


def test_whole_numbered_outputs_without_names_are_the_classes() -> None:
    shapes: dict[str, Shape] = {"a": (1, 3, 4), "b": (1, 3), "c": (1, 3), "d": (1,)}
    shown = signature(shapes, types={"c": "i64"})
    values = [VALUES[name] for name in ("detection_boxes", "detection_scores", "detection_classes")]
    values[2] = values[2].astype(np.int64)
    decode = tfod.FAMILY.decoder(shown, rule())
    expected_of_values(decode([*values, VALUES["num_detections"]], FRAME))


def test_tflite_counts_classes_from_0() -> None:
    lite = "TFLite_Detection_PostProcess"
    names = [lite, f"{lite}:1", f"{lite}:2", f"{lite}:3"]
    shapes = dict(zip(names, NAMED.values(), strict=True))
    values = list(VALUES.values())
    values[1] = values[1] - 1
    expected_of_values(tfod.FAMILY.decoder(signature(shapes), rule())(values, FRAME))


@pytest.mark.parametrize(
    ("count", "expected"), [(0.0, 0), (1.0, 1), (3.0, 3), (99.0, 3), (-1.0, 3), (np.nan, 3)]
)
def test_padding_behind_the_count_is_no_detection(count: float, expected: int) -> None:
    decode = tfod.FAMILY.decoder(signature(NAMED), rule())
    values = {**VALUES, "num_detections": np.array([count], np.float32)}
    assert len(decode(list(values.values()), FRAME)) == expected


def test_outputs_that_do_not_belong_together_are_an_inference_error() -> None:
    decode = tfod.FAMILY.decoder(signature(NAMED), rule())
    values = {**VALUES, "detection_scores": np.zeros((1, 2), np.float32)}
    with pytest.raises(InferenceError, match="belong together"):
        decode(list(values.values()), FRAME)


def raw_shapes(count: int = COUNT, columns: int = 3) -> dict[str, Shape]:
    return {"scores": (1, count, columns), "boxes": (1, count, 4)}


def raw_decoder(confidence: float = 0.5, iou: float = 0.6) -> Decoder:
    shown = signature(raw_shapes(), metadata={"anchors": TWO_MAPS.to_text()})
    assert tfod.FAMILY.mismatch(shown) is None
    return tfod.FAMILY.decoder(shown, rule(confidence, iou))


def raw_values() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    scores = np.zeros((1, COUNT, 3), np.float32)
    scores[..., 0] = 1
    return scores, np.zeros((1, COUNT, 4), np.float32)


def test_raw_heads_are_decoded_over_their_anchors() -> None:
    scores, boxes = raw_values()
    scores[0, 0, 1], scores[0, 12, 2] = 0.9, 0.8
    # Anchor 0: centre (.25, .25), side .1; anchor 12: centre (.5, .5), side .95.
    boxes[0, 0] = [10, 5, 0, 5 * np.log(2)]
    found = raw_decoder()([scores, boxes], FRAME)
    np.testing.assert_allclose(
        found.boxes_xyxy,
        # Moved down by its height and right by half its width, then twice as wide.
        [[(0.3 - 0.1) * 200, 30, (0.3 + 0.1) * 200, 40], [5, 2.5, 195, 97.5]],
        rtol=1e-5,
    )
    assert found.labels == ("person", "car")
    assert found.class_ids.tolist() == [0, 1]


def test_raw_boxes_that_overlap_are_joined_within_their_class() -> None:
    scores, boxes = raw_values()
    scores[0, 12, 1:] = 0.8
    scores[0, 17, 1] = 0.9
    assert raw_decoder()([scores, boxes], FRAME).labels == ("person", "car")
    assert len(raw_decoder(iou=1.0)([scores, boxes], FRAME)) == 3


def test_the_background_is_no_class() -> None:
    assert len(raw_decoder()(list(raw_values()), FRAME)) == 0


def test_anchors_may_be_stored_as_corners() -> None:
    grid = TWO_MAPS.anchors()
    corners = np.concatenate([grid[:, :2] - grid[:, 2:] / 2, grid[:, :2] + grid[:, 2:] / 2], 1)
    decode = tfod.FAMILY.decoder(signature(raw_shapes(), constants={"anchors": corners}), rule())
    scores, boxes = raw_values()
    scores[0, 5, 1] = 0.9
    found, same = decode([scores, boxes], FRAME), raw_decoder()([scores, boxes], FRAME)
    np.testing.assert_allclose(found.boxes_xyxy, same.boxes_xyxy, rtol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "metadata", "reason"),
    [
        (raw_shapes(100), {}, "100 boxes and 1917 anchors"),
        (raw_shapes(), {"anchors": "x"}, "can't be read"),
        ({"a": (1, 1917, 4), "b": (1, 1917, 1)}, {}, "not box encodings"),
        ({"a": (1, 1917, 4), "b": (1, 900, 3)}, {}, "not box encodings"),
        ({"a": (1, 1917, 4)}, {}, "1 outputs"),
        ({"boxes": (None, 5), "labels": (None,)}, {}, "not box encodings"),
        ({"a": None, "b": None}, {}, "not box encodings"),
    ],
)
def test_a_mismatch_says_why(
    shapes: dict[str, Shape], metadata: dict[str, str], reason: str
) -> None:
    assert reason in (tfod.FAMILY.mismatch(signature(shapes, metadata=metadata)) or "")


def test_overlap_is_resolved_where_the_graph_has_not_done_so() -> None:
    assert tfod.FAMILY.iou(signature(NAMED)) == 1.0
    assert tfod.FAMILY.iou(signature(raw_shapes(1917))) == 0.6


ANY = st.floats(width=32, allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, 2.0])


def within_the_frame(found: Detections) -> None:
    assert np.isfinite(found.boxes_xyxy).all()
    assert (found.boxes_xyxy >= 0).all()
    assert (found.boxes_xyxy <= [200, 100, 200, 100]).all()
    assert (found.boxes_xyxy[:, 2:] > found.boxes_xyxy[:, :2]).all()
    assert (np.diff(found.scores) <= 0).all()
    assert len(found.labels) == len(found.boxes_xyxy) == len(found.scores)


@given(
    arrays(np.float32, (1, COUNT, 3), elements=ANY),
    arrays(np.float32, (1, COUNT, 4), elements=ANY),
    st.sampled_from([0.0, 0.5]),
)
def test_whatever_raw_heads_say_boxes_lie_within_the_frame(
    scores: NDArray[np.float32], boxes: NDArray[np.float32], confidence: float
) -> None:
    within_the_frame(raw_decoder(confidence)([scores, boxes], FRAME))


@given(
    arrays(np.float32, (1, 3, 4), elements=ANY),
    arrays(np.float32, (1, 3), elements=ANY),
    arrays(np.float32, (1, 3), elements=ANY),
    arrays(np.float32, (1,), elements=ANY),
)
def test_whatever_finished_outputs_say_boxes_lie_within_the_frame(
    boxes: NDArray[np.float32],
    classes: NDArray[np.float32],
    scores: NDArray[np.float32],
    count: NDArray[np.float32],
) -> None:
    unnamed = {f"o{i}": shape for i, shape in enumerate(NAMED.values())}
    for shapes in (NAMED, unnamed):
        decode = tfod.FAMILY.decoder(signature(shapes), rule(0.0))
        within_the_frame(decode([boxes, classes, scores, count], FRAME))
