from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from vidpipe.inference.cost import cost_of


def weights(*shape: int, kind: type = np.float32) -> ov.Node:
    return ops.constant(np.ones(shape, kind))


def graph(node: ov.Node, *inputs: ov.Node) -> ov.Model:
    return ov.Model([ops.result(node)], list(inputs), "m")


def convolution(kind: Any, image: ov.Node, kernel: ov.Node, **options: Any) -> ov.Node:
    node = kind(image, kernel, strides=[2, 2], pads_begin=[0, 0], pads_end=[0, 0], **options)
    assert isinstance(node, ov.Node)
    return node


def test_a_convolution_is_reckoned() -> None:
    image = ops.parameter([1, 3, 8, 10], np.float32)
    node = convolution(ops.convolution, image, weights(16, 3, 2, 2), dilations=[1, 1])
    # 4 x 5 places, 16 channels, each of 3 x 2 x 2 products
    assert cost_of(graph(node, image)).gflops == pytest.approx(2 * 20 * 16 * 12 / 1e9)
    assert cost_of(graph(node, image)).parameters == 16 * 12


def test_a_depthwise_convolution_is_reckoned() -> None:
    image = ops.parameter([1, 6, 8, 10], np.float32)
    node = convolution(ops.group_convolution, image, weights(6, 1, 1, 2, 2), dilations=[1, 1])
    assert cost_of(graph(node, image)).gflops == pytest.approx(2 * 20 * 6 * 4 / 1e9)


def test_a_transposed_convolution_is_reckoned() -> None:
    image = ops.parameter([1, 3, 4, 5], np.float32)
    node = ops.convolution_backprop_data(
        image, weights(3, 16, 2, 2), strides=[2, 2], pads_begin=[0, 0], pads_end=[0, 0]
    )
    assert cost_of(graph(node, image)).gflops == pytest.approx(2 * (3 * 20) * 16 * 4 / 1e9)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_matrix_product_is_reckoned(
    is_transposed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    shape = [7, 5] if is_transposed else [5, 7]
    rows = ops.parameter(shape, np.float32)
    node = ops.matmul(rows, weights(7, 11), transpose_a=is_transposed, transpose_b=False)
    assert cost_of(graph(node, rows)).gflops == pytest.approx(2 * 5 * 7 * 11 / 1e9)


def test_open_shapes_cost_what_nobody_knows() -> None:
    image = ops.parameter([1, 3, -1, 10], np.float32)
    node = convolution(ops.convolution, image, weights(16, 3, 2, 2), dilations=[1, 1])
    assert cost_of(graph(node, image)).gflops is None


def test_bytes_count_as_weights_and_indices_do_not() -> None:
    image = ops.parameter([4], np.float32)
    node = ops.add(image, ops.convert(weights(4, kind=np.int8), "f32"))
    node = ops.gather(node, ops.constant(np.array([0, 1, 2], np.int64)), ops.constant(np.int64(0)))
    assert cost_of(graph(node, image)).parameters == 4
    assert cost_of(graph(node, image)).gflops == 0
