"""Families that are told by one function and decode by another: most of them.

A module of such a family says what its outputs look like (`match`) and how candidates are read from
them; shapes are checked, nonsense is survived and overlap is resolved here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.errors import InferenceError
from vidpipe.inference.decoders.family import (
    Decoder,
    DecodeRule,
    Output,
    Signature,
    TensorSpec,
    is_shape,
)
from vidpipe.inference.decoders.selection import finish
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.settings import InputRecipe
from vidpipe.types import NO_DETECTIONS, Detections

_TABLE_RANK = 3
"""From here on the first dimension counts pictures."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a picture may hold, before nonsense and overlap are removed.

    Attributes:
        boxes_xyxy: (K, 4) in input pixels; nonsense is allowed.
        scores: (K,).
        class_ids: (K,) whole numbers.
    """

    boxes_xyxy: NDArray[np.float64]
    scores: Output
    class_ids: Output


Reader: TypeAlias = Callable[[Sequence[Output], DecodeRule], Candidates | None]
"""Takes a family's outputs, in its own order, and returns what is above the confidence."""


@dataclass(frozen=True, slots=True)
class Match:
    """How a model fits a family.

    Attributes:
        used: Indices of the outputs that are read, in the reader's order.
        read: Reads them.
        class_count: The classes that it tells apart, or None.
        is_certain: False where other families have outputs of that shape.
        is_remote: True where another family that fits is far more likely.
    """

    used: tuple[int, ...]
    read: Reader
    class_count: int | None
    is_certain: bool = True
    is_remote: bool = False


@dataclass(frozen=True, slots=True)
class MatchedFamily:
    """Implements ``Family``.

    Attributes:
        name: See `Family`.
        needs: See `Family`.
        recipe: See `Family`.
        input_wh: See `Family`.
        overlap: Its own overlap threshold; 1 where the model resolves overlap itself.
        match: Returns how a model fits, or why it doesn't.
        labels: See `Family`.
    """

    name: str
    needs: str
    recipe: InputRecipe
    input_wh: tuple[int, int]
    overlap: float
    match: Callable[[Signature], Match | str]
    labels: tuple[str, ...] = ()

    def iou(self, signature: Signature) -> float:
        """Return the same for every model."""
        del signature
        return self.overlap

    def background_id(self, signature: Signature) -> int | None:
        """Return None: these have no background among their classes."""
        del signature
        return None

    def class_count(self, signature: Signature) -> int | None:
        """Return what the shapes say."""
        found = self.match(signature)
        return None if isinstance(found, str) else found.class_count

    def mismatch(self, signature: Signature) -> str | None:
        """Return why a model doesn't fit, or None."""
        found = self.match(signature)
        return found if isinstance(found, str) else None

    def is_certain(self, signature: Signature) -> bool:
        """Return True if no other family has such outputs."""
        found = self.match(signature)
        return not isinstance(found, str) and found.is_certain

    def is_remote(self, signature: Signature) -> bool:
        """Return True if ``auto`` should not even offer this family where another fits."""
        found = self.match(signature)
        return not isinstance(found, str) and found.is_remote

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return the decoder of a model that fits."""
        found = self.match(signature)
        if isinstance(found, str):
            raise ValueError(found)  # noqa: TRY004 - it is a reason, not a wrong type
        return MatchedDecoder(found, signature.outputs, rule)


class MatchedDecoder:
    """Reads candidates, and finishes them."""

    def __init__(self, match: Match, specs: Sequence[TensorSpec], rule: DecodeRule) -> None:
        self._used = [(index, specs[index]) for index in match.used]
        self._least_count = len(specs)
        self._read = match.read
        self._rule = rule

    def __call__(self, outputs: Sequence[Output], geometry: Geometry) -> Detections:
        """Return the objects of one picture."""
        if len(outputs) < self._least_count:
            raise InferenceError(
                f"the model gave {len(outputs)} outputs, not {self._least_count} as promised"
            )
        chosen = []
        for index, spec in self._used:
            output = outputs[index]
            is_as_promised = output.shape == spec.shape or is_shape(spec, *output.shape)
            is_one_picture = output.ndim < _TABLE_RANK or output.shape[0] == 1
            if not is_as_promised or not is_one_picture:
                raise InferenceError(f"the model answered {output.shape} where it promised {spec}")
            chosen.append(output)
        # What a model says may be infinite, or no number: `finish` drops the boxes that become so.
        with np.errstate(all="ignore"):
            found = self._read(chosen, self._rule)
            if found is None:
                return NO_DETECTIONS
            return finish(found.boxes_xyxy, found.scores, found.class_ids, geometry, self._rule)
