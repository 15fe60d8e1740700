"""A detector, from its file to its answers: read, understood, compiled, filled and decoded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openvino as ov
from loguru import logger

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.answers import (
    answers_by_device,
    device_full_names,
    is_from_cache,
    optimal_requests,
    runtime_answers,
)
from vidpipe.inference.aspect import coarsest_stride, fitted_wh, require_letterbox
from vidpipe.inference.checksum import sha256_of
from vidpipe.inference.cores import new_core
from vidpipe.inference.decoders.family import Decoder, DecodeRule, Family, Output, Signature
from vidpipe.inference.devices import compile_graph
from vidpipe.inference.geometry import Geometry
from vidpipe.inference.graph import (
    PictureInput,
    embed_preprocessing,
    files_of,
    fix_shapes,
    read_graph,
    reason_of,
    set_batch,
    signature_of,
    spec_of,
    take_constants,
)
from vidpipe.inference.labels import LabelTable, choose_labels
from vidpipe.inference.modelapi import stated_input, stated_iou
from vidpipe.inference.overrides import overrides_in
from vidpipe.inference.preprocess import InputFiller
from vidpipe.inference.recognition import recognise
from vidpipe.inference.request import BoundRequest
from vidpipe.inference.settings import DetectorSettings, InputRecipe, InputSettings, Precision
from vidpipe.inference.splitting import Split, split_of
from vidpipe.inference.stamp import carried_recipe
from vidpipe.types import Detections, Picture, Pixels

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

    def variant_of(self, graph: ov.Model) -> str:
        """Return what tells a graph from the others that are made of the same files."""
        return f"{graph.input(0).partial_shape} {self.family.name} {self.recipe}"


def read_detector(path: Path, settings: DetectorSettings, core: ov.Core | None = None) -> Detector:
    """Read a model file and find out how it is used.

    Raises:
        ModelError: The file can't be read, no family fits it, or a setting doesn't fit the model.
    """
    graph = read_graph(core or new_core(), path, settings.name)
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
    recipe = _recipe(graph, signature, settings, family)
    usual_wh = stated.size_wh or family.input_wh
    wanted_wh = settings.input.size_wh
    if settings.input.aspect is not None and wanted_wh is None:
        require_letterbox(recipe, settings.name)
        own_wh = fix_shapes(graph, None, usual_wh, settings.name)
        stride = coarsest_stride(signature_of(graph, constants))
        wanted_wh = fitted_wh(own_wh, settings.input.aspect, stride)
    input_wh = fix_shapes(graph, wanted_wh, usual_wh, settings.name)
    signature = signature_of(graph, constants)
    misfit = family.mismatch(signature)
    if misfit is not None:
        raise ModelError(
            f"model {settings.name}: with an input of {input_wh[0]}x{input_wh[1]} pixels it is no"
            f" {family.name}: {misfit}; give another size with the key input.size, or another"
            " decoder"
        )
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


def _recipe(
    graph: ov.Model, signature: Signature, settings: DetectorSettings, family: Family
) -> InputRecipe:
    """Return how pixels are made: as the user says, or else the file, or else the family."""
    carried = carried_recipe(signature.metadata, settings.name)
    own = stated_input(signature.metadata).over(family.recipe)
    if PictureInput(graph, settings.name).is_bytes:
        # Its fractions would all be 0: what is to be done to the pixels happens in the model.
        own = InputSettings(mean=(0.0, 0.0, 0.0), scale=(1.0, 1.0, 1.0)).over(own)
    return settings.input.over(carried or own)


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
        """Take a compiled graph.

        Raises:
            ModelError: It is one for a batch, whose outputs can't be told apart.
        """
        self._detector = detector
        self._compiled = compiled
        self._filler = InputFiller(detector.rule.input_wh, detector.recipe)
        self._optimal = optimal_requests(compiled)
        self._batch_size = int(compiled.input(0).shape[0])
        self._split = (
            split_of(
                detector.signature.outputs,
                [spec_of(port) for port in compiled.outputs],
                self._batch_size,
                self.name,
            )
            if self._batch_size > 1
            else None
        )

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

    @property
    def batch_size(self) -> int:
        """How many pictures one inference takes."""
        return self._batch_size

    @property
    def split(self) -> Split | None:
        """How the outputs of a batch are cut; None where there is nothing to cut."""
        return self._split

    @property
    def sizes(self) -> Sequence[CompiledDetector]:
        """Itself: it is compiled for one size of batch."""
        return (self,)

    def create_request(self, pixels: Pixels | None = None) -> BoundRequest:
        """Return a new request with tensors of its own; its input may be that of a larger batch.

        Raises:
            ModelError: The device has no room for another.
        """
        try:
            return BoundRequest(self._compiled, pixels)
        except RuntimeError as error:
            raise ModelError(
                f"model {self.name}: no further request: {reason_of(error)}"
            ) from error

    def fill(self, request: BoundRequest, picture: Picture) -> Geometry:
        """Write a picture into a request's tensor and return where it lies there."""
        request.geometry = self.fill_pixels(request.tensor, picture, request.geometry)
        return request.geometry

    def fill_pixels(self, pixels: Pixels, picture: Picture, last: Geometry | None) -> Geometry:
        """Write a picture into a row of a request's input, and return where it lies there.

        ``last`` is what the row was filled with before; None: nothing yet.
        """
        return self._filler.fill(picture, pixels, last)

    def decode(self, request: BoundRequest, geometry: Geometry, row: int = 0) -> Detections:
        """Return what a finished request found in a row's picture, in pixels of the frame.

        Raises:
            InferenceError: The outputs are not what the model promised.
        """
        return self._detector.decoder(self.outputs(request, row), geometry)

    def outputs(self, request: BoundRequest, row: int = 0) -> Sequence[Output]:
        """Return what a finished request answered of a row's picture, valid until the next start.

        Raises:
            InferenceError: The outputs are not what the model promised.
        """
        outputs = request.outputs()
        return outputs if self._split is None else self._split(outputs, row)

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
            "overrides": {one.key: one.value for one in overrides_in(settings)},
            "batch": self.batch_size,
            "optimal_requests": self.optimal_requests,
            "runtime": runtime_answers(compiled),
            "runtime_by_device": answers_by_device(compiled),
        }

    @property
    def detector(self) -> Detector:
        """What was compiled."""
        return self._detector

    def answers(self, *properties: str) -> dict[str, str]:
        """Return what the runtime made of what was asked, and of further properties."""
        return runtime_answers(self._compiled, properties)


def compile_detector(path: Path, settings: DetectorSettings, batch: int = 1) -> CompiledDetector:
    """Read a model file and compile it for its device, for batches of so many pictures.

    That a batch is answered as its pictures would be alone is not known before
    `vidpipe.inference.proof.prove_batches` has tried it.

    Raises:
        ModelError: See `read_detector`; or the device isn't here, or refuses; or the model can't
            take a batch, or its outputs can't be told apart then.
    """
    core, began = new_core(), time.perf_counter()
    detector = read_detector(path, settings, core)
    set_batch(detector.graph, batch, settings.name)
    read = time.perf_counter()
    compiled = compile_graph(
        core, detector.graph, settings, files_of(path), detector.variant_of(detector.graph)
    )
    logger.info(
        "model {}: read in {:.2f} s, compiled for {} in {:.2f} s{}",
        settings.name,
        read - began,
        settings.device,
        time.perf_counter() - read,
        " (from the cache)" if is_from_cache(compiled) else "",
    )
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
