"""TensorFlow's Object Detection API: four finished outputs, or the raw heads of an SSD.

Finished: ``detection_boxes`` (ymin, xmin, ymax, xmax in 0..1), ``detection_scores``,
``detection_classes`` (1-based; TFLite's post-processing counts from 0) and ``num_detections``. Raw:
box encodings (ty, tx, th, tw) and class scores with the background in column 0, over anchors.
Source of the formulas: the API's `faster_rcnn_box_coder`, scales 10, 10, 5, 5, and
`post_processing.multiclass_non_max_suppression`, threshold 0.6.

Class ids count from 0 without the background, in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.anchors import AnchorGrid, grid_from_text
from vidpipe.inference.decoders.family import (
    Decoder,
    DecodeRule,
    Output,
    Signature,
    TensorSpec,
    as_float64,
    is_shape,
)
from vidpipe.inference.decoders.selection import finish
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.settings import Color, InputRecipe
from vidpipe.types import NO_DETECTIONS, Detections

_BOX = 4
_YXYX_TO_XYXY = [1, 0, 3, 2]
_RAW_IOU = 0.6
_CENTRE_GAIN = 0.1
_SIZE_GAIN = 0.2
_MOST_GROWTH = 20.0
"""A box is never exp(20) times its anchor; more would overflow."""

_TFLITE = "TFLite_Detection_PostProcess"
_ROLES = {
    "boxes": ("detection_boxes", _TFLITE),
    "classes": ("detection_classes", f"{_TFLITE}:1"),
    "scores": ("detection_scores", f"{_TFLITE}:2"),
    "count": ("num_detections", f"{_TFLITE}:3"),
}

_BOX_NAMES = frozenset(_ROLES["boxes"])

_ALL_SCORES = ("detection_multiclass_scores", "raw_detection_scores")
"""Further outputs of the API's second version, with a column a class and one of the background."""


@dataclass(frozen=True, slots=True)
class FinishedOutputs:
    """Where the four outputs stand.

    Attributes:
        boxes: Index of the boxes.
        scores: Index of the scores.
        classes: Index of the classes.
        count: Index of the number of detections, or None.
        is_named: False if scores and classes were told by their order alone.
        first_class: The number of the first class in the model's answer.
    """

    boxes: int
    scores: int
    classes: int
    count: int | None
    is_named: bool = True
    first_class: int = 1


