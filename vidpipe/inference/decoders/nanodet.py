"""NanoDet and NanoDet-Plus: class scores, and each side's distance as a distribution over bins.

Pairs ``cls_pred_stride_S`` [1,n,C] and ``dis_pred_stride_S`` [1,n,4*8], or one ``[1,N,C+32]`` with
the classes first. Scores are in 0..1; a distance is the expectation of a softmax over the bins,
times the stride, from the cell's centre: ``x s + (s - 1) / 2`` in NanoDet, ``x s`` in NanoDet-Plus,
which has a map of stride 64 more. Source: `model/head/gfl_head.py` and `nanodet_plus_head.py` of
RangiLyu's NanoDet, overlap 0.6; mean and deviation from its configurations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.boxes import best_classes, best_of_rows, rows_above
from vidpipe.inference.decoders.family import DecodeRule, Output, Signature, as_float64
from vidpipe.inference.decoders.grid import (
    Grid,
    grid_of,
    grid_of_rows,
    is_open,
    not_cells,
    stride_of,
    strides_of,
)
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.settings import Anchor, Color, InputRecipe, Resize

_SIDES = 4
_BINS = 8
_DISTANCES = _SIDES * _BINS
_NAME = re.compile(r"(cls|dis)_pred_stride_(\d+)")
_PLUS = 64
"""The stride that only NanoDet-Plus has."""

_COCO = 80


@dataclass(frozen=True, slots=True)
class _Level:
    """One map: where its scores and distances stand."""

    stride: int
    scores: int
    distances: int
    class_count: int


def _match(signature: Signature) -> Match | str:
    if len(signature.outputs) == 1:
        return _match_joined(signature)
    levels = _named_levels(signature) or _levels_by_shape(signature)
    if not levels:
        return "its outputs are not pairs of scores [1,n,C] and distances [1,n,32] a stride"
    counts = {level.class_count for level in levels}
    if len(counts) != 1:
        return "its maps have different numbers of classes"
    levels.sort(key=lambda level: level.stride)
    for level in levels:
        for index in (level.scores, level.distances):
            rows = (signature.outputs[index].shape or (None, None))[1]
            if not is_open(rows, signature.picture_wh) and level.stride != stride_of(
                rows, signature.picture_wh
            ):
                return not_cells(rows, signature.picture_wh)
    used = [index for level in levels for index in (level.scores, level.distances)]
    strides = tuple(level.stride for level in levels)
    return Match(tuple(used), partial(_read_pairs, strides=strides), counts.pop())


def _match_joined(signature: Signature) -> Match | str:
    shape = signature.outputs[0].shape
    if shape is None or len(shape) != 3 or shape[0] not in (1, None):
        return "its output is not [1,N,C+32]"
    rows, columns = shape[1:]
    if columns is None or columns <= _DISTANCES:
        return "its output has no more than 32 numbers a box"
    strides = strides_of(rows, signature.picture_wh)
    if strides is None and not is_open(rows, signature.picture_wh):
        return not_cells(rows, signature.picture_wh)
    count = columns - _DISTANCES
    # YOLOX has such a shape, too; classes of COCO are rarely a chance.
    return Match((0,), partial(_read_joined, class_count=count), count, is_certain=count == _COCO)


def _named_levels(signature: Signature) -> list[_Level]:
    found: dict[tuple[str, int], int] = {}
    for index, spec in enumerate(signature.outputs):
        for name in spec.names:
            named = _NAME.search(name)
            if named and spec.shape is not None and len(spec.shape) == 3:
                found[named[1], int(named[2])] = index
    strides = {stride for _, stride in found}
    if len(found) != 2 * len(strides):
        return []
    levels = []
    for stride in strides:
        scores, distances = found["cls", stride], found["dis", stride]
        columns = (signature.outputs[scores].shape or (None,))[-1]
        bins = (signature.outputs[distances].shape or (None,))[-1]
        if columns is None or bins is None or bins % _SIDES or bins < 2 * _SIDES:
            return []
        levels.append(_Level(stride, scores, distances, columns))
    return levels


def _levels_by_shape(signature: Signature) -> list[_Level]:
    by_rows: dict[int, list[tuple[int, int]]] = {}
    for index, spec in enumerate(signature.outputs):
        if spec.shape is None or len(spec.shape) != 3 or spec.shape[0] not in (1, None):
            return []
        _, rows, columns = spec.shape
        if rows is None or columns is None:
            return []
        by_rows.setdefault(rows, []).append((index, columns))
    levels = []
    for rows, pair in by_rows.items():
        stride = stride_of(rows, signature.picture_wh)
        distances = [index for index, columns in pair if columns == _DISTANCES]
        scores = [(index, columns) for index, columns in pair if columns != _DISTANCES]
        if stride is None or len(distances) != 1 or len(scores) != 1:
            return []
        levels.append(_Level(stride, scores[0][0], distances[0], scores[0][1]))
    return levels


def _read_pairs(
    outputs: Sequence[Output], rule: DecodeRule, *, strides: tuple[int, ...]
) -> Candidates | None:
    grid = grid_of(rule.input_wh, strides)
    offset = 0
    indices, scores, bins = [], [], []
    for level in range(len(strides)):
        of_classes, distances = outputs[2 * level][0], outputs[2 * level + 1][0]
        if len(of_classes) != len(distances):
            raise InferenceError(
                f"the model answered {len(of_classes)} scores and {len(distances)} distances"
            )
        index = rows_above(of_classes, rule.confidence)
        if len(index):
            indices.append(index + offset)
            scores.append(of_classes[index])
            bins.append(distances[index])
        offset += len(of_classes)
    if offset != len(grid.strides_px):
        raise InferenceError(f"the model answered {offset} boxes for {len(grid.strides_px)} cells")
    if not indices:
        return None
    # The few rows of all maps at once: three maps would take three times the calls.
    boxes = _boxes(grid, np.concatenate(indices), np.concatenate(bins), is_plus=_PLUS in strides)
    ids, best = best_classes(np.concatenate(scores))
    return Candidates(boxes, best, ids)


def _read_joined(
    outputs: Sequence[Output], rule: DecodeRule, *, class_count: int
) -> Candidates | None:
    rows = outputs[0][0]
    index, ids, scores = best_of_rows(rows[:, :class_count], rule.confidence)
    if not len(index):
        return None
    grid = grid_of_rows(rule.input_wh, len(rows))
    is_plus = bool(grid.strides_px[-1, 0] == _PLUS)
    boxes = _boxes(grid, index, rows[index, class_count:], is_plus=is_plus)
    return Candidates(boxes, scores, ids)


def _boxes(
    grid: Grid, index: NDArray[np.intp], bins: Output, *, is_plus: bool
) -> NDArray[np.float64]:
    """Return (K, 4) boxes of cells with these (K, 4 * bins) distances."""
    stride = grid.strides_px[index]
    centres = grid.corners_px[index]
    if not is_plus:
        centres += (stride - 1) / 2
    sides = _expected(as_float64(bins)) * stride
    return np.concatenate([centres - sides[:, :2], centres + sides[:, 2:]], axis=1)


def _expected(bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (K, 4) expectations, in bins, of (K, 4 * bins) logarithms of weights."""
    by_side = bins.reshape(len(bins), _SIDES, -1)
    weights = np.exp(by_side - by_side.max(axis=2, keepdims=True))
    values = np.arange(by_side.shape[2], dtype=np.float64)
    expected: NDArray[np.float64] = weights @ values / weights.sum(axis=2)
    return expected


FAMILY = MatchedFamily(
    name="nanodet",
    needs="cls_pred_stride_S [1,n,C] and dis_pred_stride_S [1,n,32] a stride, or [1,N,C+32]",
    recipe=InputRecipe(
        color=Color.BGR,
        resize=Resize.LETTERBOX,
        anchor=Anchor.CORNER,
        pad=0,
        mean=(103.53, 116.28, 123.675),
        scale=(57.375, 57.12, 58.395),
    ),
    input_wh=(320, 320),
    overlap=0.6,
    match=_match,
)
