"""What a user should know of the device and the hint that were chosen, where it applies."""

from __future__ import annotations

from collections.abc import Iterator

import openvino as ov

from vidpipe.inference.cores import new_core
from vidpipe.inference.overrides import available_devices
from vidpipe.inference.settings import Hint
from vidpipe.inference.targets import Target, read_target


def device_rules(model: str, device: str, hint: Hint, core: ov.Core | None = None) -> list[str]:
    """Return what to tell of a model's device and hint, one sentence or two each; often nothing.

    Raises:
        ModelError: The device's text is none.
    """
    target = read_target(device, model)
    available = available_devices(core or new_core())
    return [f"model {model}: {rule}" for rule in _rules(target, hint, available)]


def _rules(target: Target, hint: Hint, available: tuple[str, ...]) -> Iterator[str]:
    candidates = target.candidates(available)
    names = " and ".join(candidates)
    missing = target.missing(available)
    is_group = target.kind in ("AUTO", "MULTI")
    wants_latency = hint in (Hint.LATENCY, Hint.ADAPTIVE)
    if missing and is_group and candidates:
        yield f"{target.text}: there is no {' and no '.join(missing)} here; {names} works alone"
    if target.kind == "AUTO" and len(candidates) > 1 and hint is not Hint.CUMULATIVE_THROUGHPUT:
        yield (
            f"{target.text} may begin on one device while the model is being loaded onto another"
            f" ({names}), and the first results may differ from the later ones: where latency or"
            " equal results count, name the device itself"
        )
    elif target.kind == "AUTO" and wants_latency:
        yield (
            f"{target.text} leaves the choice of the device to OpenVINO, and hint {hint.value} is"
            f" for latency: name the device itself ({' or '.join(candidates)})"
        )
    if target.kind == "MULTI" and wants_latency:
        yield (
            f"{target.text} runs several inferences at once on several devices: it adds throughput,"
            f" never latency, and hint {hint.value} has nothing to gain from it: name one device"
        )
    if target.kind == "MULTI" and len(candidates) == 1:
        yield f"{target.text} has one device here: device: {names} is the same without the detour"
    if hint is Hint.CUMULATIVE_THROUGHPUT and (not is_group or len(candidates) < 2):
        yield (
            f"hint cumulative_throughput uses all devices of AUTO or MULTI at once; with"
            f" {target.text} there is one ({names}), and it is the same as throughput"
        )
    if target.kind == "HETERO" and len(candidates) == 1:
        yield (
            f"HETERO is for operators that a device lacks, and {target.text} names one device:"
            f" device: {names} is the same without the detour"
        )
    elif target.kind == "HETERO":
        yield (
            f"{target.text} gives the operators that {candidates[0]} lacks to"
            f" {' and '.join(candidates[1:])}, and each change of device costs a copy: it is not"
            " for speed. vidpipe models info MODEL --device shows the share and the splits"
        )
