"""A graph put into the form that quantisation understands, and the part of it that it must spare.

As a file is read, a bias can hang behind a reshape that is reckoned from shapes, and SiLU be a
product of two nodes. Quantisers then find no bias to correct, and round the same value three times:
of `yolox_nano` every fifth object was lost so, and none after the fusions below.
"""

from __future__ import annotations

import openvino as ov

# No public name, and yet what `ovc` and NNCF themselves call: OpenVINO's fusions before compiling.
from openvino._offline_transformations import apply_moc_transformations

_LAYERS = frozenset({"Convolution", "GroupConvolution", "ConvolutionBackpropData", "MatMul"})
_MOVES = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze"})
_QUANTISED = frozenset({"FakeQuantize", "FakeConvert"})
_INTEGERS = frozenset({"i8", "u8", "i4", "u4"})


def fuse(graph: ov.Model) -> None:
    """Fold constants and fuse what belongs together; shapes should be fixed before."""
    apply_moc_transformations(graph, cf=True)


def is_quantised(graph: ov.Model) -> bool:
    """Return True if a graph computes with small integers already, or keeps its weights so."""
    return any(
        node.get_type_name() in _QUANTISED
        or (
            node.get_type_name() == "Constant"
            and node.output(0).element_type.get_type_name() in _INTEGERS
            and any(_widens(target.get_node()) for target in node.output(0).get_target_inputs())
        )
        for node in graph.get_ops()
    )


def _widens(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "Convert" and node.output(0).element_type.is_real())


def post_processing(graph: ov.Model) -> list[str]:
    """Return the names of the nodes behind the last layers: grids, anchors, sigmoids, box lists.

    There coordinates in pixels stand beside scores in 0..1: eight bits for both would keep only
    the coordinates. The walk goes from the outputs up to the layers with weights, and on through
    one that reckons an expectation from a softmax (the distances of YOLOv8 and NanoDet).
    """
    found: dict[str, None] = {}
    waiting = [result.input_value(0).get_node() for result in graph.get_results()]
    while waiting:
        node = waiting.pop()
        if node.get_friendly_name() in found or _is_kept(node):
            continue
        found[node.get_friendly_name()] = None
        waiting += [value.get_node() for value in node.input_values()]
    return list(found)


def _is_kept(node: ov.Node) -> bool:
    kind = node.get_type_name()
    if kind in ("Constant", "Parameter"):
        return True
    if kind in _LAYERS:
        return not _follows_softmax(node)
    return kind == "Add" and any(  # a bias
        value.get_node().get_type_name() in _LAYERS for value in node.input_values()
    )


def _follows_softmax(layer: ov.Node) -> bool:
    node = layer.input_value(0).get_node()
    while node.get_type_name() in _MOVES:
        node = node.input_value(0).get_node()
    return bool(node.get_type_name() == "Softmax")


def has_attention(graph: ov.Model) -> bool:
    """Return True if a graph is a transformer: one of its layers multiplies softmaxes."""
    return any(
        node.get_type_name() == "ScaledDotProductAttention"
        or (
            node.get_type_name() == "MatMul"
            and node.input_value(1).get_node().get_type_name() != "Constant"
            and _follows_softmax(node)
        )
        for node in graph.get_ops()
    )
