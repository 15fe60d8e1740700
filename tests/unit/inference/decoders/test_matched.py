"""All families that decode by a table of outputs, against what was put into their outputs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.heads import HEADS, BoxXyxy
from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.families import choose_family
from vidpipe.inference.decoders.family import Decoder, DecodeRule, Signature, TensorSpec
from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.settings import Anchor, InputRecipe, Resize
from vidpipe.types import Detections

LABELS = LabelTable(tuple(f"c{i}" for i in range(80)))
TITLES = list(HEADS)
RECIPES = [
    InputRecipe(),
    InputRecipe(resize=Resize.LETTERBOX, anchor=Anchor.CENTRE),
    InputRecipe(resize=Resize.LETTERBOX, anchor=Anchor.CORNER),
]


def decoder(
    title: str,
    *,
    confidence: float = 0.4,
    iou: float | None = None,
    kept: frozenset[int] | None = None,
    is_agnostic: bool = False,
) -> Decoder:
    name, head = HEADS[title]
    signature = head.signature()
    family = choose_family(name, signature, title)
    overlap = family.iou(signature) if iou is None else iou
    rule = DecodeRule(confidence, overlap, LABELS, kept, head.input_wh, is_agnostic)
    return family.decoder(signature, rule)


def scene(title: str) -> tuple[list[BoxXyxy], list[float], list[int]]:
    """Return three objects that don't overlap, of different classes."""
    _, head = HEADS[title]
    width, height = head.input_wh
    boxes: list[BoxXyxy] = [
        (0.1 * width, 0.2 * height, 0.3 * width, 0.5 * height),
        (0.55 * width, 0.3 * height, 0.75 * width, 0.45 * height),
        (0.4 * width, 0.6 * height, 0.5 * width, 0.75 * height),
    ]
    return boxes, [0.9, 0.8, 0.7], [0, 3, 7] if head.has_classes else [0, 0, 0]


def square(title: str) -> NDArray[np.float64]:
    width, height = HEADS[title][1].input_wh
    return np.array([width, height, width, height], float)


@pytest.mark.parametrize("title", TITLES)
def test_what_was_put_in_comes_out(title: str) -> None:
    _, head = HEADS[title]
    boxes, scores, ids = scene(title)
    at = geometry_of(head.input_wh, head.input_wh, InputRecipe())
    found = decoder(title)(head.outputs(boxes, scores, ids), at)
    np.testing.assert_allclose(found.boxes_xyxy, boxes, atol=0.02)
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)
    assert found.class_ids.tolist() == ids
    assert found.labels == tuple(f"c{i}" for i in ids)
    assert found.boxes_xyxy.dtype == found.scores.dtype == np.float32
    assert found.class_ids.dtype == np.int32


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("recipe", RECIPES, ids=["stretch", "centre", "corner"])
def test_boxes_come_back_to_a_frame_of_another_shape(title: str, recipe: InputRecipe) -> None:
    _, head = HEADS[title]
    boxes, scores, ids = scene(title)
    width, height = head.input_wh
    at = geometry_of((2 * width, height), head.input_wh, recipe)
    found = decoder(title)(head.outputs(boxes, scores, ids), at)
    expected = np.array(boxes)
    if recipe.resize is Resize.STRETCH:
        expected *= (2, 1, 2, 1)
    else:
        top = height / 4 if recipe.anchor is Anchor.CENTRE else 0
        expected = (expected - (0, top, 0, top)) * 2
        expected = np.clip(expected, 0, (2 * width, height, 2 * width, height))
        expected = expected[(expected[:, 3] > expected[:, 1])]
    np.testing.assert_allclose(found.boxes_xyxy, expected, atol=0.05)


@pytest.mark.parametrize("title", TITLES)
def test_only_what_is_above_the_confidence_comes_out(title: str) -> None:
    _, head = HEADS[title]
    boxes, scores, ids = scene(title)
    at = geometry_of(head.input_wh, head.input_wh, InputRecipe())
    outputs = head.outputs(boxes, scores, ids)
    assert len(decoder(title, confidence=0.75)(outputs, at)) == 2
    assert len(decoder(title, confidence=1.0)(outputs, at)) == 0
    assert len(decoder(title)(head.outputs(), at)) == 0


@pytest.mark.parametrize("title", [t for t in TITLES if HEADS[t][1].has_classes])
def test_only_classes_that_are_kept_come_out(title: str) -> None:
    _, head = HEADS[title]
    at = geometry_of(head.input_wh, head.input_wh, InputRecipe())
    found = decoder(title, kept=frozenset({3}))(head.outputs(*scene(title)), at)
    assert found.labels == ("c3",)


