"""INT8 from frames of one's own: quantisation after training, by NNCF, which is an extra.

The graph is quantised as it was read, with shapes fixed. What it is shown is made by the very steps
that a run takes: the frame's planes resized into an 8-bit tensor, and then the preprocessing that
`embed_preprocessing` would put into the graph. So the file that comes out is used as the one that
went in.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import openvino as ov
from loguru import logger
from numpy.typing import NDArray
from openvino import opset13 as ops

from vidpipe.errors import ModelError, UsageError
from vidpipe.inference.accuracy import mean_average_precision
from vidpipe.inference.cache import Progress, no_progress
from vidpipe.inference.cores import new_core
from vidpipe.inference.decoders.family import Output
from vidpipe.inference.fusing import fuse, has_attention, is_quantised, post_processing
from vidpipe.inference.graph import (
    PictureInput,
    embed_preprocessing,
    fix_shapes,
    reason_of,
    take_constants,
)
from vidpipe.inference.model import Detector
from vidpipe.inference.samples import Sample
from vidpipe.inference.stamp import stamp

try:
    import nncf
    from nncf.quantization.range_estimator import RangeEstimatorParametersSet
except ImportError:
    nncf = None

_RANKED = 60
"""Labelled pictures that each layer's harm is judged by; all of them judge the whole."""


class Ranges(StrEnum):
    """How the range of a value is taken from many frames; which is better hangs on the model."""

    MEAN = "mean"
    """The mean of the frames' extremes: what is rare is cut off, and what is common is exact."""
    WIDEST = "widest"
    """The extremes of all frames: nothing is cut off."""


@dataclass(frozen=True, slots=True)
class AccuracyControl:
    """Labelled frames that a quantised model is held to.

    Attributes:
        samples: Frames with their truth.
        detector: The original, decoding down to a low score.
        max_drop: How much of the mean average precision (0..1) may be lost; layers go back to
            floating point until it is kept.
    """

    samples: Sequence[Sample]
    detector: Detector
    max_drop: float = 0.01


def is_quantizer_there() -> bool:
    """Return True if NNCF is installed."""
    return nncf is not None


def require_quantizer() -> None:
    """Check that NNCF is installed.

    Raises:
        UsageError: It isn't.
    """
    if not is_quantizer_there():
        raise UsageError(
            "quantising needs NNCF, which is not installed: pip install '.[quantize]' in"
            " vidpipe's folder"
        )


def require_float(detector: Detector) -> None:
    """Check that a model isn't quantised already.

    Raises:
        ModelError: It is.
    """
    if is_quantised(detector.graph):
        raise ModelError(
            f"model {detector.settings.name}: {detector.path} is quantised already: give the FP32"
            " or FP16 original"
        )


def quantize(
    detector: Detector,
    samples: Sequence[Sample],
    control: AccuracyControl | None = None,
    progress: Progress = no_progress,
    *,
    ranges: Ranges = Ranges.MEAN,
    details: Mapping[str, str] | None = None,
) -> ov.Model:
    """Return a detector's graph in INT8, as it is to be saved: stamped with how it is used.

    Standard output is silent meanwhile, for the whole process.

    Args:
        detector: What `read_detector` returned.
        samples: Frames to take the ranges of values from.
        control: Labelled frames to be held to, or None.
        progress: Told how far it is.
        ranges: How ranges are taken from the frames.
        details: Further texts for the file.

    Raises:
        UsageError: NNCF isn't installed.
        ModelError: The model is quantised already, or can't be.
    """
    require_quantizer()
    require_float(detector)
    name = detector.settings.name
    graph, constants = _plain_graph(detector)
    show = _Preparation(graph, detector)
    calibration = nncf.Dataset(list(samples), _counted(show, "calibrating", len(samples), progress))
    options: dict[str, Any] = {
        # Rounds values that are mostly positive, as SiLU's are, on their own range.
        "preset": nncf.QuantizationPreset.MIXED,
        "subset_size": len(samples),
        "ignored_scope": nncf.IgnoredScope(names=post_processing(graph), validate=False),
        "model_type": nncf.ModelType.TRANSFORMER if has_attention(graph) else None,
    }
    tuning = nncf.AdvancedQuantizationParameters()
    if ranges is Ranges.WIDEST:
        tuning.activations_range_estimator_params = RangeEstimatorParametersSet.MINMAX
    try:
        with _quiet():
            if control is None:
                quantised = nncf.quantize(graph, calibration, advanced_parameters=tuning, **options)
            else:
                quantised = _controlled(
                    graph,
                    calibration,
                    control,
                    show,
                    progress,
                    {"advanced_quantization_parameters": tuning, **options},
                )
    except Exception as error:
        raise ModelError(f"model {name}: it can't be quantised: {reason_of(error)}") from error
    if not is_quantised(quantised):
        raise ModelError(f"model {name}: there is no layer in it that can be quantised")
    _restore_constants(quantised, constants)
    stamp(
        quantised,
        name=name,
        family=detector.family.name,
        labels=detector.rule.labels.by_id(),
        recipe=detector.recipe,
        more={"quantised_by": f"nncf {nncf.__version__}", **(details or {})},
    )
    return quantised


