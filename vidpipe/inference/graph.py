"""Model files as OpenVINO graphs: read, described, and made to take frames as they are.

After `embed_preprocessing` a graph has one input, (1, H, W, 3) uint8 BGR, and everything that the
model needs of its pixels (element type, colour order, mean, scale, layout) happens inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor

from vidpipe.errors import ModelError
from vidpipe.inference.decoders.family import Output, Signature, TensorSpec
from vidpipe.inference.metadata import outside_metadata
from vidpipe.inference.settings import Color, InputRecipe
from vidpipe.inference.splitting import BATCH_REMEDY

_CHANNELS = 3
_PICTURE_RANK = 4
_IR_SUFFIX = ".xml"
_SAVED_MODEL = "saved_model.pb"
_SAYS_NOTHING = "Unable to read the model"
_WIDTH_FIRST = frozenset({"orig_target_sizes"})
_SCALES = frozenset({"scale_factor"})
_OURS, _OUTSIDE = "vidpipe", "vidpipe_outside"
_RUNTIME_SECTIONS = (_OURS, "model_info", "framework", _OUTSIDE)
"""Where it is said what a file is: our own section, the one of OpenVINO's Model API, the properties
of an ONNX file, and what was found outside of the file. The first that says something counts."""

_OURS_ALONE = frozenset({"family", "input", "anchors"})
"""Keys of our own section that mean something else in others."""


def read_graph(core: ov.Core, path: Path, model: str) -> ov.Model:
    """Return the graph of a model file: IR, ONNX, TensorFlow (frozen or saved), TFLite.

    What `vidpipe.inference.metadata` finds outside of the file is put into the graph.

    Raises:
        ModelError: There is no such file, its weights are missing, or it can't be understood.
    """
    _check_files(path, model)
    try:
        graph = core.read_model(path)
    except Exception as error:
        reason = reason_of(error)
        known = "" if reason.startswith(_SAYS_NOTHING) else f" ({reason})"
        raise ModelError(
            f"model {model}: {path} can't be read{known}: the file is cut off, or of another kind"
            " than its name says. IR (.xml with .bin), .onnx, TensorFlow's .pb or a SavedModel"
            " folder, and .tflite are understood"
        ) from error
    for key, text in outside_metadata(path, model).items():
        graph.set_rt_info(text, [_OUTSIDE, key])
    return graph


def _check_files(path: Path, model: str) -> None:
    if path.is_dir():
        if not (path / _SAVED_MODEL).is_file():
            raise ModelError(
                f"model {model}: {path} is a folder without {_SAVED_MODEL}: give the model's file"
            )
        return
    if not path.is_file():
        raise ModelError(
            f"model {model}: there is no file {path}: check the key path, or fetch a model with"
            " vidpipe models get NAME and name it with the key zoo"
        )
    if path.stat().st_size == 0:
        raise ModelError(f"model {model}: {path} is empty: fetch or copy it again")
    weights = path.with_suffix(".bin")
    if path.suffix == _IR_SUFFIX and not weights.is_file():
        raise ModelError(
            f"model {model}: {path} has no weights beside it: copy {weights.name} to the same"
            " folder"
        )


def files_of(path: Path) -> list[Path]:
    """Return the files that make up a model: the named one, and the weights beside an IR."""
    if path.is_dir():
        return sorted(child for child in path.rglob("*") if child.is_file())
    weights = path.with_suffix(".bin")
    return [path, weights] if path.suffix == _IR_SUFFIX and weights.is_file() else [path]


def reason_of(error: Exception) -> str:
    """Return the line of a native error that says something, without its places in the source."""
    noise = ("Exception from", "Check '", "FrontEnd API failed", "While ", "Shape inf", ";")
    lines = [line.strip().removeprefix("Caught exception: ") for line in str(error).splitlines()]
    # AUTO and MULTI put a device before the place: the reason stands below it, as elsewhere.
    told = [
        line
        for line in lines
        if line and not line.startswith(noise) and ":Exception from " not in line
    ]
    return (told[0] if told else type(error).__name__).rstrip(". ")


def spec_of(port: ov.Output | ov.ConstOutput) -> TensorSpec:
    """Describe one input or output."""
    dims = port.partial_shape
    shape = (
        None
        if dims.rank.is_dynamic
        else tuple(None if d.is_dynamic else int(d.get_length()) for d in dims)
    )
    names = frozenset(name.removesuffix(":0") for name in port.names)
    return TensorSpec(names, shape, port.element_type.get_type_name())


def take_constants(graph: ov.Model) -> dict[str, Output]:
    """Remove the outputs that no picture changes, such as anchors, and return them by name."""
    constants: dict[str, Output] = {}
    for result in graph.get_results():
        source = result.input_value(0)
        node = source.get_node()
        if node.get_type_name() == "Convert":
            node = node.input_value(0).get_node()
        if node.get_type_name() != "Constant" or len(graph.get_results()) == 1:
            continue
        for name in spec_of(source).names:
            constants[name] = np.array(node.get_data())
        graph.remove_result(result)
    return constants


def signature_of(graph: ov.Model, constants: Mapping[str, Output]) -> Signature:
    """Describe a graph for the families."""
    lasts = [node for node in graph.get_ops() if node.get_type_name() == "DetectionOutput"]
    last = lasts[0] if len(lasts) == 1 else None
    return Signature(
        inputs=tuple(spec_of(port) for port in graph.inputs),
        outputs=tuple(spec_of(port) for port in graph.outputs),
        constants=constants,
        background_id=int(last.get_attributes()["background_label_id"]) if last else None,
        class_count=_class_count_of(last) if last else None,
        metadata=_metadata_of(graph),
        picture_wh=_picture_wh(graph),
        operations=frozenset(node.get_type_name() for node in graph.get_ops()),
    )


def _picture_wh(graph: ov.Model) -> tuple[int | None, int | None]:
    try:
        picture = PictureInput(graph, "")
    except ModelError:
        return None, None
    return picture.width, picture.height


def _class_count_of(detection_output: ov.Node) -> int | None:
    """Return the classes of a DetectionOutput, with the background, from the shapes of its inputs.

    Source: OpenVINO's DetectionOutput-8: scores [N, priors * classes], and boxes [N, priors * 4]
    where all classes share them. Version 1's attribute ``num_classes`` is not in all files.
    """
    boxes, scores = (detection_output.input(i).get_partial_shape() for i in (0, 1))
    is_open = boxes.rank.is_dynamic or scores.rank.is_dynamic
    if is_open or not detection_output.get_attributes()["share_location"]:
        return None
    if len(boxes) != 2 or len(scores) != 2 or boxes[1].is_dynamic or scores[1].is_dynamic:
        return None
    priors, rest = divmod(boxes[1].get_length(), 4)
    return int(scores[1].get_length() // priors) if priors and not rest else None


def _metadata_of(graph: ov.Model) -> dict[str, str]:
    found: dict[str, str] = {}
    for section in reversed(_RUNTIME_SECTIONS):
        if not graph.has_rt_info([section]):
            continue
        try:
            entries = graph.get_rt_info([section]).astype(dict)
        except RuntimeError:  # a single value of that name, of another meaning
            continue
        keys = entries if section == _OURS else [key for key in entries if key not in _OURS_ALONE]
        found.update({str(key): str(graph.get_rt_info([section, key]).value) for key in keys})
    return found


class PictureInput:
    """The one input of a graph that takes the picture."""

    def __init__(self, graph: ov.Model, model: str) -> None:
        """Find it.

        Raises:
            ModelError: The graph has none, or several.
        """
        found = [
            (index, layout)
            for index, port in enumerate(graph.inputs)
            if (layout := _layout_of(port)) is not None
        ]
        if len(found) != 1:
            inputs = ", ".join(str(spec_of(port)) for port in graph.inputs) or "none"
            raise ModelError(
                f"model {model}: it needs exactly one input for a colour picture, [N,3,H,W] or"
                f" [N,H,W,3]; it has {inputs}"
            )
        self.index, self.layout = found[0]
        shape = spec_of(graph.input(self.index)).shape or ()
        axes = (2, 3) if self.layout == "NCHW" else (1, 2)
        self.height, self.width = (shape[axis] for axis in axes)
        self.is_bytes = graph.input(self.index).element_type == ov.Type.u8

    def shape_for(self, size_wh: tuple[int, int]) -> list[int]:
        """Return the input's shape for a picture of that size."""
        width, height = size_wh
        if self.layout == "NCHW":
            return [1, _CHANNELS, height, width]
        return [1, height, width, _CHANNELS]


