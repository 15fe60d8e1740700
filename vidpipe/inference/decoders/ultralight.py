"""Ultra-Light-Fast face detectors: boxes decoded in the graph, two scores a box.

``scores`` [1,N,2] (background, face) and ``boxes`` [1,N,4] (x1, y1, x2, y2 in 0..1 of the input),
over the boxes of four maps with 3, 2, 2 and 3 a cell. Source: `vision/ssd/config/fd_config.py` and
`run_video_face_detect_onnx.py` of Linzaer's Ultra-Light-Fast-Generic-Face-Detector-1MB; the overlap
of 0.5 is Open Model Zoo's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.family import (
    DecodeRule,
    Output,
    Signature,
    as_float64,
    is_table,
)
from vidpipe.inference.decoders.grid import cell_count, is_open
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.settings import Color, InputRecipe

_BOX = 4
_SCORES = 2
_BOXES_A_CELL = {8: 3, 16: 2, 32: 2, 64: 3}


def _match(signature: Signature) -> Match | str:
    specs = list(enumerate(signature.outputs))
    boxes = [index for index, spec in specs if is_table(spec, _BOX)]
    scores = [index for index, spec in specs if is_table(spec, _SCORES)]
    if len(specs) != 2 or len(boxes) != 1 or len(scores) != 1 or boxes == scores:
        return "its outputs are not scores [1,N,2] and boxes [1,N,4]"
    counts = {(signature.outputs[index].shape or ())[1] for index in (*boxes, *scores)}
    rows = max((count for count in counts if count is not None), default=None)
    if len(counts - {None}) > 1:
        return "its scores and boxes are not as many"
    expected = _count(signature.picture_wh)
    if not is_open(rows, signature.picture_wh) and rows != expected:
        return f"it has {rows} boxes, and such a model of that input has {expected}"
    return Match(
        used=(scores[0], boxes[0]),
        read=_read,
        class_count=1,
        is_certain=expected is not None and rows == expected,
    )


def _count(picture_wh: tuple[int | None, int | None]) -> int | None:
    width, height = picture_wh
    if width is None or height is None:
        return None
    cells = [
        boxes * cell_count((width, height), (stride,)) for stride, boxes in _BOXES_A_CELL.items()
    ]
    return sum(cells)


def _read(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    scores, boxes = outputs[0][0][:, 1], outputs[1][0]
    if len(scores) != len(boxes):
        raise InferenceError(f"the model answered {len(scores)} scores and {len(boxes)} boxes")
    index = np.flatnonzero(scores >= rule.confidence)
    if not len(index):
        return None
    found = as_float64(boxes[index]) * (*rule.input_wh, *rule.input_wh)
    return Candidates(found, scores[index], np.zeros(len(index)))


FAMILY = MatchedFamily(
    name="ultralight-face",
    needs="scores [1,N,2] (background, face) and boxes [1,N,4] in 0..1",
    recipe=InputRecipe(color=Color.RGB, mean=(127.0, 127.0, 127.0), scale=(128.0, 128.0, 128.0)),
    input_wh=(320, 240),
    overlap=0.5,
    match=_match,
    labels=("face",),
)
