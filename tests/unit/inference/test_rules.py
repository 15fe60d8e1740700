from __future__ import annotations

import pytest

from vidpipe.inference.rules import device_rules
from vidpipe.inference.settings import Hint

TWO = ["CPU", "GPU"]
ONE = ["CPU"]


class Core:
    """A machine with certain devices."""

    def __init__(self, devices: list[str]) -> None:
        self.available_devices = devices


@pytest.mark.parametrize(
    ("device", "hint", "available", "words"),
    [
        ("CPU", Hint.LATENCY, TWO, []),
        ("CPU", Hint.THROUGHPUT, ONE, []),
        ("AUTO", Hint.THROUGHPUT, ONE, []),
        ("AUTO", Hint.THROUGHPUT, TWO, ["first results may differ"]),
        ("AUTO:GPU,CPU", Hint.LATENCY, TWO, ["first results may differ"]),
        ("AUTO:GPU", Hint.LATENCY, TWO, ["name the device itself (GPU)"]),
        ("AUTO:GPU,CPU", Hint.THROUGHPUT, ONE, ["no GPU here; CPU works alone"]),
        ("AUTO", Hint.CUMULATIVE_THROUGHPUT, TWO, []),
        ("MULTI:GPU,CPU", Hint.THROUGHPUT, TWO, []),
        ("MULTI:GPU,CPU", Hint.LATENCY, TWO, ["adds throughput, never latency"]),
        ("MULTI:GPU,CPU", Hint.CUMULATIVE_THROUGHPUT, TWO, []),
        ("MULTI:CPU", Hint.THROUGHPUT, ONE, ["without the detour"]),
        ("CPU", Hint.CUMULATIVE_THROUGHPUT, TWO, ["the same as throughput"]),
        ("AUTO", Hint.CUMULATIVE_THROUGHPUT, ONE, ["the same as throughput"]),
        ("HETERO:GPU,CPU", Hint.THROUGHPUT, TWO, ["the operators that GPU lacks to CPU"]),
        ("HETERO:CPU", Hint.THROUGHPUT, ONE, ["operators that a device lacks"]),
    ],
)
def test_rules_are_told_where_they_apply(
    device: str, hint: Hint, available: list[str], words: list[str]
) -> None:
    rules = device_rules("gate", device, hint, Core(available))
    assert len(rules) == len(words), rules
    for rule, expected in zip(rules, words, strict=True):
        assert rule.startswith("model gate: ")
        assert expected in rule