def _layout_of(port: ov.Output) -> str | None:
    shape = spec_of(port).shape
    if shape is None or len(shape) != _PICTURE_RANK:
        return None
    declared = str(port.get_node().layout).strip("[]").replace(",", "")
    if declared in ("NCHW", "NHWC"):
        return declared if shape[declared.index("C")] in (_CHANNELS, None) else None
    if shape[1] == _CHANNELS:
        return "NCHW"
    if shape[3] == _CHANNELS:
        return "NHWC"
    # Exports to ONNX may leave all sizes open; TensorFlow's say the channels.
    return "NCHW" if shape[1:] == (None, None, None) else None


def fix_shapes(
    graph: ov.Model,
    size_wh: tuple[int, int] | None,
    family_wh: tuple[int, int],
    model: str,
) -> tuple[int, int]:
    """Give a graph a batch of one and a size, and return the size (width, height).

    Args:
        graph: Changed in place.
        size_wh: What the user asks for, or None.
        family_wh: What holds where neither user nor model says a size.
        model: The model's name, for the message.

    Raises:
        ModelError: The graph doesn't take that size.
    """
    picture = PictureInput(graph, model)
    width, height = size_wh or (picture.width or family_wh[0], picture.height or family_wh[1])
    _freeze_size_inputs(graph, picture.index, (width, height), model)
    picture = PictureInput(graph, model)
    wanted = picture.shape_for((width, height))
    if list(spec_of(graph.input(0)).shape or ()) != wanted:
        try:
            graph.reshape({graph.input(0): ov.PartialShape(wanted)})
        except RuntimeError as error:
            raise ModelError(
                f"model {model}: it can't be given an input of {width}x{height} pixels and a batch"
                f" of one: {reason_of(error)}; leave the size to the model, or export it so"
            ) from error
    return width, height


