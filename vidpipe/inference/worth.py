"""Whether a quantised model is worth it: its size, its speed, and what it still says.

The measure of agreement is the original in 32 bits. Beside the quantised model stands the original
as it runs here: where the device computes in 16 bits, that differs from the measure as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from vidpipe.errors import ModelError
from vidpipe.inference.accuracy import mean_average_precision
from vidpipe.inference.agreement import SCORE_MARGIN, Agreement, compare
from vidpipe.inference.cache import Progress, no_progress
from vidpipe.inference.graph import files_of
from vidpipe.inference.measure import measure_speed
from vidpipe.inference.model import (
    CompiledDetector,
    Detector,
    compile_detector,
    read_detector,
)
from vidpipe.inference.samples import Sample, answers
from vidpipe.inference.settings import DetectorSettings, InputSettings, Precision

LOW_CONFIDENCE = 0.05
"""Down to which average precision looks; lower ones add next to nothing, and much work."""

_ROUNDS = 11
_ROUND_S = 0.5
"""Many short rounds: what disturbs one of them doesn't move the median."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a model file costs, and what it is good for.

    Attributes:
        path: The file.
        size_bytes: The file and its weights.
        inferences_per_s: Saturated, the median of several rounds.
        cpu_ms: Milliseconds of CPU an inference, likewise.
        agreement: With the original in 32 bits, on frames that quantisation hasn't seen.
        accuracy: Mean average precision on the labelled frames (0..1), or None without labels.
    """

    path: Path
    size_bytes: int
    inferences_per_s: float
    cpu_ms: float
    agreement: Agreement
    accuracy: float | None


def weigh(
    original: Detector,
    candidate: Path,
    held_back: Sequence[Sample],
    labelled: Sequence[Sample] = (),
    progress: Progress = no_progress,
) -> tuple[Worth, Worth]:
    """Return what the original and a file made of it are worth, measured in turns.

    The file is read without any of the original's settings of labels, family and input: it has to
    say these itself.

    Args:
        original: What the file was made of.
        candidate: The file.
        held_back: Frames to compare on.
        labelled: Frames with their truth.
        progress: Told how far it is.

    Raises:
        ModelError: The file doesn't say what the original was, or can't be compiled.
        InferenceError: The device failed.
    """
    settings = original.settings
    bare = replace(settings, labels=(), decoder="auto", input=InputSettings())
    _require_same(original, read_detector(candidate, bare))
    pairs = ((original.path, settings), (candidate, bare))
    measure = answers(
        _compiled(original.path, replace(settings, precision=Precision.F32), SCORE_MARGIN),
        held_back,
        "comparing: the original in 32 bits",
        progress,
    )
    found = [
        answers(
            _compiled(path, asked, SCORE_MARGIN), held_back, f"comparing: {path.name}", progress
        )
        for path, asked in pairs
    ]
    accuracies = [_accuracy(path, asked, labelled, progress) for path, asked in pairs]
    rates = _rates([compile_detector(path, asked) for path, asked in pairs], progress)
    first, second = (
        Worth(
            path=path,
            size_bytes=sum(file.stat().st_size for file in files_of(path)),
            inferences_per_s=rates[index][0],
            cpu_ms=rates[index][1],
            agreement=compare(measure, found[index], settings.confidence),
            accuracy=accuracies[index],
        )
        for index, (path, _) in enumerate(pairs)
    )
    return first, second


def _compiled(path: Path, settings: DetectorSettings, margin: float) -> CompiledDetector:
    confidence = max(0.0, settings.confidence - margin)
    return compile_detector(path, replace(settings, confidence=confidence))


def _accuracy(
    path: Path, settings: DetectorSettings, labelled: Sequence[Sample], progress: Progress
) -> float | None:
    truths = [sample.truth for sample in labelled if sample.truth is not None]
    if not truths:
        return None
    compiled = compile_detector(path, replace(settings, confidence=LOW_CONFIDENCE))
    found = answers(compiled, labelled, f"comparing with the labels: {path.name}", progress)
    return mean_average_precision(truths, found)


def _rates(models: Sequence[CompiledDetector], progress: Progress) -> list[tuple[float, float]]:
    """Return inferences a second and milliseconds of CPU of each.

    In turns, so that what else the machine does meets all alike.
    """
    speeds: list[list[tuple[float, float]]] = [[] for _ in models]
    for number in range(_ROUNDS):
        progress("measuring the speed, in turns", number, _ROUNDS)
        for own, model in zip(speeds, models, strict=True):
            speed = measure_speed(model, _ROUND_S)
            own.append((speed.inferences_per_s, speed.cpu_ms))
    return [
        (median(rate for rate, _ in own), median(cpu_ms for _, cpu_ms in own)) for own in speeds
    ]


def _require_same(original: Detector, read_back: Detector) -> None:
    """Check that a file says by itself what the original was."""
    for what, mine, its in (
        ("family", original.family.name, read_back.family.name),
        ("labels", original.rule.labels.by_id(), read_back.rule.labels.by_id()),
        ("input", original.recipe, read_back.recipe),
        ("input size", original.rule.input_wh, read_back.rule.input_wh),
    ):
        if mine != its:
            raise ModelError(
                f"model {original.settings.name}: the quantised file has another {what} than the"
                f" original: {its}, not {mine}"
            )