@dataclass(frozen=True, slots=True)
class RawOutputs:
    """Where the raw heads stand, and their anchors.

    Attributes:
        encodings: Index of the box encodings [1,A,4].
        scores: Index of the class scores [1,A,C+1].
        anchors: (A, 4) centre y and x, height and width, in 0..1.
    """

    encodings: int
    scores: int
    anchors: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TfOdFamily:
    """Detectors of the Object Detection API: RGB, stretched."""

    name: str = "tf-od"
    needs: str = (
        "detection_boxes [1,N,4], detection_scores [1,N], detection_classes [1,N] and"
        " num_detections [1], or box encodings [1,A,4] and class scores [1,A,C+1] with anchors"
    )
    recipe: InputRecipe = field(default_factory=lambda: InputRecipe(color=Color.RGB))
    input_wh: tuple[int, int] = (300, 300)
    labels: tuple[str, ...] = ()

    def iou(self, signature: Signature) -> float:
        """Return the API's own for raw heads; the finished outputs have been through it."""
        return _RAW_IOU if _finished(signature) is None else 1.0

    def background_id(self, signature: Signature) -> int | None:
        """Return -1: class ids start behind the background."""
        del signature
        return -1

    def class_count(self, signature: Signature) -> int | None:
        """Return the columns of the scores of all classes, without the background's."""
        if _finished(signature) is None:
            raw = _raw(signature)
            columns = None if isinstance(raw, str) else signature.outputs[raw.scores].shape
        else:
            columns = next(
                (spec.shape for spec in signature.outputs if spec.names.intersection(_ALL_SCORES)),
                None,
            )
        return columns[-1] - 1 if columns and columns[-1] is not None else None

    def mismatch(self, signature: Signature) -> str | None:
        """Ask for the four outputs, or the raw heads with their anchors."""
        if _finished(signature) is not None:
            return None
        raw = _raw(signature)
        return raw if isinstance(raw, str) else None

    def is_certain(self, signature: Signature) -> bool:
        """Trust names, anchors in the file, or four outputs of the right shapes.

        Without the names, whole numbers among them are as well another detector's with the
        suppression inside, such as YOLO-NAS; its boxes are others.
        """
        finished = _finished(signature)
        is_named = finished is None or signature.outputs[finished.boxes].names & _BOX_NAMES
        return bool(is_named) or all(_is_real(spec) for spec in signature.outputs)

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return the decoder of the finished outputs, or of the raw heads."""
        finished = _finished(signature)
        if finished is not None:
            return FinishedDecoder(finished, rule)
        raw = _raw(signature)
        if isinstance(raw, str):
            raise ValueError(raw)  # noqa: TRY004 - it is a reason, not a wrong type
        return RawDecoder(raw, rule)


def _finished(signature: Signature) -> FinishedOutputs | None:
    named = {
        role: index
        for role, names in _ROLES.items()
        for index, spec in enumerate(signature.outputs)
        if spec.names.intersection(names)
    }
    if {"boxes", "scores", "classes"} <= named.keys():
        is_lite = _TFLITE in signature.outputs[named["boxes"]].names
        return FinishedOutputs(
            named["boxes"],
            named["scores"],
            named["classes"],
            named.get("count"),
            first_class=0 if is_lite else 1,
        )
    return _finished_by_shape(signature)


def _finished_by_shape(signature: Signature) -> FinishedOutputs | None:
    specs = list(enumerate(signature.outputs))
    boxes = [i for i, spec in specs if is_shape(spec, 1, None, _BOX)]
    lists = [i for i, spec in specs if is_shape(spec, 1, None) and not is_shape(spec, 1, 1)]
    counts = [i for i, spec in specs if is_shape(spec, 1) or is_shape(spec, 1, 1)]
    counts = [i for i in counts if i not in lists]
    if (len(specs), len(boxes), len(lists), len(counts)) != (4, 1, 2, 1):
        return None
    # Alphabetical, as exporters write them, unless the types say more.
    classes, scores = sorted(lists, key=lambda i: _is_real(signature.outputs[i]))
    is_told = _is_real(signature.outputs[classes]) != _is_real(signature.outputs[scores])
    return FinishedOutputs(boxes[0], scores, classes, counts[0], is_named=is_told)


def _is_real(spec: TensorSpec) -> bool:
    return spec.element_type.startswith(("f", "bf"))


def _raw(signature: Signature) -> RawOutputs | str:
    """Return the raw heads, or why there are none."""
    specs = list(enumerate(signature.outputs))
    if len(specs) != 2:
        return (
            f"its {len(specs)} outputs have neither the names of the four nor the shapes of the two"
        )
    for (encodings, box_spec), (scores, score_spec) in (specs, specs[::-1]):
        if not is_shape(box_spec, 1, None, _BOX) or not is_shape(score_spec, 1, None, None):
            continue
        count = (box_spec.shape or (1, None))[1]
        columns = (score_spec.shape or (1, None, None))[2]
        if count is None or columns is None or columns < 2:
            continue
        if (score_spec.shape or (1, None))[1] != count:
            continue
        anchors = _anchors(signature, count)
        return anchors if isinstance(anchors, str) else RawOutputs(encodings, scores, anchors)
    return "its two outputs are not box encodings and class scores"


def _anchors(signature: Signature, count: int) -> NDArray[np.float64] | str:
    stored = signature.constants.get("anchors")
    if stored is not None:
        corners = as_float64(stored).reshape(-1, _BOX)
        anchors = np.concatenate(
            [(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1
        )
    else:
        text = signature.metadata.get("anchors")
        try:
            anchors = (AnchorGrid() if text is None else grid_from_text(text)).anchors()
        except ValueError as error:
            return f"its anchors can't be read: {error}"
    if len(anchors) != count:
        return f"it has {count} boxes and {len(anchors)} anchors"
    return anchors


class FinishedDecoder:
    """Decodes the four outputs."""

    def __init__(self, outputs: FinishedOutputs, rule: DecodeRule) -> None:
        self._at = outputs
        self._rule = rule
        width, height = rule.input_wh
        self._input_size = np.array([width, height, width, height], np.float64)

    def __call__(self, outputs: Sequence[Output], geometry: Geometry) -> Detections:
        """Return the objects of one picture."""
        at = self._at
        boxes = outputs[at.boxes]
        scores, classes = outputs[at.scores].reshape(-1), outputs[at.classes].reshape(-1)
        if boxes.shape[-1:] != (_BOX,) or not len(scores) == len(classes) == boxes.size // _BOX:
            raise InferenceError(
                f"the model answered boxes {boxes.shape}, scores {scores.shape} and classes"
                f" {classes.shape}: they don't belong together"
            )
        if not at.is_named and _is_whole(scores) and not _is_whole(classes):
            scores, classes = classes, scores
        count = len(scores) if at.count is None else _count(outputs[at.count], len(scores))
        index = np.flatnonzero(scores[:count] >= self._rule.confidence)
        if not len(index):
            return NO_DETECTIONS
        chosen = as_float64(boxes.reshape(-1, _BOX)[index])[:, _YXYX_TO_XYXY] * self._input_size
        ids = as_float64(classes[index]) - at.first_class
        return finish(chosen, as_float64(scores[index]), ids, geometry, self._rule)


def _is_whole(values: Output) -> bool:
    return bool((values == np.floor(values)).all())


def _count(output: Output, most: int) -> int:
    value = float(output.reshape(-1)[0]) if output.size else float(most)
    return int(value) if 0 <= value <= most else most


class RawDecoder:
    """Decodes the raw heads; only the boxes above the confidence are computed."""

    def __init__(self, outputs: RawOutputs, rule: DecodeRule) -> None:
        self._at = outputs
        self._rule = rule
        width, height = rule.input_wh
        self._anchors = outputs.anchors * (height, width, height, width)

    def __call__(self, outputs: Sequence[Output], geometry: Geometry) -> Detections:
        """Return the objects of one picture."""
        encodings, scores = outputs[self._at.encodings], outputs[self._at.scores]
        if encodings.shape[-1:] != (_BOX,) or scores.ndim < 2 or scores.shape[-1] < 2:
            raise InferenceError(
                f"the model answered {encodings.shape} and {scores.shape}, not boxes and scores"
            )
        encodings = encodings.reshape(-1, _BOX)
        scores = scores.reshape(-1, scores.shape[-1])[:, 1:]
        if not len(encodings) == len(scores) == len(self._anchors):
            raise InferenceError(
                f"the model answered {len(encodings)} boxes and {len(scores)} scores for"
                f" {len(self._anchors)} anchors"
            )
        index, ids = np.nonzero(scores >= self._rule.confidence)
        if not len(index):
            return NO_DETECTIONS
        boxes = _decoded(as_float64(encodings[index]), self._anchors[index])
        return finish(boxes, as_float64(scores[index, ids]), as_float64(ids), geometry, self._rule)


def _decoded(encodings: NDArray[np.float64], anchors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N, 4) boxes as corners of encodings (ty, tx, th, tw) over anchors (cy, cx, h, w)."""
    centres = encodings[:, :2] * _CENTRE_GAIN * anchors[:, 2:] + anchors[:, :2]
    growth = np.minimum(encodings[:, 2:] * _SIZE_GAIN, _MOST_GROWTH)
    halves = np.exp(growth) * anchors[:, 2:] / 2
    corners = np.concatenate([centres - halves, centres + halves], axis=1)
    return corners[:, _YXYX_TO_XYXY]


FAMILY = TfOdFamily()
