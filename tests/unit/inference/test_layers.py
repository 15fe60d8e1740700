from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import openvino as ov
import pytest

from tests.graphs import saved
from tests.layers import brightness
from vidpipe.errors import ModelError
from vidpipe.inference.layers import Layer, layers_of, place, placement_of, report_device
from vidpipe.inference.model import Detector, read_detector
from vidpipe.inference.settings import DetectorSettings


def detector(folder: Path, device: str) -> Detector:
    return read_detector(saved(brightness(), folder), DetectorSettings("gate", device=device))


def test_a_split_is_counted_by_operators_and_by_what_is_handed_over() -> None:
    graph = brightness()
    counted = {
        node.get_friendly_name(): "GPU"
        for node in graph.get_ops()
        if node.get_type_name() not in ("Parameter", "Result", "Constant")
    }
    assert placement_of(graph, counted).shares == {"GPU": len(counted)}
    assert placement_of(graph, counted).crossings == 0
    # "silu" gives to "last-layer", alone
    moved = placement_of(graph, {**counted, "last-layer": "CPU"})
    assert moved.shares == {"GPU": len(counted) - 1, "CPU": 1}
    assert moved.crossings == 2
    assert "CPU 1 (" in str(moved)


def test_a_hetero_device_says_where_the_operators_run(tmp_path: Path) -> None:
    found = place(detector(tmp_path, "HETERO:CPU"))
    assert found is not None
    assert list(found.shares) == ["CPU"]
    assert found.shares["CPU"] > 5
    assert place(detector(tmp_path, "CPU")) is None


def test_a_hetero_device_that_is_not_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no device 'GPU\.7'"):
        place(detector(tmp_path, "HETERO:GPU.7,CPU"))


@pytest.mark.parametrize("device", ["CPU", "AUTO:CPU", "HETERO:CPU", "MULTI:CPU"])
def test_each_layer_is_timed_on_any_device(tmp_path: Path, device: str) -> None:
    report = report_device(detector(tmp_path, device), runs=2)
    assert report.names.keys() == {"CPU"}
    assert report.splits == 1
    assert (report.placement is not None) == device.startswith("HETERO")
    assert report.layers
    times = [layer.ms for layer in report.layers]
    assert times == sorted(times, reverse=True)
    assert min(times) > 0


@dataclass
class Profile:
    """What the runtime says of one layer."""

    node_name: str
    real_time: timedelta
    node_type: str = "Convolution"
    exec_type: str = "jit"


def test_layers_have_the_median_of_the_runs_and_the_part_they_are_in() -> None:
    runs = [
        [
            Profile("subgraph0: a", timedelta(microseconds=micros)),
            Profile("subgraph1: b: c", timedelta(microseconds=20)),
            Profile("subgraph1: input", timedelta()),
        ]
        for micros in (10, 12, 9000)
    ]
    assert layers_of(runs) == (
        Layer("b: c", "Convolution", "jit", 0.02, 1),
        Layer("a", "Convolution", "jit", 0.012, 0),
    )


def test_the_graph_is_left_as_it_was(tmp_path: Path) -> None:
    one = detector(tmp_path, "CPU")
    before = [node.get_friendly_name() for node in one.graph.get_ops()]
    report_device(one, runs=1)
    assert [node.get_friendly_name() for node in one.graph.get_ops()] == before
    assert isinstance(one.graph, ov.Model)
