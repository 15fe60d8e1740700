"""YuNet: faces, with a score, an objectness, a box and five points a cell.

For each stride ``cls`` [1,n,1], ``obj`` [1,n,1], ``bbox`` [1,n,4] and ``kps`` [1,n,10]: ``score =
sqrt(cls obj)``, ``cx = (gx + b0) s``, ``cy = (gy + b1) s``, ``w = exp(b2) s``, ``h = exp(b3) s``.
Source: OpenCV's `modules/objdetect/src/face_detect.cpp` (postProcess; its sample has an overlap of
0.3). Score and objectness have the same shape, and need not be told apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.boxes import MOST_GROWTH, corners_of_centres
from vidpipe.inference.decoders.family import DecodeRule, Output, Signature, as_float64
from vidpipe.inference.decoders.grid import grid_of, is_open, not_cells, stride_of
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.settings import Anchor, InputRecipe, Resize

_KINDS = [1, 1, 4, 10]
"""Numbers a cell in the outputs of one stride."""

_READ = 3
"""Score, objectness and box; the points are passed over."""


def _match(signature: Signature) -> Match | str:
    by_rows: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for index, spec in enumerate(signature.outputs):
        shape = spec.shape
        if shape is None or len(shape) != 3 or shape[0] not in (1, None) or shape[2] is None:
            return "its outputs are not four a stride, with 1, 1, 4 and 10 numbers a cell"
        by_rows[shape[1]].append((shape[2], index))
    is_undetermined = any(is_open(rows, signature.picture_wh) for rows in by_rows)
    levels = []
    for rows, outputs in by_rows.items():
        outputs.sort()
        kinds = sorted(columns for columns, _ in outputs)
        if kinds != (sorted(_KINDS * (len(kinds) // len(_KINDS))) if rows is None else _KINDS):
            return "its outputs are not four a stride, with 1, 1, 4 and 10 numbers a cell"
        stride = stride_of(rows, signature.picture_wh)
        if stride is None and not is_undetermined:
            return not_cells(rows, signature.picture_wh)
        levels.append((stride or 0, [index for _, index in outputs[:_READ]]))
    if not levels:
        return "it has no outputs"
    levels.sort()
    used = tuple(index for _, indices in levels for index in indices)
    strides = tuple(stride for stride, _ in levels)
    return Match(used, partial(_read, strides=strides), 1)


def _read(
    outputs: Sequence[Output], rule: DecodeRule, *, strides: tuple[int, ...]
) -> Candidates | None:
    grid = grid_of(rule.input_wh, strides)
    first, second, boxes = (
        np.concatenate([output[0] for output in outputs[kind::_READ]]) for kind in range(_READ)
    )
    products = first[:, 0] * second[:, 0]
    index = np.flatnonzero(products >= rule.confidence**2)
    if not len(index):
        return None
    if len(products) != len(grid.strides_px):
        raise InferenceError(
            f"the model answered {len(products)} boxes for {len(grid.strides_px)} cells"
        )
    found = as_float64(boxes[index])
    found[:, 2:] = np.exp(np.minimum(found[:, 2:], MOST_GROWTH))
    found *= grid.strides_px[index]
    found[:, :2] += grid.corners_px[index]
    scores = np.sqrt(as_float64(products[index]))
    return Candidates(corners_of_centres(found), scores, np.zeros(len(index)))


FAMILY = MatchedFamily(
    name="yunet",
    needs="for each stride cls [1,n,1], obj [1,n,1], bbox [1,n,4] and kps [1,n,10]",
    recipe=InputRecipe(resize=Resize.LETTERBOX, anchor=Anchor.CORNER, pad=0),
    input_wh=(640, 640),
    overlap=0.3,
    match=_match,
    labels=("face",),
)
