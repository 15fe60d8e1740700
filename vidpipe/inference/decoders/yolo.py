"""YOLOv8, YOLO11 and their kin: a column a box, with centre, size and the classes' scores.

``[1,4+C,N]``, some exports ``[1,N,4+C]``: centre x and y, width and height in input pixels (exports
to TensorFlow: in fractions of the input), then scores in 0..1; no objectness. Source: Ultralytics'
`nn/modules/head.py` (Detect) and `utils/ops.py` (non_max_suppression: the best class of each box;
`predict` has an overlap of 0.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from vidpipe.inference.decoders.boxes import (
    best_of_columns,
    best_of_rows,
    corners_in_pixels,
)
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


@dataclass(frozen=True, slots=True)
class _Layout:
    """One way to see the output."""

    columns: int
    rows: int | None
    is_by_row: bool
    is_proven: bool


def _match(signature: Signature) -> Match | str:
    unfit = unfit_task(signature)
    if unfit is not None:
        return unfit
    index = only_table(signature)
    if isinstance(index, str):
        return index
    layouts = _layouts(signature, index)
    layouts = [layout for layout in layouts if layout.is_proven] or layouts
    if not layouts:
        return "its output is no table of at least five numbers a box, with more boxes than numbers"
    layout = min(layouts, key=lambda one: one.is_by_row)
    count = classes_among(signature, layout.columns - _BOX)
    return Match(
        used=(index,),
        read=partial(_read, class_count=count, is_by_row=layout.is_by_row),
        class_count=count,
        # A row a box is how YOLOX answers, too.
        is_certain=layout.is_proven and not layout.is_by_row,
        is_remote=layout.is_by_row,
    )


def _layouts(signature: Signature, index: int) -> list[_Layout]:
    shape = signature.outputs[index].shape or ()
    found = []
    for is_by_row in (False, True):
        columns, rows = (shape[2], shape[1]) if is_by_row else (shape[1], shape[2])
        if columns is None or columns <= _BOX:
            continue
        is_proven = likely_strides(rows, columns, signature.picture_wh) is not None
        is_undecided = is_open(rows, signature.picture_wh) or not is_by_row
        if is_proven or (is_undecided and (rows is None or rows > columns)):
            found.append(_Layout(columns, rows, is_by_row, is_proven))
    return found


def _read(
    outputs: Sequence[Output], rule: DecodeRule, *, class_count: int, is_by_row: bool
) -> Candidates | None:
    if is_by_row:
        rows = outputs[0][0]
        index, ids, scores = best_of_rows(rows[:, _BOX : _BOX + class_count], rule.confidence)
        chosen, centres = rows[index, :_BOX], rows[:, :2]
    else:
        table = outputs[0][0]
        index, ids, scores = best_of_columns(table[_BOX : _BOX + class_count], rule.confidence)
        chosen, centres = table[:_BOX].take(index, axis=1).T, table[:2]
    if not len(index):
        return None
    return Candidates(corners_in_pixels(chosen, rule.input_wh, lambda: centres), scores, ids)


FAMILY = MatchedFamily(
    name="yolo",
    needs="[1,4+C,N] (YOLOv8, YOLO11) with N boxes of C classes, or [1,N,4+C]",
    recipe=RECIPE,
    input_wh=SIZE_WH,
    overlap=0.7,
    match=_match,
)
