"""Models made in code, run by the real device, that do what a test wants.

Both find one object in every picture, whose right edge tells the grey level of the picture: so an
answer can be told from any other. `tell_level` reads it.
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from tests.builders import make_frame, make_picture
from vidpipe.inference.decoders.families import choose_family
from vidpipe.inference.decoders.family import DecodeRule
from vidpipe.inference.graph import set_batch, signature_of
from vidpipe.inference.labels import LabelTable
from vidpipe.inference.model import CompiledDetector, Detector, compile_detector
from vidpipe.inference.settings import DetectorSettings, InputRecipe
from vidpipe.types import Detections, Frame

SIDE = 4
FRAME_WH = (510, 48)
"""Twice 255 wide: a level is a whole number of pixels."""

FAILS = 200
"""The grey level at which the probe's inference fails."""
HANGS = 100
"""The grey level at which the probe waits for its gate."""


def level_frame(number: int, level: int, stream: str = "gate") -> Frame:
    """Return a frame of one grey level, which the tensor will hold exactly."""
    picture = make_picture(*FRAME_WH, luma=level, is_full_range=True)
    return make_frame(number, stream=stream, picture=picture)


def tell_level(detections: Detections) -> int:
    """Return the grey level that an answer tells."""
    assert len(detections) == 1
    return round(float(detections.boxes_xyxy[0, 2]) * 255 / FRAME_WH[0])


class Gate(threading.Event):
    """What a probe waits for at certain pictures; counts how many have come to it."""

    def __init__(self) -> None:
        """Begin closed."""
        super().__init__()
        self.comers = 0

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set."""
        self.comers += 1
        return super().wait(timeout)


class Probe(ov.Op):  # type: ignore[misc]  # openvino leaves it untyped
    """Writes one row of seven a picture; fails or waits if one has a certain grey level."""

    def __init__(self, inputs: list[ov.Output], gate: Gate) -> None:
        """Wait for ``gate`` where told to."""
        super().__init__(self, inputs)
        self._gate = gate

    def validate_and_infer_types(self) -> None:
        """One row of seven a picture."""
        batch = self.get_input_partial_shape(0)[0].get_length()
        self.set_output_type(0, ov.Type.f32, ov.PartialShape([1, 1, batch, 7]))

    def clone_with_new_inputs(self, inputs: list[ov.Output]) -> Probe:
        """Return another with the same gate."""
        return Probe(inputs, self._gate)

    def has_evaluate(self) -> bool:
        """It is evaluated in Python."""
        return True

    def evaluate(self, outputs: list[ov.Tensor], inputs: list[ov.Tensor]) -> bool:
        """Answer, fail or wait; waiting lets the interpreter go."""
        levels = inputs[0].data[:, 0, 0, 0]
        if FAILS in levels:
            raise ValueError("an unlucky picture")
        if HANGS in levels:
            self._gate.wait(60)
        for row, level in enumerate(levels):
            outputs[0].data[0, 0, row] = (row, 0, 0.9, 0, 0, level / 255, 1)
        return True


class ProbeDetector(CompiledDetector):
    """Says that it runs eight requests at once, however small the machine is."""

    @property
    def optimal_requests(self) -> int:
        """Eight: a few that hang are no reason yet to compile anew."""
        return 8


def compile_probe(gate: Gate, *, is_wide: bool = False, batch: int = 1) -> CompiledDetector:
    """Return a detector that fails and hangs on demand, run by two threads of the device."""
    entry = ops.parameter([1, SIDE, SIDE, 3], ov.Type.u8)
    graph = ov.Model([ops.result(Probe([entry.output(0)], gate).output(0))], [entry], "probe")
    settings = DetectorSettings(name="probe", labels=("thing",))
    signature = signature_of(graph, {})
    family = choose_family("ssd", signature, settings.name)
    rule = DecodeRule(
        confidence=0.5,
        iou=1.0,
        labels=LabelTable(settings.labels, background_id=None),
        kept_ids=None,
        input_wh=(SIDE, SIDE),
    )
    detector = Detector(
        path=Path("probe.xml"),
        settings=settings,
        graph=graph,
        signature=signature,
        family=family,
        recipe=InputRecipe(),
        rule=rule,
        decoder=family.decoder(signature, rule),
    )
    set_batch(graph, batch, settings.name)
    compiled = ov.Core().compile_model(graph, "CPU", {"NUM_STREAMS": 2})
    return (ProbeDetector if is_wide else CompiledDetector)(detector, compiled)


def compile_quick(folder: Path, *, batch: int = 1) -> CompiledDetector:
    """Return a detector of a few native operations, read from a file like any other."""
    entry = ops.parameter([1, 3, SIDE, SIDE], ov.Type.f32)
    mean = ops.reduce_mean(entry, ops.constant([1, 2, 3]), keep_dims=True)
    edge = ops.divide(mean, ops.constant(np.float32(255)))
    nothing = ops.multiply(edge, np.float32(0))
    numbers = np.array([0, 0, 0.9, 0, 0], np.float32).reshape(1, 1, 1, 5)
    before = ops.add(nothing, ops.constant(numbers))
    row = ops.concat([before, edge, ops.add(nothing, np.float32(1))], axis=3)
    path = folder / "quick.xml"
    ov.save_model(ov.Model([ops.result(row)], [entry], "quick"), path, compress_to_fp16=False)
    settings = DetectorSettings(name="quick", labels=("thing",))
    return compile_detector(path, settings, batch)