def _plain_graph(detector: Detector) -> tuple[ov.Model, dict[str, Output]]:
    """Return the graph as its file has it, of fixed shape and fused, and its constant outputs."""
    # Not by `read_graph`, which adds what is known of this very file from elsewhere.
    graph = new_core().read_model(detector.path)
    constants = take_constants(graph)
    wh = detector.rule.input_wh
    fix_shapes(graph, wh, wh, detector.settings.name)
    # What fusions would forget, once the layout is all that tells the channels.
    picture = PictureInput(graph, detector.settings.name)
    graph.input(picture.index).get_node().set_layout(ov.Layout(picture.layout))
    fuse(graph)
    return graph, constants


def _restore_constants(graph: ov.Model, constants: Mapping[str, Output]) -> None:
    results = []
    for name, values in constants.items():
        node = ops.constant(values)
        node.output(0).set_names({name})
        results.append(ops.result(node))
    if results:
        graph.add_results(results)


class _Preparation:
    """From a sample to the input of a graph as it was read."""

    def __init__(self, graph: ov.Model, detector: Detector) -> None:
        port = graph.input(0)
        pixels = ops.parameter(port.partial_shape, port.element_type, name="pixels")
        pixels.set_layout(port.get_node().layout)
        passed_on = ops.result(pixels)
        steps = embed_preprocessing(
            ov.Model([passed_on], [pixels], "preparation"), detector.recipe, "preparation"
        )
        exact = {"INFERENCE_PRECISION_HINT": "f32"}
        self._compiled = new_core().compile_model(steps, "CPU", exact)
        self._type = port.element_type.to_dtype()

    def __call__(self, sample: Sample) -> NDArray[Any]:
        outcome = self._compiled(sample.pixels[None])[0]
        return np.array(outcome, self._type)


def _counted(show: _Preparation, step: str, total: int, progress: Progress) -> Any:
    """Return the preparation, told to the progress; NNCF may ask for a sample again."""
    shown = 0

    def prepare(sample: Sample) -> NDArray[Any]:
        nonlocal shown
        progress(step, shown % total, total)
        shown += 1
        return show(sample)

    return prepare


def _controlled(
    graph: ov.Model,
    calibration: Any,
    control: AccuracyControl,
    show: _Preparation,
    progress: Progress,
    options: dict[str, Any],
) -> ov.Model:
    decoder = control.detector.decoder
    rounds = 0

    def validate(compiled: ov.CompiledModel, samples: Iterable[Sample]) -> tuple[float, None]:
        nonlocal rounds
        rounds += 1
        progress(f"holding it to the labels, round {rounds}", 0, 0)
        request = compiled.create_infer_request()
        truths, found = [], []
        for sample in samples:
            request.infer([show(sample)])
            outputs = [
                np.array(request.get_output_tensor(index).data)
                for index in range(len(compiled.outputs))
            ]
            truths.append(sample.truth)
            found.append(decoder(outputs, sample.geometry))
        return mean_average_precision([t for t in truths if t is not None], found), None

    return nncf.quantize_with_accuracy_control(
        graph,
        calibration,
        nncf.Dataset(list(control.samples), show),
        validate,
        max_drop=control.max_drop,
        advanced_accuracy_restorer_parameters=nncf.AdvancedAccuracyRestorerParameters(
            ranking_subset_size=min(len(control.samples), _RANKED)
        ),
        **options,
    )


class _ToLog(logging.Handler):
    """Passes NNCF's warnings on to our log."""

    def emit(self, record: logging.LogRecord) -> None:
        logger.warning("NNCF: {}", record.getMessage())


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep NNCF's words and bars off standard output, which is for data."""
    nncf.disable_logging()
    handler = _ToLog(logging.WARNING)
    nncf.nncf_logger.addHandler(handler)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        nncf.nncf_logger.removeHandler(handler)
