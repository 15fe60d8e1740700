"""On which device each part of a model runs, and how long each layer takes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from statistics import median

import numpy as np
import openvino as ov

from vidpipe.errors import InferenceError, ModelError
from vidpipe.inference.answers import answer, device_full_names, runtime_answers
from vidpipe.inference.cores import new_core
from vidpipe.inference.devices import check_place, compile_graph
from vidpipe.inference.graph import reason_of
from vidpipe.inference.model import Detector
from vidpipe.inference.settings import Hint

_RUNS = 20
_LONGEST_MS = 60_000
_IN_PART = re.compile(r"subgraph(?P<part>[0-9]+): (?P<name>.*)", re.DOTALL)
"""How HETERO names the layers of its parts."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the operators of a model run.

    Attributes:
        shares: How many operators each device takes, by its name, the most first.
        crossings: How many values are handed from one device to another.
    """

    shares: Mapping[str, int]
    crossings: int

    def __str__(self) -> str:
        """For a line of text."""
        total = sum(self.shares.values()) or 1
        parts = [f"{name} {count} ({count / total:.0%})" for name, count in self.shares.items()]
        return f"{', '.join(parts)} operators, {self.crossings} values handed over"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as the device runs it.

    Attributes:
        name: Its name.
        kind: What it does.
        how: The implementation that was chosen for it.
        ms: Milliseconds an inference, the median of several.
        part: The number of its part, where the model is split among devices; else 0.
    """

    name: str
    kind: str
    how: str
    ms: float
    part: int = 0


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """What a device makes of a model.

    Attributes:
        model: The model's name.
        device: As it is written.
        names: The full names of the devices that take part.
        runtime: What the runtime answered.
        placement: Where the operators run; None unless there are several devices to choose from.
        splits: Into how many parts the model was cut; 1 where it is whole.
        layers: The layers that take time, the slowest first.
    """

    model: str
    device: str
    names: Mapping[str, str]
    runtime: Mapping[str, str]
    placement: Placement | None
    splits: int
    layers: tuple[Layer, ...]


def report_device(detector: Detector, *, runs: int = _RUNS) -> DeviceReport:
    """Compile a detector for its device, with a clock at every layer, and run it a few times.

    Raises:
        ModelError: The device isn't here, or it can't run the model.
        InferenceError: It failed at an inference.
    """
    core = new_core()
    settings = replace(detector.settings, hint=Hint.LATENCY, cache_dir=None)
    settings = replace(settings, properties={**settings.properties, "PERF_COUNT": True})
    compiled = compile_graph(core, detector.graph, settings)
    splits = answer(compiled, "HETERO_NUMBER_OF_SUBMODELS")
    return DeviceReport(
        model=settings.name,
        device=settings.device,
        names=device_full_names(compiled),
        runtime=runtime_answers(compiled),
        placement=place(replace(detector, settings=settings), core),
        splits=int(splits) if splits is not None else 1,
        layers=_time_layers(compiled, runs, settings.name),
    )


def place(detector: Detector, core: ov.Core | None = None) -> Placement | None:
    """Ask which device takes which operator; None unless the detector's device is a HETERO.

    Raises:
        ModelError: The device isn't here, or can't be asked.
    """
    core, device = core or new_core(), detector.settings.device
    target = check_place(core, detector.settings)
    if target.kind != "HETERO":
        return None
    try:
        found = core.query_model(detector.graph, target.text)
    except RuntimeError as error:
        raise ModelError(
            f"model {detector.settings.name}: {device} can't say what it supports:"
            f" {reason_of(error)}"
        ) from error
    return placement_of(detector.graph, {str(key): str(name) for key, name in found.items()})


def placement_of(graph: ov.Model, device_of: Mapping[str, str]) -> Placement:
    """Count operators by device, and the values that one device computes and another needs.

    Args:
        graph: The model.
        device_of: The device of each operator, by its friendly name; inputs, outputs and constants
            are where they are needed, and aren't counted.
    """
    counts: Counter[str] = Counter()
    crossings = set()
    for node in graph.get_ops():
        device = _device_of(node, device_of)
        if device is None:
            continue
        counts[device] += 1
        for entry in node.inputs():
            source = entry.get_source_output()
            other = _device_of(source.get_node(), device_of)
            if other is not None and other != device:
                crossings.add((source.get_node().get_friendly_name(), source.get_index(), device))
    return Placement(dict(counts.most_common()), len(crossings))


def _device_of(node: ov.Node, device_of: Mapping[str, str]) -> str | None:
    if node.get_type_name() in ("Parameter", "Result", "Constant"):
        return None
    return device_of.get(node.get_friendly_name())


def _time_layers(compiled: ov.CompiledModel, runs: int, model: str) -> tuple[Layer, ...]:
    """Run a model on a picture of noise and return how long each layer takes."""
    shape = tuple(compiled.input(0).shape)
    noise = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    request = compiled.create_infer_request()
    request.set_input_tensor(0, ov.Tensor(noise))
    profiles = []
    for number in range(runs + 1):
        try:
            request.start_async()
            if not request.wait_for(_LONGEST_MS):
                request.cancel()
                raise InferenceError(f"model {model}: no answer within {_LONGEST_MS / 1000:g} s")
        except RuntimeError as error:
            raise InferenceError(f"model {model}: the device failed: {reason_of(error)}") from error
        if number:  # the first one is slower than all others
            profiles.append(request.get_profiling_info())
    return layers_of(profiles)


def layers_of(profiles: Iterable[Iterable[ov.ProfilingInfo]]) -> tuple[Layer, ...]:
    """Return the median time of each layer, the slowest first, without those that didn't run.

    The median, since a machine with other work too makes a few runs far slower than the rest.
    """
    times: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for info in (info for profile in profiles for info in profile):
        if info.real_time:
            layer = str(info.node_name), str(info.node_type), str(info.exec_type)
            times[layer].append(info.real_time / timedelta(milliseconds=1))
    layers = []
    for (title, kind, how), several in times.items():
        match = _IN_PART.fullmatch(title)
        name, part = (match["name"], int(match["part"])) if match else (title, 0)
        layers.append(Layer(name, kind, how, median(several), part))
    return tuple(sorted(layers, key=lambda layer: -layer.ms))
