"""A family of detectors: ``decoder: centred-rows``, one output of rows in fractions of the input.

Each row is class, score, centre x, centre y, width, height.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vidpipe import (
    Decoder,
    DecodeRule,
    Detections,
    Geometry,
    InferenceError,
    InputRecipe,
    Signature,
)
from vidpipe.inference.decoders.selection import finish

_COLUMNS = 6


class CentredRows:
    """What the entry point names; see ``vidpipe.Family`` for what each member means."""

    name = "centred-rows"
    needs = "one output [1,N,6]: class, score, centre, width and height in fractions"
    recipe = InputRecipe(scale=(255.0, 255.0, 255.0))
    """How its pixels are made: here BGR from 0 to 1, stretched to the input."""
    input_wh = (640, 640)
    """Where the model leaves it open."""
    labels: tuple[str, ...] = ()

    def mismatch(self, signature: Signature) -> str | None:
        """Return why a model can't be one, or None."""
        if len(signature.outputs) != 1:
            return f"it has {len(signature.outputs)} outputs, not one"
        shape = signature.outputs[0].shape
        if shape is None or len(shape) != 3 or shape[2] != _COLUMNS:
            return "its output is not [1,N,6]"
        return None

    def is_certain(self, signature: Signature) -> bool:
        """Return False: other families have such outputs, too, so it has to be named."""
        del signature
        return False

    def iou(self, signature: Signature) -> float:
        """Return above which overlap two boxes are one; 1: the model sees to that itself."""
        del signature
        return 0.5

    def class_count(self, signature: Signature) -> int | None:
        """Return None: the shape doesn't tell."""
        del signature
        return None

    def background_id(self, signature: Signature) -> int | None:
        """Return None: it has no background."""
        del signature
        return None

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return what reads an answer; it is called from several threads at once."""
        del signature
        size = np.array(rule.input_wh, np.float64)

        def decode(outputs: Sequence[np.ndarray], geometry: Geometry) -> Detections:
            rows = np.asarray(outputs[0], np.float64)
            if rows.ndim != 3 or rows.shape[2] != _COLUMNS:
                raise InferenceError(f"an answer of the shape {rows.shape}, not (1, N, 6)")
            ids, scores, centres, sides = np.split(rows[0], [1, 2, 4], axis=1)
            corners = np.hstack([centres - sides / 2, centres + sides / 2])
            boxes_xyxy = corners * np.tile(size, 2)  # in pixels of the model's input
            # Drops what is too unsure or overlaps, and counts in pixels of the frame.
            return finish(boxes_xyxy, scores[:, 0], ids[:, 0], geometry, rule)

        return decode


PLUGIN = CentredRows()
