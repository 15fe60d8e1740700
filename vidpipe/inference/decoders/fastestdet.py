"""FastestDet: one map of cells, a box a cell.

``[1,5+C,h,w]``: objectness, box and class scores, all as they leave the network: objectness and
scores in 0..1, ``score = obj^0.6 max(cls)^0.4``, ``cx = (tanh(v1) + gx) / w``, ``cy = (tanh(v2) +
gy) / h``, width and height the sigmoids of v3 and v4, all in fractions of the input. Source:
`module/detector.py` and `utils/tool.py` (handle_preds, overlap 0.45) of dog-qiuqiu's FastestDet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidpipe.inference.decoders.boxes import corners_of_centres
from vidpipe.inference.decoders.family import (
    DecodeRule,
    Output,
    Signature,
    as_float64,
    can_be,
)
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.settings import InputRecipe

_BEFORE_CLASSES = 5
_STRIDE = 16
_OBJECT_POWER, _CLASS_POWER = 0.6, 0.4


def _match(signature: Signature) -> Match | str:
    if len(signature.inputs) > 1:
        return f"it has {len(signature.inputs)} inputs, not one"
    if len(signature.outputs) != 1:
        return f"it has {len(signature.outputs)} outputs, not one"
    shape = signature.outputs[0].shape
    if shape is None or len(shape) != 4 or shape[0] not in (1, None):
        return "its output is not [1,5+C,h,w]"
    _, planes, height, width = shape
    if planes is None or planes <= _BEFORE_CLASSES:
        return "its output has no planes for objectness, box and classes"
    cells = tuple(None if side is None else -(-side // _STRIDE) for side in signature.picture_wh)
    if not can_be(cells, (width, height)):
        return f"its output has {width}x{height} cells, not {cells[0]}x{cells[1]} of 16 pixels"
    return Match(
        used=(0,),
        read=_read,
        class_count=planes - _BEFORE_CLASSES,
        is_certain=None not in cells and cells == (width, height),
    )


def _read(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    maps = outputs[0][0]
    planes, height, width = maps.shape
    table = maps.reshape(planes, -1)
    # The best class adds at most a factor of 1.
    near = np.flatnonzero(table[0] >= rule.confidence ** (1 / _OBJECT_POWER))
    if not len(near):
        return None
    chosen = as_float64(table.take(near, axis=1))
    ids = chosen[_BEFORE_CLASSES:].argmax(axis=0)
    best = chosen[_BEFORE_CLASSES + ids, np.arange(len(ids))]
    scores = best**_CLASS_POWER * chosen[0] ** _OBJECT_POWER
    raw = chosen[1:_BEFORE_CLASSES]
    row, column = np.divmod(near, width)
    input_w, input_h = rule.input_wh
    boxes = np.stack(
        [
            (np.tanh(raw[0]) + column) / width * input_w,
            (np.tanh(raw[1]) + row) / height * input_h,
            input_w / (1 + np.exp(-raw[2])),
            input_h / (1 + np.exp(-raw[3])),
        ],
        axis=1,
    )
    return Candidates(corners_of_centres(boxes), scores, ids)


FAMILY = MatchedFamily(
    name="fastestdet",
    needs="one output [1,5+C,h,w] with cells of 16 pixels: objectness, box and C classes",
    recipe=InputRecipe(scale=(255.0, 255.0, 255.0)),
    input_wh=(352, 352),
    overlap=0.45,
    match=_match,
)
