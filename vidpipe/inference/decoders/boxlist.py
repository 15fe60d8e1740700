"""Open Model Zoo's detectors that end in a list of boxes and a list of labels.

``boxes`` [N,5]: x1, y1, x2, y2 in input pixels and the score; ``labels`` [N]: whole numbers from 0.
N may differ from picture to picture; overlap is resolved. Source: the zoo's description of
person-vehicle-bike-detection-2004 and its sisters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.family import (
    DecodeRule,
    Output,
    Signature,
    TensorSpec,
    as_float64,
    is_shape,
    is_table,
)
from vidpipe.inference.decoders.matched import Candidates, Match, MatchedFamily
from vidpipe.inference.settings import InputRecipe

_BOX = 4
_ROW = 5
_INTEGERS = ("i", "u")


def _match(signature: Signature) -> Match | str:
    specs = list(enumerate(signature.outputs))
    boxes = [i for i, spec in specs if _is_list(spec) or is_table(spec, _ROW)]
    lists = [i for i, spec in specs if is_shape(spec, None) or is_shape(spec, 1, None)]
    lists = [i for i in lists if i not in boxes]
    named = [i for i in lists if "labels" in signature.outputs[i].names]
    labels = (
        named
        or [i for i in lists if signature.outputs[i].element_type.startswith(_INTEGERS)]
        or lists
    )
    if len(boxes) != 1 or len(labels) != 1:
        return f"{len(boxes)} outputs are lists of five numbers, and {len(labels)} of labels"
    # mmdetection's exports have one dimension more, and pixels of their own.
    is_plain = _is_list(signature.outputs[boxes[0]])
    return Match(
        used=(boxes[0], labels[0]),
        read=_read,
        class_count=None,
        is_certain=is_plain or "model_type" in signature.metadata,
    )


def _is_list(spec: TensorSpec) -> bool:
    return spec.shape is not None and len(spec.shape) == 2 and spec.shape[1] == _ROW


def _read(outputs: Sequence[Output], rule: DecodeRule) -> Candidates | None:
    rows, labels = outputs[0].reshape(-1, _ROW), outputs[1].reshape(-1)
    if len(rows) != len(labels):
        raise InferenceError(f"the model answered {len(rows)} boxes and {len(labels)} labels")
    index = np.flatnonzero(rows[:, _BOX] >= rule.confidence)
    if not len(index):
        return None
    chosen = as_float64(rows[index])
    return Candidates(chosen[:, :_BOX], chosen[:, _BOX], labels[index])


FAMILY = MatchedFamily(
    name="omz-boxes",
    needs="boxes [N,5] (x1, y1, x2, y2, score) and labels [N]",
    recipe=InputRecipe(),
    input_wh=(512, 512),
    overlap=1.0,
    match=_match,
)
