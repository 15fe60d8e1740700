"""Grey frames from black to white, as a detector sees them, for what tells brightness apart."""

from __future__ import annotations

import numpy as np

from vidpipe.inference.model import Detector
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.samples import Sample
from vidpipe.inference.settings import (
    Color,
    DetectorSettings,
    InputSettings,
    Precision,
    Resize,
)
from vidpipe.pixels import picture_from_bgr

GREY_SETTINGS = DetectorSettings(
    "gate",
    labels=("person",),
    confidence=0.05,
    input=InputSettings(color=Color.RGB, resize=Resize.LETTERBOX, pad=128),
    precision=Precision.F32,
)


def grey_samples(detector: Detector, count: int = 20) -> list[Sample]:
    """Return frames of one grey each, twice as wide as high."""
    filler = InputFiller(detector.rule.input_wh, detector.recipe)
    width, height = filler.input_wh
    found = []
    for level in np.linspace(0, 255, count):
        pixels = np.empty((height, width, 3), np.uint8)
        picture = picture_from_bgr(np.full((30, 60, 3), level, np.uint8))
        found.append(Sample(pixels, filler.fill(picture, pixels)))
    return found
