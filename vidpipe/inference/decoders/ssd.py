"""SSD with OpenVINO's DetectionOutput: rows of seven numbers, overlap already resolved.

A row is ``image_id, class, score, x1, y1, x2, y2`` with coordinates in 0..1 of the input; the first
row with a negative image_id ends the list. Source: OpenVINO's specification of DetectionOutput-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.family import (
    Decoder,
    DecodeRule,
    Output,
    Signature,
    as_float64,
    is_shape,
)
from vidpipe.inference.decoders.selection import finish
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.settings import InputRecipe
from vidpipe.types import NO_DETECTIONS, Detections

_ROW = 7


@dataclass(frozen=True, slots=True)
class SsdFamily:
    """Detectors that end in a list of rows of seven; Open Model Zoo's SSD models are trained so."""

    name: str = "ssd"
    needs: str = "one output [1,1,N,7] (also [1,N,7] or [N,7]): image, class, score and box"
    recipe: InputRecipe = field(default_factory=InputRecipe)
    input_wh: tuple[int, int] = (300, 300)
    labels: tuple[str, ...] = ()

    def iou(self, signature: Signature) -> float:
        """Return 1: the graph has resolved overlap already."""
        del signature
        return 1.0

    def background_id(self, signature: Signature) -> int | None:
        """Return 0 where the graph says so; a background behind the classes moves no label."""
        return 0 if signature.background_id == 0 else None

    def class_count(self, signature: Signature) -> int | None:
        """Return what the graph's DetectionOutput says, without its background."""
        if signature.class_count is None:
            return None
        has_background = 0 <= (signature.background_id or 0) < signature.class_count
        return signature.class_count - has_background

    def mismatch(self, signature: Signature) -> str | None:
        """Ask for exactly one output of rows of seven."""
        count = len(_row_outputs(signature))
        return None if count == 1 else f"{count} outputs have rows of seven"

    def is_certain(self, signature: Signature) -> bool:
        """Tell SSD's rows from other rows of seven: by four dimensions or the graph's last node."""
        output = signature.outputs[_row_outputs(signature)[0]]
        return signature.background_id is not None or is_shape(output, 1, 1, None, _ROW)

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return the decoder."""
        return SsdDecoder(_row_outputs(signature)[0], rule)


def _row_outputs(signature: Signature) -> list[int]:
    shapes = ((1, 1, None, _ROW), (1, None, _ROW), (None, _ROW))
    return [
        i
        for i, spec in enumerate(signature.outputs)
        if spec.shape and spec.shape[-1] == _ROW and any(is_shape(spec, *dims) for dims in shapes)
    ]


class SsdDecoder:
    """Decodes one model's rows."""

    def __init__(self, output: int, rule: DecodeRule) -> None:
        self._output = output
        self._rule = rule
        width, height = rule.input_wh
        self._input_size = np.array([width, height, width, height], np.float64)

    def __call__(self, outputs: Sequence[Output], geometry: Geometry) -> Detections:
        """Return the objects of one picture."""
        output = outputs[self._output]
        if output.ndim == 0 or output.shape[-1] != _ROW:
            raise InferenceError(f"the model answered {output.shape}, not rows of seven")
        rows = output.reshape(-1, _ROW)
        is_candidate = rows[:, 2] >= self._rule.confidence
        if not is_candidate.any():
            return NO_DETECTIONS
        is_row = rows[:, 0] >= 0
        if not is_row.all():
            is_candidate[is_row.argmin() :] = False
        chosen = as_float64(rows[is_candidate])
        return finish(
            chosen[:, 3:] * self._input_size, chosen[:, 2], chosen[:, 1], geometry, self._rule
        )


FAMILY = SsdFamily()
