"""Frames as a model sees them, kept to be shown to several models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vidpipe.errors import InferenceError
from vidpipe.inference.cache import Progress, no_progress
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.model import CompiledDetector
from vidpipe.types import Detections, Pixels

_ANSWER_S = 60.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One frame as a model sees it.

    Attributes:
        pixels: (H, W, 3) uint8 BGR, of the model's input size.
        geometry: Where the frame lies in it.
        truth: What is to be seen, in pixels of the frame, where that is known.
    """

    pixels: Pixels
    geometry: Geometry
    truth: Detections | None = None


def answers(
    compiled: CompiledDetector,
    samples: Sequence[Sample],
    step: str = "comparing",
    progress: Progress = no_progress,
) -> list[Detections]:
    """Return what a detector finds in each sample.

    Raises:
        InferenceError: The device failed, or its answer can't be read.
    """
    found = []
    request = compiled.create_request()
    for number, sample in enumerate(samples):
        progress(step, number, len(samples))
        request.tensor[:] = sample.pixels
        request.start()
        if not request.wait(_ANSWER_S):
            request.cancel()
            raise InferenceError(f"model {compiled.name}: no answer within {_ANSWER_S:g} s")
        found.append(compiled.decode(request, sample.geometry))
    return found
