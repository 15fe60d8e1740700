"""What a model file is, and what vidpipe would do with it: for `vidpipe models info`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.catalogue import known_file
from vidpipe.inference.cores import new_core
from vidpipe.inference.cost import Cost, cost_of
from vidpipe.inference.graph import files_of, read_graph, signature_of, take_constants
from vidpipe.inference.labels import LabelTable, choose_labels
from vidpipe.inference.model import Detector, read_detector
from vidpipe.inference.settings import DetectorSettings, InputRecipe

_WEIGHT_TYPES = {"f32": "FP32", "f16": "FP16", "bf16": "BF16", "f64": "FP64"}
_INTEGER_WEIGHTS = ("i8", "u8", "i4", "u4")
_TOLD_ELSEWHERE = frozenset({"labels", "names", "names_from", "family", "input", "anchors"})


@dataclass(frozen=True, slots=True)
class Use:
    """What vidpipe would do with a model whose path alone is given.

    Attributes:
        family: The decoder that ``auto`` chooses.
        why: Why it does.
        input_wh: The size of its input in pixels.
        recipe: How its pixels are made.
        confidence: Boxes below this score are dropped.
        iou: Boxes of one class that overlap more are one; None where the model sees to that itself.
        class_count: How many classes it tells apart, or None if that isn't told.
        labels_from: Where the labels come from; empty if there are none.
        complaint: What is wrong with the number of labels; empty if nothing is.
    """

    family: str
    why: str
    input_wh: tuple[int, int]
    recipe: InputRecipe
    confidence: float
    iou: float | None
    class_count: int | None
    labels_from: str
    complaint: str


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What is known of a model without running it.

    Attributes:
        path: The file.
        known_as: What the zoo calls this very file, or None.
        size_bytes: The file and its weights.
        inputs: Name, shape and type of each input.
        outputs: The same of each output.
        precision: What most of the weights are: FP32, FP16, INT8 and so on.
        cost: What an inference costs, for the size of the input that vidpipe would use.
        labels: The names by class id.
        use: What vidpipe would do with it, or None.
        reason: Why it can't be used; empty if it can.
        metadata: What else is said of it, in the file or beside it.
    """

    path: Path
    known_as: str | None
    size_bytes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    precision: str
    cost: Cost
    labels: Mapping[int, str]
    use: Use | None
    reason: str
    metadata: Mapping[str, str]


def describe_model(path: Path) -> ModelDescription:
    """Read a model file and describe it.

    Raises:
        ModelError: There is no such file, or it can't be read.
    """
    core = new_core()
    graph = read_graph(core, path, path.stem)
    precision, cost = _precision_of(graph), cost_of(graph)
    signature = signature_of(graph, take_constants(graph))
    labels = LabelTable(choose_labels((), signature.metadata, None).labels)
    use, reason = None, ""
    try:
        detector = read_detector(path, DetectorSettings(path.stem), core)
    except ModelError as error:
        reason = str(error)
    else:
        use, labels = _use_of(detector), detector.rule.labels
        cost = Cost(cost_of(detector.graph).gflops, cost.parameters)
    known = known_file(path)
    return ModelDescription(
        path=path,
        known_as=known.name if known else None,
        size_bytes=sum(file.stat().st_size for file in files_of(path)),
        inputs=tuple(str(spec) for spec in signature.inputs),
        outputs=tuple(str(spec) for spec in signature.outputs),
        precision=precision,
        cost=cost,
        labels=labels.by_id(),
        use=use,
        reason=reason,
        metadata={k: text for k, text in signature.metadata.items() if k not in _TOLD_ELSEWHERE},
    )


def _use_of(detector: Detector) -> Use:
    family, signature = detector.family, detector.signature
    is_stated = signature.metadata.get("family") == family.name
    chosen = choose_labels(
        (), signature.metadata, family.class_count(signature), tuple(family.labels)
    )
    return Use(
        family=family.name,
        why="the file says so" if is_stated else f"its outputs are those of one: {family.needs}",
        input_wh=detector.rule.input_wh,
        recipe=detector.recipe,
        confidence=detector.rule.confidence,
        iou=detector.rule.iou if detector.rule.iou < 1 else None,
        class_count=family.class_count(signature),
        labels_from=chosen.origin,
        complaint=chosen.complaint,
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
