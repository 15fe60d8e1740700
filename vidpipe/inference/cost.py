"""What an inference costs, reckoned from a graph without running it.

Counted are the multiplications and additions of convolutions and matrix products, which are nearly
all of a detector's work; a multiplication with its addition counts as two operations, as the makers
of models do when they state GFLOPs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import openvino as ov

_PER_PRODUCT = 2
_CONVOLUTIONS = frozenset({"Convolution", "GroupConvolution"})
_TRANSPOSED = frozenset({"ConvolutionBackpropData", "GroupConvolutionBackpropData"})
_GROUPED = frozenset({"GroupConvolution", "GroupConvolutionBackpropData"})


@dataclass(frozen=True, slots=True)
class Cost:
    """What a graph costs.

    Attributes:
        gflops: Billions of operations an inference; None where the shapes are open.
        parameters: How many weights it has.
    """

    gflops: float | None
    parameters: int


def cost_of(graph: ov.Model) -> Cost:
    """Reckon what an inference of a graph costs."""
    operations: int | None = 0
    parameters = 0
    for node in graph.get_ordered_ops():
        if node.get_type_name() == "Constant" and _is_weight(node.output(0).element_type):
            parameters += prod(node.output(0).shape)
        products = _products(node)
        operations = None if operations is None or products is None else operations + products
    gflops = None if operations is None else operations * _PER_PRODUCT / 1e9
    return Cost(gflops, parameters)


def _products(node: ov.Node) -> int | None:
    """Return how many multiplications an operation takes; None where its shapes are open."""
    kind = node.get_type_name()
    if kind not in _CONVOLUTIONS | _TRANSPOSED | {"MatMul"}:
        return 0
    shapes = [node.get_input_partial_shape(i) for i in (0, 1)] + [node.get_output_partial_shape(0)]
    if any(shape.is_dynamic for shape in shapes):
        return None
    first, second, result = ([int(d.get_length()) for d in shape] for shape in shapes)
    if kind == "MatMul":
        return prod(result) * first[-2 if node.get_attributes()["transpose_a"] else -1]
    # Weights: (out, in, ...), for groups (groups, out, in, ...), transposed (in, out, ...).
    kernel = prod(second[3:] if kind in _GROUPED else second[2:])
    if kind in _TRANSPOSED:
        return prod(first) * kernel * (second[2] if kind in _GROUPED else second[1])
    return prod(result) * kernel * (second[2] if kind in _GROUPED else second[1])


def _is_weight(element_type: ov.Type) -> bool:
    """Return True for what holds weights; wider integers hold shapes and indices."""
    return bool(element_type.is_real()) or element_type.get_type_name() in ("i8", "u8", "i4", "u4")
