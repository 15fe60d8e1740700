"""What a model file is, in words: for `vidpipe models info`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.decoders.families import choose_family
from vidpipe.inference.graph import files_of, read_graph, signature_of, take_constants
from vidpipe.inference.labels import carried_labels

_WEIGHT_TYPES = {"f32": "FP32", "f16": "FP16", "bf16": "BF16", "f64": "FP64"}
_INTEGER_WEIGHTS = ("i8", "u8", "i4", "u4")


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known of a model without running it.

    Attributes:
        path: The file.
        size_bytes: The file and its weights.
        inputs: Name, shape and type of each input.
        outputs: The same of each output.
        family: The decoder that ``auto`` chooses, or None.
        reason: Why none is chosen; empty if one is.
        labels: The names that the file carries.
        precision: What most of the weights are: FP32, FP16, INT8 and so on.
        metadata: What else the file says of itself.
    """

    path: Path
    size_bytes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    family: str | None
    reason: str
    labels: tuple[str, ...]
    precision: str
    metadata: dict[str, str]


def describe_model(path: Path) -> ModelDescription:
    """Read a model file and describe it.

    Raises:
        ModelError: There is no such file, or it can't be read.
    """
    graph = read_graph(ov.Core(), path, path.stem)
    precision = _precision_of(graph)
    signature = signature_of(graph, take_constants(graph))
    family, reason = None, ""
    try:
        family = choose_family("auto", signature, path.stem).name
    except ModelError as error:
        reason = str(error)
    return ModelDescription(
        path=path,
        size_bytes=sum(file.stat().st_size for file in files_of(path)),
        inputs=tuple(str(spec) for spec in signature.inputs),
        outputs=tuple(str(spec) for spec in signature.outputs),
        family=family,
        reason=reason,
        labels=carried_labels(signature.metadata),
        precision=precision,
        metadata={key: text for key, text in signature.metadata.items() if key != "labels"},
    )


def _precision_of(graph: ov.Model) -> str:
    """Name the type of most weights; a graph with FakeQuantize runs in INT8."""
    counts: Counter[str] = Counter()
    for node in graph.get_ops():
        kind = node.get_type_name()
        if kind == "FakeQuantize":
            return "INT8"
        if kind == "Constant":
            output = node.output(0)
            counts[output.element_type.get_type_name()] += prod(output.shape)
    floats = {
        key: n for key, n in counts.items() if key in _WEIGHT_TYPES or key in _INTEGER_WEIGHTS
    }
    if not floats:
        return "unknown"
    most = max(floats, key=lambda key: floats[key])
    return _WEIGHT_TYPES.get(most, f"INT{most[1:]}")
