"""The seam of the decoders: what a family of detectors is asked, and with what.

A family is one module: it says what its outputs look like, how its pixels are made, and turns
output tensors into detections. Nothing here knows OpenVINO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vidpipe.inference.geometry import Geometry
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.settings import InputRecipe
from vidpipe.types import Detections

Output: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output of a model.

    Attributes:
        names: All its names, without TensorFlow's ``:0``; may be empty.
        shape: Its dimensions, None for each that is open; None if even the rank is.
        element_type: OpenVINO's name of its type, such as ``f32``.
    """

    names: frozenset[str]
    shape: Shape | None
    element_type: str

    def __str__(self) -> str:
        """Name, shape and type for a message."""
        name = min(self.names, key=lambda text: ("/" in text, -len(text), text), default="unnamed")
        dims = (
            "..."
            if self.shape is None
            else ",".join("?" if d is None else str(d) for d in self.shape)
        )
        return f"{name} [{dims}] {self.element_type}"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a model shows of itself, from which its family is told.

    Attributes:
        inputs: Its inputs.
        outputs: Its outputs, in the order in which a decoder gets them.
        constants: Outputs that are the same for every picture, such as anchors, by name; they are
            read once, and are no outputs of the compiled model.
        background_id: The class id of the background where a DetectionOutput says it.
        class_count: The classes that a DetectionOutput tells apart, with the background; None where
            there is none, or it doesn't say.
        metadata: What the file says of itself (runtime info), by key.
        picture_wh: Width and height of the picture that it takes, None for each that is open.
        operations: The kinds of operation in the graph, by OpenVINO's names.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: Mapping[str, Output] = field(default_factory=dict)
    background_id: int | None = None
    class_count: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    picture_wh: tuple[int | None, int | None] = (None, None)
    operations: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DecodeRule:
    """What is kept of what a model says.

    Attributes:
        confidence: The least score.
        iou: The overlap above which two boxes of a class are one; 1 keeps all.
        labels: The names.
        kept_ids: The classes to keep, or None for all.
        input_wh: The model's input in pixels.
        is_agnostic: True if boxes of different classes that overlap are one, too.
    """

    confidence: float
    iou: float
    labels: LabelTable
    kept_ids: frozenset[int] | None
    input_wh: tuple[int, int]
    is_agnostic: bool = False


class Decoder(Protocol):
    """Turns the outputs of one inference into detections; pure, from any thread."""

    def __call__(self, outputs: Sequence[Output], geometry: Geometry) -> Detections:
        """Return the objects; outputs in the signature's order, batch of one.

        Raises:
            InferenceError: The outputs have another shape than was promised.
        """


class Family(Protocol):
    """A kind of detector; its modules are listed in `vidpipe.inference.decoders.families`."""

    @property
    def name(self) -> str:
        """What the configuration calls it."""

    @property
    def needs(self) -> str:
        """Its outputs in words, for a message."""

    @property
    def recipe(self) -> InputRecipe:
        """How its pixels are made where the user doesn't say."""

    @property
    def input_wh(self) -> tuple[int, int]:
        """The input size where model and user leave it open."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names that the classes of all its models have; empty where they differ."""

    def iou(self, signature: Signature) -> float:
        """Return its own overlap threshold; 1 where the graph has resolved overlap already."""

    def background_id(self, signature: Signature) -> int | None:
        """Return the class id of the background if the classes follow it; None: they start at 0.

        A list of labels begins after it: see `vidpipe.inference.labels`.
        """

    def class_count(self, signature: Signature) -> int | None:
        """Return how many class ids it can answer, without a background; None: that isn't told.

        For a signature that fits. Labels are counted against it, and found by it where the file
        carries none: see `vidpipe.inference.labels`.
        """

    def mismatch(self, signature: Signature) -> str | None:
        """Return why a model can't be of this family, or None if it can."""

    def is_certain(self, signature: Signature) -> bool:
        """Return False where other families have outputs of that shape: ``auto`` won't guess."""

    def decoder(self, signature: Signature, rule: DecodeRule) -> Decoder:
        """Return a decoder for a model of this family, whose signature fits."""


def is_shape(spec: TensorSpec, *dims: int | None) -> bool:
    """Return True if a tensor can have these dimensions; None fits any."""
    return spec.shape is not None and can_be(spec.shape, dims)


def is_table(spec: TensorSpec, columns: int) -> bool:
    """Return True for [1,N,columns], the columns known for certain."""
    return is_shape(spec, 1, None, columns) and (spec.shape or ())[-1] == columns


def can_be(shape: Shape, dims: Shape) -> bool:
    """Return True if two shapes can be the same; None fits any."""
    return len(shape) == len(dims) and all(
        a is None or b is None or a == b for a, b in zip(shape, dims, strict=True)
    )


def as_float64(values: Output) -> NDArray[np.float64]:
    """Return values in double precision: no overflow of what float32 can hold, few as they are."""
    return np.asarray(values, np.float64)
