"""YOLOv10, YOLO26 and exports with suppression inside: finished rows of six numbers.

``[1,N,6]``: corners x1, y1, x2, y2 in input pixels (exports to TensorFlow: in fractions of the
input), score, class; overlap is resolved, and rows without an object have a score near 0. Models
that also segment or find points append further columns. Source: Ultralytics' `nn/modules/head.py`
(Detect.postprocess).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidpipe.inference.decoders.boxes import in_pixels
from vidpipe.inference.decoders.family import DecodeRule, Output, Signature
from vidpipe.inference.decoders.grid import is_open, likely_strides
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.decoders.ultralytics import (
    RECIPE,
    SIZE_WH,
    is_finished,
    only_table,
    unfit_task,
)
from vidpipe.inference.modelapi import is_rtdetr

_BOX, _SCORE, _CLASS, _ROW = 4, 4, 5, 6


def _match(signature: Signature) -> Match | str:
    unfit = unfit_task(signature)
    if unfit is not None:
        return unfit
    is_stated = is_finished(signature)
    if is_rtdetr(signature.metadata) and not is_stated:
        return "its file says that it is an RT-DETR"
    index = only_table(signature)
    if isinstance(index, str):
        return index
    _, rows, columns = signature.outputs[index].shape or (None, None, None)
    if columns is None or columns < _ROW or (columns > _ROW and not is_stated):
        return "its output has no rows of six"
    is_certain = is_stated or (
        not is_open(rows, signature.picture_wh)
        and likely_strides(rows, _ROW, signature.picture_wh) is None
        and likely_strides(rows, _ROW, signature.picture_wh, 3) is None
    )
    return Match(used=(index,), read=_read, class_count=None, is_certain=is_certain)


def _read(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    rows = outputs[0][0]
    index = np.flatnonzero(rows[:, _SCORE] >= rule.confidence)
    if not len(index):
        return None
    boxes = in_pixels(rows[index, :_BOX], rule.input_wh, lambda: rows[:, :_BOX])
    return Candidates(boxes, rows[index, _SCORE], rows[index, _CLASS])


FAMILY = MatchedFamily(
    name="yolo-e2e",
    needs="[1,N,6] (YOLOv10, YOLO26): x1, y1, x2, y2, score and class",
    recipe=RECIPE,
    input_wh=SIZE_WH,
    overlap=1.0,
    match=_match,
)
