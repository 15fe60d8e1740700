"""Devices and their properties: what is asked of a plugin, checked before it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.graph import reason_of
from vidpipe.inference.settings import DetectorSettings, Hint, Precision

_VIRTUAL = ("AUTO", "MULTI", "HETERO", "BATCH")
_PLUGINS = ("CPU", "GPU", "NPU")
_SHARED_PROPERTIES = ("CACHE_DIR", "CACHE_MODE", "DEVICE_PROPERTIES", "MULTI_DEVICE_PRIORITIES")
"""Taken by the runtime itself, so no plugin lists them."""

_ANSWERS = (
    "NETWORK_NAME",
    "EXECUTION_DEVICES",
    "PERFORMANCE_HINT",
    "INFERENCE_PRECISION_HINT",
    "NUM_STREAMS",
    "INFERENCE_NUM_THREADS",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
)

_HINTS = {
    Hint.LATENCY: "LATENCY",
    Hint.THROUGHPUT: "THROUGHPUT",
    Hint.CUMULATIVE_THROUGHPUT: "CUMULATIVE_THROUGHPUT",
    Hint.ADAPTIVE: "THROUGHPUT",  # adapting changes the number of requests, not the graph
}


def properties_for(settings: DetectorSettings) -> dict[str, Any]:
    """Return the properties to compile with: ours first, so that the user's win."""
    properties: dict[str, Any] = {"PERFORMANCE_HINT": _HINTS[settings.hint]}
    if settings.device.upper() == "CPU":
        # Pinned inference threads and decoding threads fight for the same few cores.
        properties["ENABLE_CPU_PINNING"] = False
    if settings.precision is not Precision.AUTO:
        properties["INFERENCE_PRECISION_HINT"] = settings.precision.value
    if settings.cache_dir is not None:
        properties["CACHE_DIR"] = str(settings.cache_dir)
    return properties | dict(settings.properties)


def compile_graph(core: ov.Core, graph: ov.Model, settings: DetectorSettings) -> ov.CompiledModel:
    """Compile a graph for the device of the settings.

    Raises:
        ModelError: The device isn't here, a property is unknown or refused, or the graph is.
    """
    _check_device(core, settings)
    _check_properties(core, settings)
    try:
        return core.compile_model(graph, settings.device.upper(), properties_for(settings))
    except RuntimeError as error:
        raise ModelError(
            f"model {settings.name}: it can't be compiled for device {settings.device}:"
            f" {reason_of(error)}; check the keys device, precision and properties. Available"
            f" devices: {', '.join(core.available_devices)}"
        ) from error


def device_names(device: str) -> list[str]:
    """Return the devices that a text such as ``AUTO:GPU.1,-CPU`` names: AUTO, GPU, CPU."""
    words = device.upper().replace(":", ",").replace("(", ",").replace(")", ",").split(",")
    names = [word.strip().removeprefix("-").split(".")[0] for word in words]
    return [name for name in names if name and not name.isdecimal()]


def _check_device(core: ov.Core, settings: DetectorSettings) -> None:
    available = [str(name) for name in core.available_devices]
    present = {name.split(".")[0] for name in available}
    names = device_names(settings.device)
    asked = [name for name in names if name not in _VIRTUAL]
    missing = [name for name in asked if name not in present]
    if len(asked) < len(names) and len(missing) < len(asked):
        # AUTO and its like pass over a device that isn't there, but not over a misspelt one.
        missing = [name for name in missing if name not in _PLUGINS]
    if not names or missing:
        wrong = missing[0] if missing else settings.device
        raise ModelError(
            f"model {settings.name}: there is no device {wrong!r} on this machine; available:"
            f" {', '.join(available)} (and AUTO, MULTI: and HETERO: of these). A GPU or an NPU"
            " needs its driver installed"
        )


def _check_properties(core: ov.Core, settings: DetectorSettings) -> None:
    supported = set(_SHARED_PROPERTIES)
    for name in device_names(settings.device):
        supported.update(_supported_by(core, name))
    for key in settings.properties:
        if key not in supported and key not in core.available_devices:
            raise ModelError(
                f"model {settings.name}: device {settings.device} has no property {key!r}:"
                f" {_suggestion(key, supported)}"
            )


def _supported_by(core: ov.Core, device: str) -> Iterable[str]:
    try:
        found = core.get_property(device, "SUPPORTED_PROPERTIES")
    except RuntimeError:
        return ()
    return [str(key) for key, access in found.items() if access != "RO"]


def _suggestion(key: str, supported: set[str]) -> str:
    close = get_close_matches(key.upper(), supported, n=1)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(supported))}"


def optimal_requests(compiled: ov.CompiledModel) -> int:
    """Return how many requests keep the device busy; 1 where it doesn't say."""
    answer = _answer(compiled, "OPTIMAL_NUMBER_OF_INFER_REQUESTS")
    return max(1, int(answer)) if answer is not None else 1


def device_full_names(compiled: ov.CompiledModel) -> dict[str, str]:
    """Return the full name of every device that a compiled model runs on, such as a CPU's."""
    devices = [str(name).strip("()") for name in _answer(compiled, "EXECUTION_DEVICES") or ()]
    core, names = ov.Core(), {}
    for device in devices:
        try:
            names[device] = str(core.get_property(device, "FULL_DEVICE_NAME")).strip()
        except RuntimeError:
            names[device] = device
    return names


def runtime_answers(compiled: ov.CompiledModel) -> dict[str, str]:
    """Return what the runtime made of what was asked, as text, for the properties it has."""
    found = {key: _answer(compiled, key) for key in _ANSWERS}
    return {key.lower(): _text(value) for key, value in found.items() if value is not None}


def _answer(compiled: ov.CompiledModel, key: str) -> Any:
    try:
        return compiled.get_property(key)
    except RuntimeError:
        return None


def _text(value: Any) -> str:
    if isinstance(value, ov.Type):
        return str(value.get_type_name())
    # An enum of OpenVINO says its class as well.
    return str(value).rpartition(".")[2] if hasattr(value, "name") else str(value)
