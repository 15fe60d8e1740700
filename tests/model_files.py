"""Small ONNX files and frozen TensorFlow graphs, written byte by byte: their writers are large.

Source of the field numbers: onnx.proto, and TensorFlow's graph.proto, node_def.proto,
attr_value.proto, tensor.proto and tensor_shape.proto.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ONNX_FLOAT, _ONNX_INT64 = 1, 7
_TF_FLOAT, _TF_INT32, _TF_UINT8 = 1, 3, 4


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _onnx_tensor(name: str, values: NDArray[np.generic]) -> bytes:
    kind = _ONNX_FLOAT if values.dtype == np.float32 else _ONNX_INT64
    dims = b"".join(_number(1, size) for size in values.shape)
    return _bytes(5, dims + _number(2, kind) + _bytes(8, name) + _bytes(9, values.tobytes()))


def _onnx_port(field: int, name: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(
        _bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    kind = _bytes(1, _number(1, _ONNX_FLOAT) + _bytes(2, dims))
    return _bytes(field, _bytes(1, name) + _bytes(2, kind))


def _onnx_node(op: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(_bytes(1, name) for name in inputs)
    return _bytes(1, names + _bytes(2, output) + _bytes(4, op) + attributes)


def write_onnx_ssd(path: Path, rows: ArrayLike, shape: Sequence[int | str]) -> None:
    """Write an ONNX file that finds these rows of seven in any picture; a word is an open size."""
    found = np.asarray(rows, np.float32).reshape(1, 1, -1, 7)
    keep_no_dims = _bytes(5, _bytes(1, "keepdims") + _number(3, 0) + _number(20, 2))
    graph = b"".join(
        [
            _onnx_node("ReduceMax", ["image"], "most", keep_no_dims),
            _onnx_node("Mul", ["most", "zero"], "nothing"),
            _onnx_node("Add", ["rows", "nothing"], "detections"),
            _bytes(2, "tiny"),
            _onnx_tensor("zero", np.zeros((), np.float32)),
            _onnx_tensor("rows", found),
            _onnx_port(11, "image", shape),
            _onnx_port(12, "detections", found.shape),
        ]
    )
    opset = _bytes(8, _bytes(1, "") + _number(2, 13))
    path.write_bytes(_number(1, 8) + opset + _bytes(7, graph))


def add_onnx_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Add to an ONNX file what it says of itself."""
    entries = [_bytes(14, _bytes(1, key) + _bytes(2, text)) for key, text in properties.items()]
    path.write_bytes(path.read_bytes() + b"".join(entries))


def _tf_shape(sizes: Sequence[int]) -> bytes:
    return b"".join(_bytes(2, _number(1, size)) for size in sizes)


def _tf_node(
    name: str, op: str, inputs: Sequence[str] = (), attributes: Mapping[str, bytes] | None = None
) -> bytes:
    node = _bytes(1, name) + _bytes(2, op) + b"".join(_bytes(3, entry) for entry in inputs)
    for key, value in (attributes or {}).items():
        node += _bytes(5, _bytes(1, key) + _bytes(2, value))
    return _bytes(1, node)


def _tf_constant(name: str, values: NDArray[np.generic]) -> bytes:
    kind = _TF_FLOAT if values.dtype == np.float32 else _TF_INT32
    tensor = _number(1, kind) + _bytes(2, _tf_shape(values.shape)) + _bytes(4, values.tobytes())
    return _tf_node(name, "Const", (), {"dtype": _number(6, kind), "value": _bytes(8, tensor)})


def write_frozen_graph(path: Path, outputs: Mapping[str, ArrayLike]) -> None:
    """Write a frozen TensorFlow graph with these outputs for any picture in `image_tensor`."""
    is_float = {"T": _number(6, _TF_FLOAT)}
    entry = {
        "dtype": _number(6, _TF_UINT8),
        "shape": _bytes(7, _tf_shape([-1, -1, -1, 3])),
    }
    cast = {"SrcT": _number(6, _TF_UINT8), "DstT": _number(6, _TF_FLOAT)}
    reduce = is_float | {"Tidx": _number(6, _TF_INT32), "keep_dims": _number(5, 0)}
    nodes = [
        _tf_node("image_tensor", "Placeholder", (), entry),
        _tf_node("pixels", "Cast", ["image_tensor"], cast),
        _tf_constant("axes", np.arange(4, dtype=np.int32)),
        _tf_node("most", "Max", ["pixels", "axes"], reduce),
        _tf_constant("zero", np.zeros((), np.float32)),
        _tf_node("nothing", "Mul", ["most", "zero"], is_float),
    ]
    for name, values in outputs.items():
        nodes.append(_tf_constant(f"{name}/value", np.asarray(values, np.float32)))
        nodes.append(_tf_node(name, "AddV2", [f"{name}/value", "nothing"], is_float))
    path.write_bytes(b"".join(nodes))
