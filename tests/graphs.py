"""Tiny OpenVINO graphs that end as real detectors do: what they find is written in the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike
from openvino import opset13 as ops


def picture_parameter(
    shape: Sequence[int] = (1, 3, 24, 32), *, element_type: ov.Type = ov.Type.f32
) -> ov.Node:
    """Return the input of a picture; -1 leaves a dimension open."""
    parameter = ops.parameter(ov.PartialShape(list(shape)), element_type, name="image")
    parameter.output(0).set_names({"image"})
    return parameter


def fixed_outputs(
    outputs: Mapping[str, ArrayLike],
    *,
    shape: Sequence[int] = (1, 3, 24, 32),
    element_type: ov.Type = ov.Type.f32,
) -> ov.Model:
    """Return a model whose named outputs are always the same, though they hang on the picture."""
    image = picture_parameter(shape, element_type=element_type)
    pixels = ops.convert(image, ov.Type.f32)
    nothing = ops.multiply(
        ops.reduce_max(pixels, np.array([0, 1, 2, 3])), np.array(0.0, np.float32)
    )
    results = []
    for name, values in outputs.items():
        array = np.asarray(values)
        is_real = np.issubdtype(array.dtype, np.floating)
        constant = ops.constant(array.astype(np.float32) if is_real else array)
        node = ops.add(constant, ops.convert_like(nothing, constant))
        node.output(0).set_names({name})
        results.append(ops.result(node))
    return ov.Model(results, [image], "tiny")


def ssd_rows(rows: ArrayLike, **options: object) -> ov.Model:
    """Return an SSD that finds these rows: image, class, score, x1, y1, x2, y2."""
    array = np.asarray(rows, np.float32).reshape(1, 1, -1, 7)
    return fixed_outputs({"detection_out": array}, **options)  # type: ignore[arg-type] # passed on


def plane_means(
    shape: Sequence[int] = (1, 3, 24, 32), *, element_type: ov.Type = ov.Type.f32
) -> ov.Model:
    """Return an SSD whose one box tells what the model saw.

    Its class is 1, its score the mean of plane 0, its corner the means of planes 1 and 2.
    """
    image = picture_parameter(shape, element_type=element_type)
    is_planar = shape[1] == 3
    axes = np.array([0, 2, 3] if is_planar else [0, 1, 2])
    means = ops.reduce_mean(ops.convert(image, ov.Type.f32), axes)
    first, rest = (ops.gather(means, np.array(i), np.array(0)) for i in ([0], [1, 2]))
    head, corner = np.array([0, 1], np.float32), np.array([0, 0], np.float32)
    row = ops.concat([ops.constant(head), first, ops.constant(corner), rest], 0)
    rows = ops.reshape(row, np.array([1, 1, 1, 7]), special_zero=False)
    rows.output(0).set_names({"detection_out"})
    return ov.Model([ops.result(rows)], [image], "means")


def saved(graph: ov.Model, folder: Path, name: str = "tiny") -> Path:
    """Write a graph as IR, with full precision, and return the .xml."""
    path = folder / f"{name}.xml"
    ov.save_model(graph, path, compress_to_fp16=False)
    return path


def brittle() -> ov.Model:
    """Return an SSD that finds one thing in every picture, and whose inference fails on white.

    The failure is the device's own: a broadcast to a shape that is reckoned from the picture.
    """
    image = picture_parameter()
    mean = ops.reduce_mean(ops.convert(image, ov.Type.f32), np.array([0, 1, 2, 3]))
    is_white = ops.convert(ops.greater(mean, np.float32(225.0)), ov.Type.i64)
    width = ops.unsqueeze(ops.add(ops.constant(np.int64(7)), is_white), np.array(0))
    row = ops.constant(np.array([0, 1, 0.9, 0.25, 0.25, 0.5, 0.75], np.float32))
    row = ops.add(row, ops.multiply(mean, np.float32(0.0)))
    rows = ops.reshape(ops.broadcast(row, width), np.array([1, 1, 1, 7]), special_zero=False)
    rows.output(0).set_names({"detection_out"})
    return ov.Model([ops.result(rows)], [image], "brittle")


def batchable(side: int = 32) -> ov.Model:
    """Return an end-to-end YOLO that takes any batch, whose one box tells what the model saw.

    With the means of the planes in 0..1: x1 is 2 + 8 R, x2 is 20 + 8 G, the score 0.5 + 0.4 B.
    """
    image = picture_parameter((1, 3, side, side))
    means = ops.reduce_mean(image, np.array([2, 3]), keep_dims=False)
    row = ops.reshape(means, np.array([0, 1, 3]), special_zero=True)
    weights = np.zeros((3, 6), np.float32)
    weights[0, 0], weights[1, 2], weights[2, 4] = 8, 8, 0.4
    told = ops.matmul(row, ops.constant(weights), transpose_a=False, transpose_b=False)
    table = ops.add(told, ops.constant(np.array([2, 2, 20, 20, 0.5, 0], np.float32)))
    table.output(0).set_names({"output0"})
    return ov.Model([ops.result(table)], [image], "batchable")
