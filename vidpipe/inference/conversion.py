"""How a fetched graph is made ready: cut where our own decoder is quicker, halved, and named.

The post-processing of TensorFlow's Object Detection API runs over every anchor in loops; the raw
heads and `vidpipe.inference.decoders.tfod` give the same boxes with half as many inferences a
second more. So the graph is cut before and behind the network proper.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import openvino as ov
from openvino import opset13 as ops

from vidpipe.errors import ModelError
from vidpipe.inference.cores import new_core
from vidpipe.inference.decoders.anchors import AnchorGrid
from vidpipe.inference.graph import PictureInput, read_graph, reason_of

Conversion = Callable[[Path, str, tuple[int, int]], ov.Model]
"""Takes a file, the model's name and its input size; returns the graph to save."""

_AFTER_RESIZING = "Preprocessor/map/TensorArrayStack/TensorArrayGatherV3"
_HEADS = {"box_encodings": "Squeeze", "class_scores": "Postprocessor/convert_scores"}


def as_it_is(path: Path, model: str, input_wh: tuple[int, int]) -> ov.Model:
    """Return the graph of a file, unchanged."""
    del input_wh
    return read_graph(new_core(), path, model)


def cut_at_raw_heads(path: Path, model: str, input_wh: tuple[int, int]) -> ov.Model:
    """Return an SSD of TensorFlow's Object Detection API from its pixels to its raw heads.

    The new graph takes (1, H, W, 3) RGB 0..255 and gives ``box_encodings`` and ``class_scores``.

    Raises:
        ModelError: The file can't be read, or lacks the nodes where it is to be cut.
    """
    graph = read_graph(new_core(), path, model)
    graph.reshape(ov.PartialShape(PictureInput(graph, model).shape_for(input_wh)))
    nodes = {node.get_friendly_name(): node for node in graph.get_ops()}
    missing = [name for name in (_AFTER_RESIZING, *_HEADS.values()) if name not in nodes]
    if missing:
        raise ModelError(f"model {model}: {path} has no node {missing[0]!r} to be cut at")
    entry = nodes[_AFTER_RESIZING].output(0)
    pixels = ops.parameter(entry.partial_shape, ov.Type.f32, name="pixels")
    pixels.output(0).set_names({"pixels"})
    pixels.set_layout(ov.Layout("NHWC"))
    for target in list(entry.get_target_inputs()):
        target.replace_source_output(pixels.output(0))
    results = []
    for name, node in _HEADS.items():
        head = nodes[node].output(0)
        head.set_names({name})
        results.append(ops.result(head))
    return ov.Model(results, [pixels], model)


CONVERSIONS: dict[str, Conversion] = {
    "none": as_it_is,
    "tf-od-raw-heads": cut_at_raw_heads,
}
"""Every way in which the catalogue makes a model ready; a new one is a line here."""

_DETAILS: dict[str, dict[str, str]] = {
    "tf-od-raw-heads": {"anchors": AnchorGrid().to_text()},
}


def convert(
    source: Path,
    target: Path,
    *,
    model: str,
    conversion: str,
    family: str,
    labels: tuple[str, ...],
    input_wh: tuple[int, int],
) -> None:
    """Write a fetched model as IR with FP16 weights that says itself what it is.

    Args:
        source: The fetched file.
        target: The .xml to write; the weights go beside it.
        model: Its name.
        conversion: A key of `CONVERSIONS`.
        family: The name of its decoder.
        labels: Its classes.
        input_wh: Its input in pixels.

    Raises:
        ModelError: It can't be read, cut or written.
    """
    try:
        graph = CONVERSIONS[conversion](source, model, input_wh)
        about = {"name": model, "family": family, "labels": json.dumps(list(labels))}
        for key, value in (about | _DETAILS.get(conversion, {})).items():
            graph.set_rt_info(value, ["vidpipe", key])
        ov.save_model(graph, target, compress_to_fp16=True)
    except RuntimeError as error:
        raise ModelError(f"model {model}: it can't be converted: {reason_of(error)}") from error
