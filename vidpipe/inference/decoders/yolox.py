"""YOLOX: a row a cell, raw or decoded in the graph.

``[1,N,5+C]``, N the cells of all maps: offsets of the centre in cells, logarithms of the size in
cells, objectness and scores in 0..1; the score of a class is their product. ``cx = (v0 + gx) s``,
``cy = (v1 + gy) s``, ``w = exp(v2) s``, ``h = exp(v3) s``. Exported with `--decode_in_inference`
the graph does that itself, and has an exponential in it. Source: `models/yolo_head.py` and
`utils/boxes.py` of Megvii's YOLOX; its preprocessing (`data/data_augment.py`, preproc) leaves
pixels in BGR 0..255.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vidpipe.inference.decoders.boxes import MOST_GROWTH, best_objects, corners_of_centres
from vidpipe.inference.decoders.family import DecodeRule, Output, Signature, as_float64
from vidpipe.inference.decoders.grid import (
    STANDARD,
    grid_of_rows,
    is_open,
    likely_strides,
    not_cells,
    strides_of,
)
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.decoders.ultralytics import is_ultralytics
from vidpipe.inference.settings import Anchor, Color, InputRecipe, Resize

_BOX = 4
_BEFORE_CLASSES = 5
_EXPONENTIAL = "Exp"
_NANODETS_COLUMNS, _COCO = 32, 80
"""NanoDet has a class for each column beyond these; classes of COCO are rarely a chance."""


def _match(signature: Signature) -> Match | str:
    found = [
        (index, spec.shape[1], spec.shape[2] or 0)
        for index, spec in enumerate(signature.outputs)
        if spec.shape is not None
        and len(spec.shape) == 3
        and spec.shape[0] in (1, None)
        and (spec.shape[2] or 0) > _BEFORE_CLASSES
    ]
    if len(signature.outputs) != 1 or not found:
        return f"{len(found)} of its {len(signature.outputs)} outputs have rows of at least six"
    index, rows, columns = found[0]
    if strides_of(rows, signature.picture_wh) is None and not is_open(rows, signature.picture_wh):
        return not_cells(rows, signature.picture_wh)
    count = columns - _BEFORE_CLASSES
    is_nanodets = columns > _NANODETS_COLUMNS and count != _COCO
    strides = likely_strides(rows, columns, signature.picture_wh)
    return Match(
        used=(index,),
        read=partial(_read, class_count=count, is_decoded=_EXPONENTIAL in signature.operations),
        class_count=count,
        # With unusual maps, six columns are as well those of finished rows.
        is_certain=strides is not None
        and (strides in STANDARD or count > 1)
        and not is_nanodets
        and not is_ultralytics(signature),
        is_remote=is_ultralytics(signature),
    )


def _read(
    outputs: Sequence[Output], rule: DecodeRule, *, class_count: int, is_decoded: bool
) -> Candidates | None:
    rows = outputs[0][0]
    index, ids, scores = best_objects(rows, class_count, rule.confidence)
    if not len(index):
        return None
    boxes = as_float64(rows[index, :_BOX])
    if not is_decoded:
        grid = grid_of_rows(rule.input_wh, len(rows))
        boxes[:, 2:] = np.exp(np.minimum(boxes[:, 2:], MOST_GROWTH))
        boxes *= grid.strides_px[index]
        boxes[:, :2] += grid.corners_px[index]
    return Candidates(corners_of_centres(boxes), scores, ids)


FAMILY = MatchedFamily(
    name="yolox",
    needs="one output [1,N,5+C] with N the cells of the input: box, objectness and C classes",
    recipe=InputRecipe(color=Color.BGR, resize=Resize.LETTERBOX, anchor=Anchor.CORNER, pad=114),
    input_wh=(640, 640),
    overlap=0.45,
    match=_match,
)
