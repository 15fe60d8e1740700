"""The better of two quantisations: ranges taken as means or as extremes.

Which is better hangs on the model, and by much: of `nanodet_m` the scores moved by 0.028 with means
and by 0.017 with extremes, of `person-detection-retail-0013` by 0.023 and 0.100. So both are made,
and the one stays that says what the original says, on the frames that they were made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import openvino as ov

from vidpipe.inference.agreement import SCORE_MARGIN, compare
from vidpipe.inference.cache import Progress, no_progress
from vidpipe.inference.cores import new_core
from vidpipe.inference.devices import compile_graph
from vidpipe.inference.graph import embed_preprocessing, take_constants
from vidpipe.inference.model import CompiledDetector, Detector, read_detector
from vidpipe.inference.quantize import AccuracyControl, Ranges, quantize
from vidpipe.inference.samples import Sample, answers
from vidpipe.inference.settings import Precision
from vidpipe.types import Detections


def quantize_best(
    detector: Detector,
    samples: Sequence[Sample],
    control: AccuracyControl | None = None,
    progress: Progress = no_progress,
    *,
    details: Mapping[str, str] | None = None,
) -> ov.Model:
    """Return a detector's graph in INT8, stamped; see `quantize`, which also says what is raised.

    With labelled frames, the better one is then made again and held to them.
    """
    confidence = max(0.0, detector.settings.confidence - SCORE_MARGIN)
    lower = read_detector(detector.path, replace(detector.settings, confidence=confidence))
    exact = replace(lower, settings=replace(lower.settings, precision=Precision.F32))
    measure = _answers(exact, lower.graph, samples, progress)
    graphs: dict[Ranges, ov.Model] = {}
    distances: dict[Ranges, float] = {}
    for ranges in Ranges:
        texts = {**(details or {}), "quantised_ranges": ranges.value}
        graphs[ranges] = quantize(detector, samples, None, progress, ranges=ranges, details=texts)
        bare = graphs[ranges].clone()
        take_constants(bare)
        prepared = embed_preprocessing(bare, detector.recipe, detector.settings.name)
        found = _answers(lower, prepared, samples, progress)
        distances[ranges] = compare(measure, found, detector.settings.confidence).disagreement
    best = min(graphs, key=lambda ranges: distances[ranges])  # the first where they are alike
    if control is None:
        return graphs[best]
    texts = {**(details or {}), "quantised_ranges": best.value}
    return quantize(detector, samples, control, progress, ranges=best, details=texts)


def _answers(
    detector: Detector, graph: ov.Model, samples: Sequence[Sample], progress: Progress
) -> list[Detections]:
    compiled = CompiledDetector(detector, compile_graph(new_core(), graph, detector.settings))
    return answers(compiled, samples, "choosing the ranges", progress)
