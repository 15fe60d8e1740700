from __future__ import annotations

from collections import Counter

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from tests.graphs import picture_parameter, ssd_rows
from tests.layers import brightness
from vidpipe.inference.fusing import fuse, has_attention, is_quantised, post_processing


def kinds(graph: ov.Model) -> Counter[str]:
    return Counter(node.get_type_name() for node in graph.get_ops())


def model_of(end: ov.Node, image: ov.Node) -> ov.Model:
    return ov.Model([ops.result(end)], [image], "tiny")


def named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    return node


def test_a_bias_behind_a_reshape_and_silu_as_a_product_are_fused() -> None:
    graph = brightness()
    assert kinds(graph)["ShapeOf"] == 2
    fuse(graph)
    after = kinds(graph)
    assert after["Swish"] == 1
    assert after["ShapeOf"] == 0
    biases = [node for node in graph.get_ops() if node.get_type_name() == "Add"]
    assert all(node.input_value(1).get_node().get_type_name() == "Constant" for node in biases)


def test_what_stands_behind_the_last_layers_is_spared() -> None:
    names = post_processing(brightness())
    assert "score" in names
    assert not {"last-layer", "silu"} & set(names)


def test_the_expectation_of_a_softmax_is_spared_and_the_layer_before_it_is_not() -> None:
    image = picture_parameter((1, 3, 8, 8))
    first = named(
        ops.convolution(image, np.ones((16, 3, 1, 1), np.float32), [1, 1], [0, 0], [0, 0], [1, 1]),
        "first",
    )
    bins = ops.transpose(ops.softmax(first, axis=1), np.array([0, 1, 2, 3]))
    steps = np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1)
    distance = named(ops.convolution(bins, steps, [1, 1], [0, 0], [0, 0], [1, 1]), "expectation")
    names = post_processing(model_of(distance, image))
    assert "expectation" in names
    assert "first" not in names


def test_a_bias_belongs_to_its_layer() -> None:
    image = picture_parameter((1, 3, 8, 8))
    layer = ops.convolution(
        image, np.ones((1, 3, 1, 1), np.float32), [1, 1], [0, 0], [0, 0], [1, 1]
    )
    biased = named(ops.add(layer, np.float32(1.0)), "biased")
    names = post_processing(model_of(named(ops.sigmoid(biased), "sigmoid"), image))
    assert names == ["sigmoid"]


def test_a_quantised_graph_is_known() -> None:
    image = picture_parameter((1, 3, 8, 8))
    rounded = ops.fake_quantize(
        image, np.float32(0), np.float32(255), np.float32(0), np.float32(255), 256
    )
    assert is_quantised(model_of(ops.relu(rounded), image))
    assert not is_quantised(brightness())


def test_weights_of_small_integers_are_known_and_a_list_of_labels_is_none() -> None:
    image = picture_parameter((1, 3, 8, 8))
    weights = ops.convert(ops.constant(np.ones((1, 3, 1, 1), np.int8)), ov.Type.f32)
    layer = ops.convolution(image, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    assert is_quantised(model_of(layer, image))
    assert not is_quantised(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]))


def test_attention_makes_a_transformer() -> None:
    image = picture_parameter((1, 3, 8, 8))
    plain = {"transpose_a": False, "transpose_b": False}
    attended = ops.matmul(ops.softmax(image, axis=3), ops.relu(image), **plain)
    assert has_attention(model_of(attended, image))
    assert not has_attention(brightness())
