"""Two thousand models that nobody has made: no traceback, and no box outside of the frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.decoders.families import FAMILIES, choose_family
from vidpipe.inference.decoders.family import DecodeRule, Family, Shape, Signature, TensorSpec
from vidpipe.inference.geometry import geometry_of
from vidpipe.inference.labels import LabelTable
from vidpipe.types import Detections

PICTURES = ((640, 640), (416, 416), (320, 320), (320, 240), (64, 32), (33, 65), (1, 1))
COUNTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 21, 32, 85, 100, 112, 300, 1917, 2125, 3549, 4420, 8400)
NAMES = (
    "boxes",
    "labels",
    "scores",
    "logits",
    "pred_boxes",
    "detection_boxes",
    "detection_scores",
    "detection_classes",
    "num_detections",
    "cls_pred_stride_8",
    "dis_pred_stride_8",
    "out",
)
TYPES = ("f32", "f32", "f32", "i64", "i32", "f16")
ODD = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -1.0, 1.0, 0.5])
LARGEST = 100_000


def some_shape(rng: np.random.Generator) -> Shape | None:
    rank = int(rng.choice([0, 1, 2, 3, 3, 3, 3, 4, 5]))
    if rng.random() < 0.03:
        return None
    dims = [None if rng.random() < 0.1 else int(rng.choice(COUNTS)) for _ in range(rank)]
    if rank >= 3 and rng.random() < 0.9:
        dims[0] = 1
    if rank == 4 and rng.random() < 0.5:
        dims[1] = 1
    while np.prod([d or 1 for d in dims]) > LARGEST:
        dims[int(np.argmax([d or 1 for d in dims]))] = 5
    return tuple(dims)


def some_signature(rng: np.random.Generator) -> Signature:
    count = int(rng.choice([0, 1, 1, 1, 2, 2, 3, 4, 6, 12]))
    same = some_shape(rng)
    outputs = tuple(
        TensorSpec(
            frozenset({str(rng.choice(NAMES))} if rng.random() < 0.7 else ()),
            same if rng.random() < 0.3 else some_shape(rng),
            str(rng.choice(TYPES)),
        )
        for _ in range(count)
    )
    width, height = PICTURES[int(rng.integers(len(PICTURES)))]
    metadata = {"task": "segment", "names": "{0: 'a', 1: 'b'}"} if rng.random() < 0.1 else {}
    return Signature(inputs=(), outputs=outputs, metadata=metadata, picture_wh=(width, height))


def some_values(rng: np.random.Generator, shape: Sequence[int], kind: str) -> NDArray[np.generic]:
    values = rng.normal(0, float(rng.choice([1.0, 100.0, 1e30])), tuple(shape))
    values = np.where(rng.random(values.shape) < rng.choice([0, 0.2]), rng.choice(ODD), values)
    dtype = {"i64": np.int64, "i32": np.int32}.get(kind, np.float32)
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(dtype))


def answer(
    rng: np.random.Generator, signature: Signature, *, keeps_promise: bool
) -> list[NDArray[np.generic]]:
    values = []
    for spec in signature.outputs:
        shape = spec.shape if keeps_promise else some_shape(rng)
        dims = [int(rng.integers(0, 9)) if d is None else d for d in shape or ()]
        values.append(some_values(rng, dims, spec.element_type))
    return values


def looked_at(family: Family, signature: Signature, rng: np.random.Generator) -> int:
    """Have a family decode a promise kept and one broken; return how many objects it found."""
    family.is_certain(signature)
    family.class_count(signature)
    least = float(rng.choice([0.0, 0.3, 1.0]))
    iou = float(rng.choice([0.0, 0.5, 1.0]))
    width, height = (side or 1 for side in signature.picture_wh)
    rule = DecodeRule(least, iou, LabelTable(("a", "b")), None, (width, height))
    decode = family.decoder(signature, rule)
    frame_wh = (int(rng.integers(1, 2000)), int(rng.integers(1, 2000)))
    at = geometry_of(frame_wh, (width, height), family.recipe)
    count = 0
    for keeps_promise in (True, False):
        outputs = answer(rng, signature, keeps_promise=keeps_promise)
        try:
            found = decode(outputs, at)
        except InferenceError:
            continue
        within(found, frame_wh)
        count += len(found)
    return count


def within(found: Detections, frame_wh: tuple[int, int]) -> None:
    boxes = found.boxes_xyxy
    assert np.isfinite(boxes).all()
    assert (boxes >= 0).all()
    assert (boxes <= [*frame_wh, *frame_wh]).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert np.isfinite(found.scores).all()
    assert (np.diff(found.scores) <= 0).all()
    assert (found.class_ids >= 0).all()
    assert len(found.labels) == len(boxes) == len(found.scores) == len(found.class_ids)


@pytest.mark.parametrize("seed", range(8))
def test_random_outputs_are_decoded_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fitted: set[str] = set()
    objects = 0
    for _ in range(250):
        signature = some_signature(rng)
        try:
            family = choose_family("auto", signature, "m")
            assert family.mismatch(signature) is None
        except ModelError as error:
            assert str(error).startswith("model m: ")  # noqa: PT017 - most are refused
        for family in FAMILIES:
            if family.mismatch(signature) is None:
                fitted.add(family.name)
                objects += looked_at(family, signature, rng)
    assert len(fitted) >= 6
    assert objects > 0
