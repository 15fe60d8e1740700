"""The ``models`` section: one detector, how its input is made, and how it is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from vidpipe.config.section import Section
from vidpipe.config.suggest import did_you_mean
from vidpipe.config.values import (
    AS_FILLED,
    AS_FLAG,
    AS_NUMBER,
    AS_SCALAR,
    AS_TEXT,
    AS_WHOLE,
    described,
    fault,
    file_path,
    filled_text,
    number,
    text,
    whole,
)
from vidpipe.runtime.plugins import FAMILIES, plugin_names

DecoderName: TypeAlias = Literal[
    "auto",
    "ssd",
    "tf-od",
    "omz-boxes",
    "yolo",
    "yolo-e2e",
    "yolov5",
    "yolox",
    "nanodet",
    "fastestdet",
    "yunet",
    "ultralight-face",
    "rt-detr",
    "d-fine",
]
DEVICES = ("CPU", "GPU", "NPU", "AUTO", "MULTI", "HETERO", "BATCH")
REQUESTS_MAX = 1024
CHANNELS = 3
SIDE_MAX = 8192
NAMELESS = re.compile(r"class-[0-9]+")
DEVICE = re.compile(r"([A-Z]+)(\.[A-Z0-9_.]+)?(:\s*-?[A-Z][A-Z0-9_.]*(\([0-9]+\))?(,.+)?)?")


def origin_fault(*, has_path: bool, has_zoo: bool) -> str | None:
    """Return what is wrong with where a model comes from, or None."""
    if has_path and has_zoo:
        return "path and zoo exclude each other: keep one"
    if not has_path and not has_zoo:
        return "needs a path (the model's file) or a zoo name (`vidpipe models list`)"
    return None


def schedule_fault(call: str, hint: str, mode: str) -> str | None:
    """Return why these choices exclude one another, or None."""
    if call == "sync" and mode == "batched":
        return (
            "call: sync and mode: batched exclude each other: a batch gathers the frames of several"
            " streams, and with sync each stream asks by itself"
        )
    if hint == "adaptive" and (call == "sync" or mode != "shared"):
        other = f"mode: {mode}" if mode != "shared" else "call: sync"
        return (
            f"hint: adaptive moves all streams between two shared pools: it needs mode: shared and"
            f" call: async, not {other}"
        )
    return None


def _decoder(value: object) -> object:
    """Take a family's name: one of vidpipe's own, or one that an installed package offers."""
    name = str(text(value))
    if name in get_args(DecoderName) or name in plugin_names(FAMILIES):
        return name
    known = [*get_args(DecoderName), *plugin_names(FAMILIES)]
    raise fault(
        f"expected one of {', '.join(known)}, not {described(value)}{did_you_mean(name, known)}"
    )


def _device(value: object) -> object:
    name = str(filled_text(value)).strip().upper()
    match = DEVICE.fullmatch(name)
    kind = match[1] if match else name.partition(":")[0].partition(".")[0]
    if kind in ("MULTI", "HETERO") and not name.partition(":")[2].strip():
        raise fault(f"{kind} needs its devices, such as {kind}:CPU,GPU")
    if not match or kind not in DEVICES:
        raise fault(
            f"expected CPU, GPU, NPU, AUTO[:list], MULTI:list or HETERO:list, not "
            f"{described(value)}{did_you_mean(kind, DEVICES)}"
        )
    return name.replace(" ", "")


def _labels(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(filled_text(label) for label in value)
    if not isinstance(value, str | Path):
        raise fault(
            f"expected a list of names, or a file of one name a line, not {described(value)}"
        )
    return file_path(value)


def _three(value: object) -> object:
    """Take three numbers, or one for all three channels."""
    if isinstance(value, list | tuple):
        if len(value) != CHANNELS:
            raise fault(f"expected three numbers, or one for all three; these are {len(value)}")
        return tuple(number(part) for part in value)
    return (number(value),) * CHANNELS


def _divisors(value: object) -> object:
    three = _three(value)
    if isinstance(three, tuple) and 0.0 in three:
        raise fault("the picture is divided by this: it can't hold 0")
    return three


def _requests(value: object) -> object:
    if str(value).strip() == "auto":
        return "auto"
    try:
        count = whole(value)
    except PydanticCustomError:
        count = 0
    if isinstance(count, int) and 1 <= count <= REQUESTS_MAX:
        return count
    raise fault(f"expected auto or a number from 1 to {REQUESTS_MAX}, not {described(value)}")


AS_REQUESTS = BeforeValidator(
    _requests, json_schema_input_type=Literal["auto"] | Annotated[int, Field(ge=1, le=1024)]
)


def _size(value: object) -> object:
    """Take a width and a height in pixels, or one number for both."""
    sides = value if isinstance(value, list | tuple) else (value, value)
    if len(sides) != 2:
        raise fault(f"expected a width and a height; these are {len(sides)} numbers")
    size = tuple(whole(side) for side in sides)
    if not all(isinstance(side, int) and 1 <= side <= SIDE_MAX for side in size):
        raise fault(f"expected a width and a height from 1 to {SIDE_MAX}, not {described(value)}")
    return size


class InputConfig(Section):
    """How a frame becomes the model's input. Absent keys: the family's own."""

    size: Annotated[
        tuple[int, int] | None,
        Field(
            description="Width and height of the input in pixels; one number stands for both. "
            "Absent: the model's own, or the family's where the model leaves it open."
        ),
        BeforeValidator(_size, json_schema_input_type=list[int] | int | None),
    ] = None
    color: Annotated[
        Literal["rgb", "bgr"] | None,
        Field(description="Order of the channels that the model was trained with."),
        AS_TEXT,
    ] = None
    resize: Annotated[
        Literal["letterbox", "stretch"] | None,
        Field(description="letterbox keeps the aspect and pads; stretch fills the input."),
        AS_TEXT,
    ] = None
    anchor: Annotated[
        Literal["centre", "corner"] | None,
        Field(description="Where a letterboxed picture lies: centre, or the top left corner."),
        AS_TEXT,
    ] = None
    pad: Annotated[
        int | None,
        Field(ge=0, le=255, description="Grey level of a letterbox's padding, 0 to 255."),
        AS_WHOLE,
    ] = None
    mean: Annotated[
        tuple[float, float, float] | None,
        Field(
            description="Subtracted from each channel, in 0 to 255, in the order of `color`; one "
            "number stands for all three."
        ),
        BeforeValidator(_three, json_schema_input_type=list[float] | float | None),
    ] = None
    scale: Annotated[
        tuple[float, float, float] | None,
        Field(
            description="Each channel is divided by this after the subtraction, in the order of "
            "`color`; one number stands for all three."
        ),
        BeforeValidator(_divisors, json_schema_input_type=list[float] | float | None),
    ] = None
    fit: Annotated[
        Literal["model", "streams"],
        Field(
            description="Size of the input: the model's own, or reshaped to the streams' aspect."
        ),
        AS_TEXT,
    ] = "model"


class BatchConfig(Section):
    """Several frames in one inference (mode batched)."""

    size: Annotated[int, Field(ge=1, le=256, description="Frames in one inference."), AS_WHOLE] = 8
    timeout_ms: Annotated[
        float,
        Field(ge=0, le=60_000, description="How long a batch waits to fill, in milliseconds."),
        AS_NUMBER,
    ] = 20.0


class ModelConfig(Section):
    """One detector: where it is, how its outputs are read, and how it is run."""

    path: Annotated[
        Path | None,
        Field(
            description="The model's file (.xml, .onnx, .pb, .tflite ...), relative to this file's "
            "folder or else to the working directory. Exactly one of path and zoo."
        ),
        BeforeValidator(file_path),
    ] = None
    zoo: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9._-]+$",
            description="A name from `vidpipe models list`. Exactly one of path and zoo.",
        ),
        AS_FILLED,
    ] = None
    decoder: Annotated[
        str,
        Field(description="The family of the model; auto: from the shapes of its outputs."),
        BeforeValidator(_decoder, json_schema_input_type=DecoderName),
    ] = "auto"
    labels: Annotated[
        tuple[str, ...] | Path | None,
        Field(
            description="The classes' names in the model's order, or a file of one name a line. "
            "Absent: what the model says of itself."
        ),
        BeforeValidator(_labels, json_schema_input_type=list[str] | str | None),
    ] = None
    classes: Annotated[
        tuple[Annotated[str, AS_FILLED], ...] | None,
        Field(min_length=1, description="Only these classes are kept. Absent: all."),
    ] = None
    confidence: Annotated[
        float, Field(ge=0, le=1, description="The least score that counts, 0 to 1."), AS_NUMBER
    ] = 0.4
    iou: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Overlap (intersection over union, 0 to 1) above which the weaker of two "
            "boxes of a class is dropped. Absent: the family's own.",
        ),
        AS_NUMBER,
    ] = None
    nms: Annotated[
        Literal["class", "agnostic"],
        Field(
            description="Which boxes are compared for overlap: those of a class, or all of them."
        ),
        AS_TEXT,
    ] = "class"
    input: Annotated[InputConfig, Field(description="How a frame becomes the model's input.")] = (
        InputConfig()
    )
    precision: Annotated[
        Literal["auto", "f32", "f16", "bf16"],
        Field(description="Arithmetic of the inference; auto: what the device prefers."),
        AS_TEXT,
    ] = "auto"
    device: Annotated[
        str,
        Field(description="CPU, GPU, NPU, AUTO[:list], MULTI:list or HETERO:list."),
        BeforeValidator(_device, json_schema_input_type=str),
    ] = "CPU"
    num_streams: Annotated[
        Literal["auto"] | int,
        Field(description="Inferences that the device runs at once; auto: what the hint chooses."),
        AS_REQUESTS,
    ] = "auto"
    threads: Annotated[
        int | None,
        Field(
            ge=1,
            le=1024,
            description="Threads that the device computes with. Absent: what the hint chooses.",
        ),
        AS_WHOLE,
    ] = None
    pinning: Annotated[
        bool | None,
        Field(
            description="Whether each of these threads stays on its core. Absent: no, since the "
            "streams' own threads need the cores, too."
        ),
        AS_FLAG,
    ] = None
    properties: Annotated[
        dict[str, Annotated[bool | int | float | str, AS_SCALAR]],
        Field(description="Further properties of the device's plugin, such as NUM_STREAMS: 2."),
    ] = Field(default_factory=dict)
    hint: Annotated[
        Literal["latency", "throughput", "cumulative_throughput", "adaptive"],
        Field(description="What the device optimises for."),
        AS_TEXT,
    ] = "throughput"
    call: Annotated[
        Literal["async", "sync"],
        Field(description="How a request is waited for: by callback, or by a thread of its own."),
        AS_TEXT,
    ] = "async"
    mode: Annotated[
        Literal["shared", "independent", "batched"],
        Field(description="One pool for all streams, one a stream, or batches."),
        AS_TEXT,
    ] = "shared"
    requests: Annotated[
        Literal["auto"] | int,
        Field(description="Requests of the pool; auto: twice what the device prefers, plus one."),
        AS_REQUESTS,
    ] = "auto"
    batch: Annotated[
        BatchConfig | None, Field(description="Size and patience of a batch (mode batched).")
    ] = None
    timeout_s: Annotated[
        float,
        Field(
            gt=0,
            le=3600,
            description="A request older than this, in seconds, is lost and replaced.",
        ),
        AS_NUMBER,
    ] = 10.0

    @field_validator("classes")
    @classmethod
    def _classes_exist(
        cls, classes: tuple[str, ...] | None, info: ValidationInfo
    ) -> tuple[str, ...] | None:
        labels = info.data.get("labels")
        for name in classes or ():
            # a family names what has no label class-ID
            if isinstance(labels, tuple) and name not in labels and not NAMELESS.fullmatch(name):
                raise fault(f"'{name[:40]}' is not among the labels{did_you_mean(name, labels)}")
        return classes

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        wrong = origin_fault(has_path=self.path is not None, has_zoo=self.zoo is not None)
        if wrong:
            raise fault(wrong)
        return self

    @model_validator(mode="after")
    def _schedule_fits(self) -> Self:
        wrong = schedule_fault(self.call, self.hint, self.mode)
        if wrong:
            raise fault(wrong)
        return self
