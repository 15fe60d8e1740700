"""A detector, from its file to its answers: read, understood, compiled, filled and decoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openvino as ov
from loguru import logger

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.decoders.family import Decoder, DecodeRule, Family, Signature
from vidpipe.inference.devices import (
    compile_graph,
    device_full_names,
    optimal_requests,
    runtime_answers,
)
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.graph import (
    embed_preprocessing,
    files_of,
    fix_shapes,
    read_graph,
    reason_of,
    signature_of,
    spec_of,
    take_constants,
)
from vidpipe.inference.labels import LabelTable, choose_labels
from vidpipe.inference.modelapi import stated_input, stated_iou
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.recognition import recognise
from vidpipe.inference.request import BoundRequest
from vidpipe.inference.settings import DetectorSettings, InputRecipe, Precision
from vidpipe.inference.stamp import carried_recipe
from vidpipe.types import Detections, Picture

_AGNOSTIC_IOU = 0.5
"""Across classes, where neither user nor family says more."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A model that has been read and understood, ready to be compiled.

    Attributes:
        path: The file.
        settings: What was asked.
        graph: OpenVINO's graph, with the preprocessing in it.
        signature: What the file showed of itself.
        family: The kind of detector.
        recipe: How its pixels are made.
        rule: What is kept of its answers.
        decoder: Turns outputs into detections.
    """

    path: Path
    settings: DetectorSettings
    graph: ov.Model
    signature: Signature
    family: Family
    recipe: InputRecipe
    rule: DecodeRule
    decoder: Decoder


def read_detector(path: Path, settings: DetectorSettings, core: ov.Core | None = None) -> Detector:
    """Read a model file and find out how it is used.

    Raises:
        ModelError: The file can't be read, no family fits it, or a setting doesn't fit the model.
    """
    graph = read_graph(core or ov.Core(), path, settings.name)
    constants = take_constants(graph)
    signature = signature_of(graph, constants)
    stated = stated_input(signature.metadata)
    family = recognise(
        graph,
        constants,
        model=settings.name,
        decoder=settings.decoder,
        label_count=len(settings.labels) or None,
        size_wh=settings.input.size_wh or stated.size_wh,
    )
    usual_wh = stated.size_wh or family.input_wh
    input_wh = fix_shapes(graph, settings.input.size_wh, usual_wh, settings.name)
    signature = signature_of(graph, constants)
    misfit = family.mismatch(signature)
    if misfit is not None:
        raise ModelError(
            f"model {settings.name}: with an input of {input_wh[0]}x{input_wh[1]} pixels it is no"
            f" {family.name}: {misfit}; give another size with the key input.size, or another"
            " decoder"
        )
    carried = carried_recipe(signature.metadata, settings.name)
    recipe = settings.input.over(carried or stated.over(family.recipe))
    chosen = choose_labels(
        settings.labels, signature.metadata, family.class_count(signature), family.labels
    )
    if chosen.complaint:
        logger.warning("model {}: {}", settings.name, chosen.complaint)
    labels = LabelTable(chosen.labels, background_id=family.background_id(signature))
    rule = DecodeRule(
        confidence=settings.confidence,
        iou=_overlap(settings, family, signature),
        labels=labels,
        kept_ids=labels.kept_ids(settings.classes, settings.name),
        input_wh=input_wh,
        is_agnostic=settings.is_agnostic,
    )
    return Detector(
        path=path,
        settings=settings,
        graph=embed_preprocessing(graph, recipe, settings.name),
        signature=signature,
        family=family,
        recipe=recipe,
        rule=rule,
        decoder=family.decoder(signature, rule),
    )


def _overlap(settings: DetectorSettings, family: Family, signature: Signature) -> float:
    """Return the overlap above which boxes are one: the user's, the file's or the family's own.

    A model that resolves overlap does so within each class: across classes is left to do.
    """
    if settings.iou is not None:
        return settings.iou
    own = family.iou(signature)
    if own < 1:
        return stated_iou(signature.metadata) or own
    return _AGNOSTIC_IOU if settings.is_agnostic else own


class CompiledDetector:
    """A detector on its device; `fill` and `decode` may run in any number of threads at once."""

    def __init__(self, detector: Detector, compiled: ov.CompiledModel) -> None:
        self._detector = detector
        self._compiled = compiled
        self._filler = InputFiller(detector.rule.input_wh, detector.recipe)
        self._optimal = optimal_requests(compiled)

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._detector.settings.name

    @property
    def optimal_requests(self) -> int:
        """How many requests keep the device busy, as it says itself."""
        return self._optimal

    @property
    def input_wh(self) -> tuple[int, int]:
        """Width and height of the model's input in pixels."""
        return self._filler.input_wh

    def create_request(self) -> BoundRequest:
        """Return a new request with tensors of its own.

        Raises:
            ModelError: The device has no room for another.
        """
        try:
            return BoundRequest(self._compiled)
        except RuntimeError as error:
            raise ModelError(
                f"model {self.name}: no further request: {reason_of(error)}"
            ) from error

    def fill(self, request: BoundRequest, picture: Picture) -> Geometry:
        """Write a picture into a request's tensor and return where it lies there."""
        request.geometry = self._filler.fill(picture, request.tensor, request.geometry)
        return request.geometry

    def decode(self, request: BoundRequest, geometry: Geometry) -> Detections:
        """Return what a finished request found, in pixels of the frame.

        Raises:
            InferenceError: The outputs are not what the model promised.
        """
        return self._detector.decoder(request.outputs(), geometry)

    def infer_once(self, picture: Picture, timeout_s: float = 60.0) -> Detections:
        """Detect in one picture, with a request of its own, and wait for the answer.

        Raises:
            InferenceError: The device failed or took longer than the time.
        """
        request = self.create_request()
        geometry = self.fill(request, picture)
        request.start()
        if not request.wait(timeout_s):
            request.cancel()
            raise InferenceError(f"model {self.name}: no answer within {timeout_s:g} s")
        return self.decode(request, geometry)

    def describe(self) -> dict[str, Any]:
        """Return the deployment record: what was asked and what the runtime answered.

        All values are what JSON can hold.
        """
        detector, compiled = self._detector, self._compiled
        settings, recipe = detector.settings, detector.recipe
        return {
            "model": self.name,
            "path": str(detector.path),
            "sha256": {path.name: sha256_of(path) for path in files_of(detector.path)},
            "family": detector.family.name,
            "input": {
                "shape": list(compiled.input(0).shape),
                "element_type": compiled.input(0).element_type.get_type_name(),
                "color": recipe.color.value,
                "resize": recipe.resize.value,
                "anchor": recipe.anchor.value,
                "pad": recipe.pad,
                "mean": list(recipe.mean),
                "scale": list(recipe.scale),
            },
            "outputs": [str(spec_of(port)) for port in compiled.outputs],
            "confidence": detector.rule.confidence,
            "iou": detector.rule.iou,
            "nms": "agnostic" if detector.rule.is_agnostic else "class",
            "device": settings.device,
            "device_names": device_full_names(compiled),
            "precision": settings.precision.value,
            "hint": settings.hint.value,
            "properties": dict(settings.properties),
            "optimal_requests": self.optimal_requests,
            "runtime": runtime_answers(compiled),
            "openvino": ov.get_version(),
        }


def compile_detector(path: Path, settings: DetectorSettings) -> CompiledDetector:
    """Read a model file and compile it for its device.

    Raises:
        ModelError: See `read_detector`; or the device isn't here, or refuses.
    """
    core = ov.Core()
    detector = read_detector(path, settings, core)
    compiled = compile_graph(core, detector.graph, settings)
    answer = runtime_answers(compiled).get("inference_precision_hint")
    if settings.precision is not Precision.AUTO and answer not in (None, settings.precision.value):
        logger.warning(
            "model {}: device {} computes in {}, though precision asks for {}",
            settings.name,
            settings.device,
            answer,
            settings.precision.value,
        )
    return CompiledDetector(detector, compiled)
