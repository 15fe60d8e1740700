"""Whether a model answers a batch as it answers each picture alone: tried before it is trusted.

Many models that were exported for one picture take a batch without an error and mix the pictures
up. So batches of different pictures are run, each twice with the pictures in other places, and
their raw outputs compared with what the model says of every picture alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import openvino as ov
from loguru import logger

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.cores import new_core
from vidpipe.inference.decoders.family import Output
from vidpipe.inference.devices import compile_graph
from vidpipe.inference.geometry import Geometry, geometry_of
from vidpipe.inference.likeness import COARSE, EXACT, Tolerance, is_alike, is_telling
from vidpipe.inference.model import CompiledDetector
from vidpipe.inference.request import BoundRequest
from vidpipe.inference.splitting import BATCH_REMEDY, Split
from vidpipe.inference.testcards import testcard
from vidpipe.types import Pixels

_PATIENCE_S = 60.0
_MOST_CARDS = 31
"""Different pictures in one batch, at most; a prime, so that no pattern of rows repeats with it."""

_INTEGER_LAYERS = frozenset({"FakeQuantize", "FakeConvert"})

Answers = Sequence[Sequence[Output]]
"""By picture, the outputs."""


def prove_batches(sizes: Sequence[CompiledDetector]) -> None:
    """Try a model's batches.

    Args:
        sizes: The same model compiled for one picture, and then for batches.

    Raises:
        ModelError: One of them answers otherwise than its pictures alone, or not at all.
    """
    if len(sizes) == 1 or _prove(sizes):
        return
    eager = [_eager(size) for size in sizes]
    told = _prove([size for size in eager if size is not None]) if None not in eager else False
    if not told:
        logger.warning(
            "model {}: it answers the pictures of the self-test all alike, so that its batches are"
            " right in form, but not proved to keep pictures apart",
            sizes[0].name,
        )


def _prove(sizes: Sequence[CompiledDetector]) -> bool:
    """Try all sizes; return False if the pictures' answers can't be told from one another."""
    single = sizes[0]
    tolerance = _tolerance(single)
    count = min(sizes[-1].batch_size, _MOST_CARDS)
    cards = [testcard(number, single.input_wh) for number in range(count)]
    alone = _answers_alone(sizes, cards)
    for size in sizes[1:]:
        for shift in range(2):
            _try_batch(size, cards, alone, shift, tolerance)
    # The last is compared with the first, too: in a batch they are neighbours.
    return all(
        any(is_telling(a, b, tolerance) for a, b in zip(own, other, strict=True))
        for own, other in pairwise([*alone, alone[0]])
    )


def _answers_alone(sizes: Sequence[CompiledDetector], cards: Sequence[Pixels]) -> Answers:
    """Return what the model answers to each picture alone, cut as the answers of a batch are."""
    single, cuts = sizes[0], sizes[-1].split
    assert cuts is not None
    split = Split(1, cuts.cuts)
    request = single.create_request()
    found = []
    for card in cards:
        request.tensor[:] = card
        _run(single, request)
        found.append([np.array(output) for output in split(single.outputs(request), 0)])
    return found


def _try_batch(
    size: CompiledDetector,
    cards: Sequence[Pixels],
    alone: Answers,
    shift: int,
    tolerance: Tolerance,
) -> None:
    """Run one batch and compare each row with its picture's own answer."""
    request = size.create_request()
    order = [(row + shift) % len(cards) for row in range(size.batch_size)]
    for row, card in enumerate(order):
        request.rows[row][:] = cards[card]
    _run(size, request)
    geometry = _geometry(size)
    for row, card in enumerate(order):
        try:
            outputs = size.outputs(request, row)
            size.decode(request, geometry, row)
        except InferenceError as error:
            raise _refusal(size, str(error)) from error
        other = alone[(card + 1) % len(cards)]
        for index, (answer, own) in enumerate(zip(outputs, alone[card], strict=True)):
            if not is_alike(answer, own, other[index], tolerance):
                raise _refusal(
                    size,
                    f"picture {row + 1} of {size.batch_size} is answered otherwise than alone"
                    f" (output {index + 1}, {list(answer.shape)})",
                )


def _run(detector: CompiledDetector, request: BoundRequest) -> None:
    try:
        request.start()
        is_answered = request.wait(_PATIENCE_S)
    except InferenceError as error:
        raise _refusal(detector, str(error)) from error
    if not is_answered:
        request.cancel()
        raise _refusal(detector, f"no answer within {_PATIENCE_S:g} s")


def _refusal(detector: CompiledDetector, reason: str) -> ModelError:
    what = f"batches of {detector.batch_size}" if detector.batch_size > 1 else "its self-test"
    return ModelError(
        f"model {detector.name}: it can't run in batches: {what} failed: {reason}; {BATCH_REMEDY}"
    )


def _geometry(detector: CompiledDetector) -> Geometry:
    return geometry_of(detector.input_wh, detector.input_wh, detector.detector.recipe)


def _tolerance(detector: CompiledDetector) -> Tolerance:
    """Return what the device's arithmetic may change."""
    is_quantised = bool(_INTEGER_LAYERS & detector.detector.signature.operations)
    is_single = detector.answers().get("inference_precision_hint") == "f32"
    return EXACT if is_single and not is_quantised else COARSE


def _lists(graph: ov.Model) -> Iterator[ov.Node]:
    return (node for node in graph.get_ops() if node.get_type_name() == "DetectionOutput")


def _eager(size: CompiledDetector) -> CompiledDetector | None:
    """Return a detector compiled to list what it hardly believes, too; None if it makes no lists.

    A model that finds nothing in the pictures of the self-test would pass it with any mistake.
    """
    graph = size.detector.graph.clone()
    lists = list(_lists(graph))
    if not lists:
        return None
    for node in lists:
        node.set_attribute("confidence_threshold", 0.0)
    return CompiledDetector(size.detector, compile_graph(new_core(), graph, size.detector.settings))
