"""What a compiled model answers when it is asked what became of what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openvino as ov

from vidpipe.inference.cores import new_core

_ASKED = (
    "NETWORK_NAME",
    "EXECUTION_DEVICES",
    "PERFORMANCE_HINT",
    "INFERENCE_PRECISION_HINT",
    "NUM_STREAMS",
    "INFERENCE_NUM_THREADS",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "HETERO_NUMBER_OF_SUBMODELS",
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
)
_BY_DEVICE = "DEVICE_PROPERTIES"
_SEVERAL = 2


def optimal_requests(compiled: ov.CompiledModel) -> int:
    """Return how many requests keep the device busy; 1 where it doesn't say."""
    found = answer(compiled, "OPTIMAL_NUMBER_OF_INFER_REQUESTS")
    return max(1, int(found)) if found is not None else 1


def is_from_cache(compiled: ov.CompiledModel) -> bool:
    """Return True if it was loaded rather than compiled."""
    return bool(answer(compiled, "LOADED_FROM_CACHE"))


def device_full_names(compiled: ov.CompiledModel) -> dict[str, str]:
    """Return the full name of every device that a compiled model runs on, such as a CPU's."""
    devices = [str(name).strip("()") for name in answer(compiled, "EXECUTION_DEVICES") or ()]
    core, names = new_core(), {}
    for device in devices:
        try:
            names[device] = str(core.get_property(device, "FULL_DEVICE_NAME")).strip()
        except RuntimeError:
            names[device] = device
    return names


def runtime_answers(compiled: ov.CompiledModel, more: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what the runtime made of what was asked, as text, for the properties it has.

    Where several devices are behind it, those of the first that says it; ``more`` are asked, too.
    """
    inner = answer(compiled, _BY_DEVICE)
    devices = [one for one in inner.values() if isinstance(one, Mapping)] if inner else []
    found: dict[str, str] = {}
    for key in dict.fromkeys((*_ASKED, *more)):
        answers = [answer(compiled, key), *(device.get(key) for device in devices)]
        told = [value for value in answers if value is not None]
        if told:
            found[key.lower()] = text_of(told[0])
    return found


def answers_by_device(compiled: ov.CompiledModel) -> dict[str, dict[str, str]]:
    """Return the same for each of several devices behind a virtual one; empty where it is one."""
    inner = answer(compiled, _BY_DEVICE) or {}
    if len(inner) < _SEVERAL:
        return {}
    return {
        str(name): {key.lower(): text_of(one[key]) for key in _ASKED if key in one}
        for name, one in inner.items()
        if isinstance(one, Mapping)
    }


def answer(compiled: ov.CompiledModel, key: str) -> Any:
    """Return one property, or None where it doesn't have it."""
    try:
        return compiled.get_property(key)
    except RuntimeError:
        return None


def text_of(value: Any) -> str:
    """Return a property's value as it is written."""
    if isinstance(value, ov.Type):
        return str(value.get_type_name())
    # An enum of OpenVINO says its class as well.
    return str(value).rpartition(".")[2] if hasattr(value, "name") else str(value)