def overlapping(title: str) -> list[BoxXyxy]:
    """Return a box and one that overlaps it by nine tenths."""
    width, height = HEADS[title][1].input_wh
    side = min(width, height) / 4
    x, y = 0.4 * width, 0.4 * height
    return [(x, y, x + side, y + side), (x, y, x + side, y + 0.9 * side)]


@pytest.mark.parametrize("title", [t for t in TITLES if t != "fastestdet"])
def test_boxes_that_overlap_are_one_within_a_class_or_across_them(title: str) -> None:
    """FastestDet has one box a cell: the two would be the same."""
    _, head = HEADS[title]
    at = geometry_of(head.input_wh, head.input_wh, InputRecipe())
    twins = head.outputs(overlapping(title), [0.9, 0.8], [2, 2] if head.has_classes else [0, 0])
    assert len(decoder(title, iou=0.5)(twins, at)) == 1
    assert len(decoder(title, iou=0.95)(twins, at)) == 2
    if head.has_classes:
        others = head.outputs(overlapping(title), [0.9, 0.8], [2, 5])
        assert len(decoder(title, iou=0.5)(others, at)) == 2
        found = decoder(title, iou=0.5, is_agnostic=True)(others, at)
        assert found.labels == ("c2",)


@pytest.mark.parametrize("title", TITLES)
def test_outputs_of_another_shape_are_an_inference_error(title: str) -> None:
    _, head = HEADS[title]
    at = geometry_of(head.input_wh, head.input_wh, InputRecipe())
    outputs = head.outputs(*scene(title))
    with pytest.raises(InferenceError):
        decoder(title)([output[..., :3] for output in outputs], at)
    with pytest.raises(InferenceError):
        decoder(title)([np.zeros(()) for _ in outputs], at)


def test_the_answers_for_several_pictures_are_an_inference_error() -> None:
    spec = TensorSpec(frozenset({"out"}), (None, 300, 6), "f32")
    signature = Signature(inputs=(), outputs=(spec,), picture_wh=(640, 640))
    rule = DecodeRule(0.4, 1.0, LABELS, None, (640, 640))
    decode = choose_family("yolo-e2e", signature, "m").decoder(signature, rule)
    at = geometry_of((640, 640), (640, 640), InputRecipe())
    assert len(decode([np.zeros((1, 300, 6), np.float32)], at)) == 0
    for count in (0, 2):
        with pytest.raises(InferenceError, match="promised out"):
            decode([np.zeros((count, 300, 6), np.float32)], at)


def within_the_frame(found: Detections, frame_wh: tuple[int, int], least: float) -> None:
    boxes = found.boxes_xyxy
    assert np.isfinite(boxes).all()
    assert (boxes >= 0).all()
    assert (boxes <= [*frame_wh, *frame_wh]).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert (np.diff(found.scores) <= 0).all()
    assert ((found.scores >= np.float32(least)) & (found.scores <= 1)).all()
    assert (found.class_ids >= 0).all()
    assert len(found.labels) == len(boxes) == len(found.scores) == len(found.class_ids)


def nonsense(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return values of many sizes, some of them infinite or no number."""
    scale = rng.choice([1e-3, 0.5, 1.0, 30.0, 700.0, 1e30])
    values = (rng.normal(0, 1, shape) * scale).astype(np.float32)
    odd = rng.choice(
        np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0, -0.0, 1], np.float32), shape
    )
    return np.where(rng.random(shape) < rng.choice([0.0, 0.001, 0.1, 1.0]), odd, values)


@pytest.mark.parametrize("title", TITLES)
def test_whatever_a_model_says_boxes_lie_within_the_frame(title: str) -> None:
    _, head = HEADS[title]
    rng = np.random.default_rng(TITLES.index(title))
    signature = head.signature()
    for number in range(25):
        least = float(rng.choice([0.0, 0.4, 1.0]))
        frame_wh = (int(rng.integers(1, 4000)), int(rng.integers(1, 3000)))
        at = geometry_of(frame_wh, head.input_wh, RECIPES[number % 3])
        outputs = [nonsense(rng, spec.shape or ()) for spec in signature.outputs]  # type: ignore[arg-type] # all are known
        with np.errstate(all="ignore"):
            typed = [
                values.astype(np.int64) if spec.element_type == "i64" else values
                for values, spec in zip(outputs, signature.outputs, strict=True)
            ]
        decode = decoder(
            title,
            confidence=least,
            iou=float(rng.choice([0.0, 0.5, 1.0])),
            is_agnostic=bool(rng.integers(2)),
        )
        within_the_frame(decode(typed, at), frame_wh, least)
