"""A tiny detector with layers and weights, which can be quantised, as an exporter writes it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike
from openvino import opset13 as ops

from tests.graphs import picture_parameter

BOX = (0.25, 0.25, 0.5, 0.75)


def brightness(*, constants: Mapping[str, ArrayLike] | None = None) -> ov.Model:
    """Return an SSD that finds class 1 with a score that grows with the brightness.

    Two convolutions, their bias behind a reshape, and SiLU as a product: so ONNX is read. The score
    rises from black to white by more than a tenth.

    Args:
        constants: Further outputs that no picture changes.
    """
    image = picture_parameter((1, 3, 24, 32))
    scaled = ops.divide(ops.subtract(image, np.float32(128.0)), np.float32(128.0))
    rng = np.random.default_rng(3)
    spread = rng.uniform(0.2, 0.4, (4, 3, 3, 3)).astype(np.float32) / 9
    first = _biased(ops.convolution(scaled, spread, [1, 1], [1, 1], [1, 1], [1, 1]), 4, image)
    curved = ops.multiply(first, ops.sigmoid(first))
    curved.set_friendly_name("silu")
    # Of both signs: where all are large and positive, the sums of older processors overflow.
    joined = np.array([0.9, -0.1, 0.7, -0.1], np.float32).reshape(1, 4, 1, 1)
    last = ops.convolution(curved, joined, [1, 1], [0, 0], [0, 0], [1, 1])
    last.set_friendly_name("last-layer")
    level = ops.multiply(ops.reduce_mean(last, np.array([0, 1, 2, 3])), np.float32(1.0))
    score = ops.sigmoid(level)
    score.set_friendly_name("score")
    row = ops.concat(
        [
            ops.constant(np.array([0, 1], np.float32)),
            ops.unsqueeze(score, np.array(0)),
            ops.constant(np.array(BOX, np.float32)),
        ],
        0,
    )
    rows = ops.reshape(row, np.array([1, 1, 1, 7]), special_zero=False)
    rows.output(0).set_names({"detection_out"})
    results = [ops.result(rows)]
    for name, values in (constants or {}).items():
        constant = ops.constant(np.asarray(values, np.float32))
        constant.output(0).set_names({name})
        results.append(ops.result(constant))
    return ov.Model(results, [image], "brightness")


def _biased(layer: ov.Node, channels: int, image: ov.Node) -> ov.Node:
    """Add a bias as the ONNX reader does: reshaped to a shape that is reckoned from another."""
    rank = ops.shape_of(ops.shape_of(image))  # [4]
    ones = ops.broadcast(np.array(1, np.int64), ops.subtract(rank, np.array([2], np.int64)))
    shape = ops.concat([np.array([1, channels], np.int64), ones], 0)
    bias = ops.constant(np.linspace(-0.1, 0.1, channels).astype(np.float32))
    return ops.add(layer, ops.reshape(bias, shape, special_zero=False))
