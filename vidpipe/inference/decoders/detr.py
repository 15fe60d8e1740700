"""RT-DETR and D-FINE: a fixed number of queries, each with at most one object; no suppression.

Three kinds of export are understood:

* Ultralytics': ``[1,N,4+C]``, centre, width and height in 0..1 and scores in 0..1; the best class
  of each query counts (`models/rtdetr/predict.py`);
* the authors': ``labels`` [1,N], ``boxes`` [1,N,4] (corners) and ``scores`` [1,N], with the input
  ``orig_target_sizes`` given as the model's own size, so boxes come in input pixels
  (`tools/export_onnx.py` of RT-DETR, `tools/deployment/export_onnx.py` of D-FINE);
* Hugging Face's: ``logits`` [1,N,C] and ``pred_boxes`` [1,N,4] (centre, width and height in 0..1);
  a score is a sigmoid, and the best N of all queries and classes count
  (`models/rt_detr/image_processing_rt_detr.py`, post_process_object_detection).

All stretch RGB in 0..1 to a square.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, log

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.boxes import best_of_rows, corners_of_centres, in_pixels
from vidpipe.inference.decoders.family import (
    DecodeRule,
    Output,
    Shape,
    Signature,
    as_float64,
    is_shape,
    is_table,
)
from vidpipe.inference.decoders.grid import is_open, likely_strides
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.decoders.ultralytics import is_finished, named_classes, unfit_task
from vidpipe.inference.modelapi import is_rtdetr
from vidpipe.inference.settings import Color, InputRecipe

_BOX = 4
_QUERIES = 300
"""What these models are trained with; other DETRs have other numbers, and other pixels."""

_LEAST_QUERIES, _MOST_QUERIES = 100, 1000
_OTHERS_ROWS = (6, 7)
"""Rows of six and seven numbers are finished in other families."""


def _match(signature: Signature) -> Match | str:
    unfit = unfit_task(signature)
    if unfit is not None:
        return unfit
    return (
        _match_lists(signature)
        or _match_logits(signature)
        or _match_table(signature)
        or "its outputs are neither [1,N,4+C], nor labels, boxes and scores, nor logits and boxes"
    )


def _match_lists(signature: Signature) -> Match | None:
    specs = list(enumerate(signature.outputs))
    boxes = [i for i, spec in specs if is_table(spec, _BOX)]
    lists = [i for i, spec in specs if is_shape(spec, 1, None)]
    whole = [i for i in lists if signature.outputs[i].element_type.startswith(("i", "u"))]
    real = [i for i in lists if i not in whole]
    if (len(specs), len(boxes), len(whole), len(real)) != (3, 1, 1, 1):
        return None
    # Others answer such lists, too, with pixels of their own.
    is_certain = _two(signature.outputs[boxes[0]].shape)[0] == _QUERIES
    return Match((whole[0], boxes[0], real[0]), _read_lists, None, is_certain)


def _match_logits(signature: Signature) -> Match | None:
    by_name = {name: i for i, spec in enumerate(signature.outputs) for name in spec.names}
    is_named = {"logits", "pred_boxes"} <= by_name.keys()
    if is_named:
        logits, boxes = by_name["logits"], by_name["pred_boxes"]
    elif len(signature.outputs) == 2:
        boxes = int(not is_table(signature.outputs[0], _BOX))
        logits = 1 - boxes
    else:
        return None
    if not is_table(signature.outputs[boxes], _BOX):
        return None
    rows, columns = _two(signature.outputs[logits].shape)
    is_query_count = rows is None or rows <= _MOST_QUERIES
    if columns is None or rows != _two(signature.outputs[boxes].shape)[0] or not is_query_count:
        return None
    return Match((logits, boxes), _read_logits, columns, is_named and rows == _QUERIES)


def _match_table(signature: Signature) -> Match | None:
    if len(signature.outputs) != 1 or is_finished(signature):
        return None
    rows, columns = _two(signature.outputs[0].shape)
    if columns is None or columns <= _BOX:
        return None
    if rows is not None and not _LEAST_QUERIES <= rows <= _MOST_QUERIES:
        return None
    if any(likely_strides(rows, columns, signature.picture_wh, count) for count in (1, 3)):
        return None
    count = columns - _BOX
    # Tables of other lengths are as well a transformer's tokens, or maps of depth.
    is_told = rows == _QUERIES and columns not in _OTHERS_ROWS
    is_named = is_rtdetr(signature.metadata) and named_classes(signature) in (None, count)
    is_certain = is_named or (is_told and not is_open(rows, signature.picture_wh))
    return Match((0,), partial(_read_table, class_count=count), count, is_certain)


def _two(shape: Shape | None) -> tuple[int | None, int | None]:
    """Return the rows and columns of [1,rows,columns]."""
    if shape is None or len(shape) != 3 or shape[0] not in (1, None):
        return None, None
    return shape[1], shape[2]


def _read_table(
    outputs: Sequence[Output], rule: DecodeRule, *, class_count: int
) -> Candidates | None:
    rows = outputs[0][0]
    index, ids, scores = best_of_rows(rows[:, _BOX : _BOX + class_count], rule.confidence)
    if not len(index):
        return None
    boxes = as_float64(rows[index, :_BOX]) * (*rule.input_wh, *rule.input_wh)
    return Candidates(corners_of_centres(boxes), scores, ids)


def _read_lists(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    labels, boxes, scores = outputs[0].reshape(-1), outputs[1][0], outputs[2].reshape(-1)
    if not len(labels) == len(boxes) == len(scores):
        raise InferenceError(
            f"the model answered {len(labels)} labels, {len(boxes)} boxes and {len(scores)} scores"
        )
    index = np.flatnonzero(scores >= rule.confidence)
    if not len(index):
        return None
    corners = in_pixels(boxes[index], rule.input_wh, lambda: boxes)
    return Candidates(corners, scores[index], labels[index])


def _read_logits(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    logits, boxes = outputs[0][0], outputs[1][0]
    if len(logits) != len(boxes):
        raise InferenceError(f"the model answered {len(logits)} scores and {len(boxes)} boxes")
    queries, ids = np.nonzero(logits >= _logit(rule.confidence))
    if not len(queries):
        return None
    scores = 1 / (1 + np.exp(-as_float64(logits[queries, ids])))
    if len(scores) > len(boxes):
        best = np.argsort(-scores, kind="stable")[: len(boxes)]
        queries, ids, scores = queries[best], ids[best], scores[best]
    found = as_float64(boxes[queries]) * (*rule.input_wh, *rule.input_wh)
    return Candidates(corners_of_centres(found), scores, ids)


def _logit(score: float) -> float:
    """Return where a sigmoid reaches a score; a little less, since `finish` looks again."""
    if score <= 0:
        return -inf
    return inf if score >= 1 else log(score / (1 - score)) - 1e-6


FAMILY = MatchedFamily(
    name="rt-detr",
    needs="[1,300,4+C], or labels [1,300], boxes [1,300,4] and scores [1,300], or logits [1,300,C]"
    " and pred_boxes [1,300,4]",
    recipe=InputRecipe(color=Color.RGB, scale=(255.0, 255.0, 255.0)),
    input_wh=(640, 640),
    overlap=1.0,
    match=_match,
)
