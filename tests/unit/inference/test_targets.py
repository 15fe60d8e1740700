from __future__ import annotations

import pytest

from vidpipe.errors import ModelError
from vidpipe.inference.targets import read_target

TWO_GPUS = ("CPU", "GPU.0", "GPU.1", "NPU")


@pytest.mark.parametrize(
    ("device", "available", "candidates"),
    [
        ("CPU", ("CPU",), ("CPU",)),
        ("gpu.1", TWO_GPUS, ("GPU.1",)),
        ("AUTO", TWO_GPUS, TWO_GPUS),
        ("AUTO:GPU.0, CPU", TWO_GPUS, ("GPU.0", "CPU")),
        ("AUTO:-GPU", TWO_GPUS, ("CPU", "NPU")),
        ("AUTO:-GPU.1", TWO_GPUS, ("CPU", "GPU.0", "NPU")),
        ("AUTO:GPU,CPU,-CPU", TWO_GPUS, ("GPU",)),
        ("AUTO:GPU,CPU", ("CPU",), ("CPU",)),
        ("AUTO:-CPU", ("CPU",), ()),
        ("MULTI:CPU(2),GPU(4)", TWO_GPUS, ("CPU", "GPU")),
        ("MULTI:GPU.5,CPU", TWO_GPUS, ("CPU",)),
        ("HETERO:NPU,CPU", TWO_GPUS, ("NPU", "CPU")),
        ("BATCH:CPU(4)", ("CPU",), ("CPU",)),
    ],
)
def test_the_devices_here_come_in_the_order_of_preference(
    device: str, available: tuple[str, ...], candidates: tuple[str, ...]
) -> None:
    assert read_target(device, "m").candidates(available) == candidates


@pytest.mark.parametrize(
    ("device", "available", "missing"),
    [
        ("CPU", ("CPU",), ()),
        ("CPU.0", ("CPU",), ("CPU.0",)),
        ("GPU", TWO_GPUS, ()),
        ("GPU.2", TWO_GPUS, ("GPU.2",)),
        ("GPU.0", ("CPU", "GPU"), ()),
        ("GPU.1", ("CPU", "GPU"), ("GPU.1",)),
        ("AUTO:GPU,FOO,CPU", ("CPU",), ("GPU", "FOO")),
        ("AUTO:-GPU", ("CPU",), ()),
        ("HETERO:GPU,CPU", ("CPU",), ("GPU",)),
    ],
)
def test_what_is_not_here_is_known(
    device: str, available: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert read_target(device, "m").missing(available) == missing


@pytest.mark.parametrize(
    ("device", "resolved"),
    [
        ("AUTO:GPU,CPU", "AUTO:CPU"),
        ("AUTO:-GPU", "AUTO"),
        ("AUTO:CPU,-GPU", "AUTO:CPU"),
        ("auto: cpu ", "AUTO:CPU"),
        ("MULTI:GPU(4),CPU(2)", "MULTI:CPU(2)"),
        ("AUTO:-CPU", "AUTO:-CPU"),
        ("HETERO:CPU", "HETERO:CPU"),
        ("BATCH:CPU(4)", "BATCH:CPU(4)"),
    ],
)
def test_openvino_is_not_told_of_devices_that_are_not_here(device: str, resolved: str) -> None:
    assert read_target(device, "m").resolved(("CPU",)) == resolved


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("CPU:GPU", "only AUTO, MULTI, HETERO, BATCH take a list"),
        ("MULTI", "MULTI needs its devices"),
        ("HETERO:", "HETERO needs its devices"),
        ("BATCH:CPU,GPU", "BATCH takes one device"),
        ("HETERO:-CPU", "only AUTO excludes"),
        ("MULTI:-CPU", "only AUTO excludes"),
        ("HETERO:CPU(2)", "means nothing to HETERO"),
        ("BATCH:CPU(0)", "at least 1"),
        ("AUTO:HETERO:CPU", "is no device's name"),
        ("MULTI:AUTO,CPU", "AUTO can't be a device of MULTI"),
        ("AUTO:CPU()", "is no device's name"),
        ("AUTO:--CPU", "is no device's name"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(device: str, reason: str) -> None:
    with pytest.raises(ModelError, match="model gate") as caught:
        read_target(device, "gate")
    assert reason in str(caught.value)
