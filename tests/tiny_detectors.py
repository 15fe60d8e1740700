"""Whole detectors around outputs that a test writes down: from a saved graph to boxes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike, NDArray

from tests.builders import make_picture
from tests.graphs import fixed_outputs, saved
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.types import Detections


def tiny_detector(
    folder: Path,
    outputs: Mapping[str, ArrayLike],
    input_wh: tuple[int, int],
    **settings: object,
) -> CompiledDetector:
    """Return a detector of that input size whose outputs are always these."""
    width, height = input_wh
    return graph_detector(folder, fixed_outputs(outputs, shape=(1, 3, height, width)), **settings)


def graph_detector(folder: Path, graph: ov.Model, **settings: object) -> CompiledDetector:
    """Return a detector of a graph that was saved to a folder."""
    fields: dict[str, object] = {"name": "tiny", "confidence": 0.25, **settings}
    return compile_detector(saved(graph, folder), DetectorSettings(**fields))  # type: ignore[arg-type] # by name


def found_by(
    folder: Path,
    outputs: Mapping[str, ArrayLike],
    input_wh: tuple[int, int],
    *,
    family: str,
    **settings: object,
) -> Detections:
    """Return what a tiny detector of a family finds in a frame of its input's size."""
    detector = tiny_detector(folder, outputs, input_wh, **settings)
    assert detector.describe()["family"] == family
    return detector.infer_once(make_picture(*input_wh))


def table(rows: int, columns: int, filled: Mapping[int, ArrayLike]) -> NDArray[np.float32]:
    """Return (1, rows, columns) zeros in which some rows are filled."""
    values = np.zeros((1, rows, columns), np.float32)
    for row, numbers in filled.items():
        values[0, row, : len(np.asarray(numbers))] = numbers
    return values
