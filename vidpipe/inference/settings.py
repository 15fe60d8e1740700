"""What a detector is asked to be: the settings of one model, independent of the configuration file.

`vidpipe.apps.build` maps a model's section of the file to these; None always means "the family's
own". Validation against the model and the device happens where the model is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

Labels: TypeAlias = tuple[str, ...] | Mapping[int, str]
"""Names in order, or by class id."""

PropertyValue: TypeAlias = str | int | float | bool


class Color(StrEnum):
    """The order of the colour planes that the model was trained with."""

    RGB = "rgb"
    BGR = "bgr"


class Resize(StrEnum):
    """How a picture of another shape is brought to the model's size."""

    LETTERBOX = "letterbox"
    """Keeps the proportions and pads."""
    STRETCH = "stretch"
    """Fills the whole input."""


class Anchor(StrEnum):
    """Where a letterboxed picture sits."""

    CENTRE = "centre"
    CORNER = "corner"
    """At the top left."""


class Precision(StrEnum):
    """The arithmetic that the device is told to use."""

    AUTO = "auto"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"


class Hint(StrEnum):
    """OpenVINO's performance hint."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    CUMULATIVE_THROUGHPUT = "cumulative_throughput"
    ADAPTIVE = "adaptive"


Triple: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class InputRecipe:
    """How the pixels that a model sees are made, every choice taken.

    Attributes:
        color: The order of the planes.
        resize: Letterbox or stretch.
        anchor: Where a letterboxed picture sits.
        pad: The grey level (0..255) beside a letterboxed picture.
        mean: Subtracted from each plane, in the model's colour order, in grey levels.
        scale: Each plane is divided by this after the mean.
    """

    color: Color = Color.BGR
    resize: Resize = Resize.STRETCH
    anchor: Anchor = Anchor.CENTRE
    pad: int = 114
    mean: Triple = (0.0, 0.0, 0.0)
    scale: Triple = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class InputSettings:
    """What the user says of the input; None is the family's own.

    Attributes:
        color: See `InputRecipe`.
        resize: See `InputRecipe`.
        anchor: See `InputRecipe`.
        pad: See `InputRecipe`.
        mean: See `InputRecipe`.
        scale: See `InputRecipe`.
        size_wh: The model's input in pixels, width and height; needed only where the model leaves
            it open, allowed wherever the model can be reshaped.
        aspect: Width by height of the pictures, where the input is to have their shape.
    """

    color: Color | None = None
    resize: Resize | None = None
    anchor: Anchor | None = None
    pad: int | None = None
    mean: Triple | None = None
    scale: Triple | None = None
    size_wh: tuple[int, int] | None = None
    aspect: float | None = None

    def over(self, recipe: InputRecipe) -> InputRecipe:
        """Return the recipe with what the user says in its place."""
        return InputRecipe(
            color=recipe.color if self.color is None else self.color,
            resize=recipe.resize if self.resize is None else self.resize,
            anchor=recipe.anchor if self.anchor is None else self.anchor,
            pad=recipe.pad if self.pad is None else self.pad,
            mean=recipe.mean if self.mean is None else self.mean,
            scale=recipe.scale if self.scale is None else self.scale,
        )


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """One model as it is to be run.

    Attributes:
        name: The model's name in the configuration; every error says it.
        decoder: A family's name, or ``auto``.
        labels: Names of the classes; empty: those that the model carries. A list begins with the
            model's first class: see `vidpipe.inference.labels`.
        classes: Keep only these names; empty keeps all.
        confidence: Boxes below this score, 0..1, are dropped.
        iou: Boxes of one class that overlap more than this are one object; None: the family's own.
        is_agnostic: True if boxes of different classes that overlap are one object, too.
        input: How the pixels are made.
        precision: The arithmetic.
        device: ``CPU``, ``GPU``, ``AUTO:...`` and so on.
        properties: Further properties of the device's plugin; they win over everything else.
        hint: OpenVINO's performance hint.
        num_streams: How many inferences the device runs at once; None: what the hint chooses.
        threads: How many threads it computes with; None: what the hint chooses.
        is_pinned: True if each of these stays on its core; None: vidpipe's choice, which is no.
        share_of: So many compiled models of this kind will run side by side, each with its share of
            the cores where these can be shared out.
        cache_dir: Where compiled models are kept between runs; None keeps none.
    """

    name: str
    decoder: str = "auto"
    labels: Labels = ()
    classes: tuple[str, ...] = ()
    confidence: float = 0.4
    iou: float | None = None
    is_agnostic: bool = False
    input: InputSettings = field(default_factory=InputSettings)
    precision: Precision = Precision.AUTO
    device: str = "CPU"
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    hint: Hint = Hint.THROUGHPUT
    num_streams: int | None = None
    threads: int | None = None
    is_pinned: bool | None = None
    share_of: int = 1
    cache_dir: Path | None = None