def set_batch(graph: ov.Model, batch: int, model: str) -> None:
    """Give a graph with one input and a batch of one another batch, in place.

    Raises:
        ModelError: It doesn't take that.
    """
    if batch == 1:
        return
    shape = graph.input(0).partial_shape
    shape[0] = batch
    try:
        graph.reshape({graph.input(0): shape})
    except RuntimeError as error:
        raise ModelError(
            f"model {model}: it can't run in batches: it takes no {batch} pictures at once:"
            f" {reason_of(error)}; {BATCH_REMEDY}"
        ) from error


def _freeze_size_inputs(
    graph: ov.Model, picture_index: int, size_wh: tuple[int, int], model: str
) -> None:
    """Turn the inputs beside the picture, which say its size or scale, into constants.

    `im_info` and its like hold height, width, then ones; `orig_target_sizes` of RT-DETR and D-FINE
    width and height; PaddlePaddle's `scale_factor` ones.
    """
    width, height = size_wh
    for index, port in reversed(list(enumerate(graph.inputs))):
        if index == picture_index:
            continue
        spec = spec_of(port)
        count = spec.shape[1] if spec.shape is not None and len(spec.shape) == 2 else None
        if count is None or count < 2:
            raise ModelError(
                f"model {model}: its input {spec} is neither a picture nor its size: models that"
                " need more than a picture are not supported"
            )
        values = np.ones((1, count), port.element_type.to_dtype())
        is_whole = spec.element_type.startswith("i")
        if spec.names & _WIDTH_FIRST or (count == 2 and is_whole):
            values[0, :2] = width, height
        elif not spec.names & _SCALES:
            values[0, :2] = height, width
        parameter = port.get_node()
        constant = ops.constant(values)
        for target in list(parameter.output(0).get_target_inputs()):
            target.replace_source_output(constant.output(0))
        graph.remove_parameter(parameter)
    graph.validate_nodes_and_infer_types()


def embed_preprocessing(graph: ov.Model, recipe: InputRecipe, model: str) -> ov.Model:
    """Return the graph with an input of (1, H, W, 3) uint8 BGR and outputs that numpy can hold."""
    layout = PictureInput(graph, model).layout
    processor = PrePostProcessor(graph)
    entry = processor.input()
    entry.model().set_layout(ov.Layout(layout))
    entry.tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_color_format(
        ColorFormat.BGR
    )
    steps = entry.preprocess()
    wants_rgb = recipe.color is Color.RGB
    is_plain = all(m == 0 for m in recipe.mean) and all(s == 1 for s in recipe.scale)
    if not is_plain:
        steps.convert_element_type(ov.Type.f32)
    if wants_rgb:
        steps.convert_color(ColorFormat.RGB)
    if not is_plain:
        steps.mean(list(recipe.mean)).scale(list(recipe.scale))
    for index, port in enumerate(graph.outputs):
        if port.element_type in (ov.Type.f16, ov.Type.bf16):
            processor.output(index).tensor().set_element_type(ov.Type.f32)
    try:
        return processor.build()
    except RuntimeError as error:
        raise ModelError(
            f"model {model}: its input can't be prepared: {reason_of(error)}"
        ) from error
