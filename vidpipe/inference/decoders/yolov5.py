"""YOLOv5, YOLOv7 and YOLOv3 exports: a row a box, with an objectness; three boxes a cell.

``[1,N,5+C]``: centre x and y, width and height in input pixels (exports to TensorFlow: in fractions
of the input), objectness and scores in 0..1; the score of a class is their product. Source:
`models/yolo.py` (Detect) and `utils/general.py` (non_max_suppression; `detect.py` has an overlap of
0.45) of YOLOv5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vidpipe.inference.decoders.boxes import best_objects, corners_in_pixels
from vidpipe.inference.decoders.family import DecodeRule, Output, Signature
from vidpipe.inference.decoders.grid import is_open, likely_strides
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.decoders.ultralytics import (
    RECIPE,
    SIZE_WH,
    classes_among,
    only_table,
    unfit_task,
)

_BOX = 4
_BEFORE_CLASSES = 5
_BOXES_A_CELL = 3


def _match(signature: Signature) -> Match | str:
    unfit = unfit_task(signature)
    if unfit is not None:
        return unfit
    index = only_table(signature)
    if isinstance(index, str):
        return index
    _, rows, columns = signature.outputs[index].shape or (None, None, None)
    if columns is None or columns <= _BEFORE_CLASSES:
        return "its output has no rows of at least six"
    if rows is not None and rows <= columns:
        return "its output has no more boxes than numbers a box"
    strides = likely_strides(rows, columns, signature.picture_wh, _BOXES_A_CELL)
    count = classes_among(signature, columns - _BEFORE_CLASSES)
    return Match(
        used=(index,),
        read=partial(_read, class_count=count),
        class_count=count,
        is_certain=strides is not None,
        # YOLOv6 answers likewise with one box a cell: a user may say so.
        is_remote=strides is None and not is_open(rows, signature.picture_wh),
    )


def _read(outputs: Sequence[Output], rule: DecodeRule, *, class_count: int) -> Candidates | None:
    rows = outputs[0][0]
    index, ids, scores = best_objects(rows, class_count, rule.confidence)
    if not len(index):
        return None
    boxes = corners_in_pixels(rows[index, :_BOX], rule.input_wh, lambda: rows[:, :2])
    return Candidates(boxes, scores, ids)


FAMILY = MatchedFamily(
    name="yolov5",
    needs="[1,N,5+C] (YOLOv5, YOLOv7) with three boxes a cell: box, objectness and C classes",
    recipe=RECIPE,
    input_wh=SIZE_WH,
    overlap=0.45,
    match=_match,
)
