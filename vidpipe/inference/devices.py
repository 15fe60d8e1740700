"""Devices and their properties: what is asked of a plugin, checked before it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import openvino as ov
from openvino import opset13 as ops

from vidpipe.errors import ModelError
from vidpipe.inference.compiled import CompiledCache
from vidpipe.inference.cores import new_core
from vidpipe.inference.graph import reason_of
from vidpipe.inference.overrides import (
    KEY_OF_PROPERTY,
    available_devices,
    check_doubles,
    check_overrides,
    read_only,
    usable_cores,
    writable,
)
from vidpipe.inference.settings import DetectorSettings, Hint, Precision
from vidpipe.inference.targets import PLUGINS, Target, read_target

_SHARED_PROPERTIES = ("CACHE_DIR", "CACHE_MODE", "DEVICE_PROPERTIES")
"""Taken by the runtime itself, so no plugin lists them."""

_HINTS = {
    Hint.LATENCY: "LATENCY",
    Hint.THROUGHPUT: "THROUGHPUT",
    Hint.CUMULATIVE_THROUGHPUT: "CUMULATIVE_THROUGHPUT",
    Hint.ADAPTIVE: "THROUGHPUT",  # compiled twice: whoever does so says for what
}

_LATER = ("PERFORMANCE_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS", "ENABLE_CPU_PINNING")
"""What the CPU's plugin applies to what it has loaded: the same file serves all of these."""

_KEYS_OF_ONE = 5
"""The parts of the cache's key where one device alone may come to work."""


def properties_for(core: ov.Core, settings: DetectorSettings) -> dict[str, Any]:
    """Return the properties to compile with: ours first, so that the user's win.

    What AUTO, MULTI and HETERO don't take themselves is handed to those of their devices that do.

    Raises:
        ModelError: The device's text is none.
    """
    target = read_target(settings.device, settings.name)
    wanted: dict[str, Any] = {"PERFORMANCE_HINT": _HINTS[settings.hint]}
    wanted |= _wishes(settings) | dict(settings.properties)
    # Pinned inference threads and decoding threads fight for the same few cores.
    usual = {"ENABLE_CPU_PINNING": False} | _share(target, settings)
    if not target.is_virtual or target.kind == "BATCH":
        return (usual if target.candidates(available_devices(core)) == ("CPU",) else {}) | wanted
    own = {"PERFORMANCE_HINT", *_SHARED_PROPERTIES, *writable(core, target.kind)}
    top = {key: value for key, value in wanted.items() if key in own}
    of_device: dict[str, dict[str, Any]] = {}
    for name in target.candidates(available_devices(core)):
        takes = writable(core, name)
        asked = (usual if name == "CPU" else {}) | wanted
        given = {key: value for key, value in asked.items() if key in takes and key not in top}
        if given:
            of_device[name] = given
    return {"DEVICE_PROPERTIES": of_device} | top if of_device else top


def _wishes(settings: DetectorSettings) -> dict[str, Any]:
    """Return what the user's own keys say in place of the hint."""
    given: dict[str, Any] = {
        "NUM_STREAMS": settings.num_streams,
        "INFERENCE_NUM_THREADS": settings.threads,
        "ENABLE_CPU_PINNING": settings.is_pinned,
    }
    if settings.precision is not Precision.AUTO:
        given["INFERENCE_PRECISION_HINT"] = settings.precision.value
    return {key: value for key, value in given.items() if value is not None}


def _share(target: Target, settings: DetectorSettings) -> dict[str, Any]:
    """Return what keeps compiled models side by side from taking the cores from one another."""
    if settings.share_of <= 1 or target.kind != "CPU":
        return {}
    return {"NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": max(1, usable_cores() // settings.share_of)}


def compile_graph(
    core: ov.Core,
    graph: ov.Model,
    settings: DetectorSettings,
    files: Sequence[Path] = (),
    variant: str = "",
) -> ov.CompiledModel:
    """Compile a graph for the device of the settings.

    Args:
        core: The runtime.
        graph: What is compiled.
        settings: How; with a ``cache_dir`` the result is kept there, or taken from there.
        files: What the graph was read from; without them nothing is kept.
        variant: What was made of the files: everything else that tells the graph from another.

    Raises:
        ModelError: The device isn't here, a property is unknown or refused, or the graph is.
    """
    target, available = check_place(core, settings), available_devices(core)
    device, properties = target.resolved(available), properties_for(core, settings)

    def compile_into(folder: Path | None) -> ov.CompiledModel:
        kept = {} if folder is None else {"CACHE_DIR": str(folder)}
        return core.compile_model(graph, device, kept | properties)

    try:
        if settings.cache_dir is None or not files or "CACHE_DIR" in properties:
            return compile_into(None)
        lasting = {k: v for k, v in properties.items() if device != "CPU" or k not in _LATER}
        key = [device, variant, ov.get_version(), repr(sorted(lasting.items()))]
        key += [_identity(core, name) for name in target.candidates(available)]
        return CompiledCache(settings.cache_dir, settings.name).compile(
            files, key, compile_into, is_late=target.kind == "AUTO" and len(key) > _KEYS_OF_ONE
        )
    except RuntimeError as error:
        raise ModelError(
            f"model {settings.name}: it can't be compiled for device {settings.device}:"
            f" {reason_of(error)}; check the keys device, precision and properties. Available"
            f" devices: {', '.join(available)}"
        ) from error


def check_place(core: ov.Core, settings: DetectorSettings) -> Target:
    """Return where a model is to run, if that is here and has what the settings ask for.

    Raises:
        ModelError: The device isn't here, or a property or an override is unknown or too much.
    """
    target = read_target(settings.device, settings.name)
    _check_device(core, target, settings)
    check_doubles(settings)
    _check_properties(core, target, settings)
    check_overrides(core, target, settings)
    return target


def check_values(settings: DetectorSettings) -> None:
    """Have the values of the settings' properties judged, which a plugin does as it compiles.

    It gets next to nothing to compile, and nothing is kept.

    Raises:
        ModelError: The device isn't here, or a property is unknown or refused.
    """
    values = {key: value for key, value in settings.properties.items() if key != "CACHE_DIR"}
    if values:
        number = ops.parameter([1], ov.Type.f32)
        graph = ov.Model([ops.result(ops.relu(number))], [number], "nothing")
        compile_graph(new_core(), graph, replace(settings, properties=values))


def _identity(core: ov.Core, device: str) -> str:
    """Return what makes a device another one for what was compiled for it."""
    told = [device]
    for key in ("FULL_DEVICE_NAME", "DEVICE_ARCHITECTURE", "OPTIMIZATION_CAPABILITIES"):
        try:
            told.append(str(core.get_property(device, key)))
        except RuntimeError:
            continue
    return " ".join(told)


def _check_device(core: ov.Core, target: Target, settings: DetectorSettings) -> None:
    available = available_devices(core)
    missing = target.missing(available)
    if target.kind in ("AUTO", "MULTI"):
        # They go without a device that isn't there, but a misspelt one is a mistake.
        wrong = [name for name in missing if name.partition(".")[0] not in PLUGINS]
        if not wrong and target.candidates(available):
            return
        missing = tuple(wrong) or missing
        if not missing:
            raise ModelError(
                f"model {settings.name}: device {settings.device} excludes all that it could use"
                f" here, so that nothing is left; available: {', '.join(available)}"
            )
    if missing:
        raise ModelError(
            f"model {settings.name}: there is no device {missing[0]!r} on this machine; available:"
            f" {', '.join(available)} (and AUTO, MULTI: and HETERO: of these). A GPU or an NPU"
            " needs its driver installed"
        )


def _check_properties(core: ov.Core, target: Target, settings: DetectorSettings) -> None:
    supported, fixed = set(_SHARED_PROPERTIES), set[str]()
    for name in (target.kind, *target.candidates(available_devices(core))):
        supported.update(writable(core, name))
        fixed.update(read_only(core, name))
    for key in settings.properties:
        if key.upper() in fixed - supported:
            raise ModelError(
                f"model {settings.name}: properties.{key} is read-only: device {settings.device}"
                " says it, and can't be told it; leave it out"
            )
        if key not in supported:
            raise ModelError(
                f"model {settings.name}: device {settings.device} has no property {key!r}:"
                f" {_suggestion(key, supported)}"
            )


def _suggestion(key: str, supported: set[str]) -> str:
    close = get_close_matches(key.upper(), supported, n=1)
    if not close:
        return f"it has {', '.join(sorted(supported - set(KEY_OF_PROPERTY)))}"
    own = KEY_OF_PROPERTY.get(close[0])
    return f"did you mean {close[0]}?" + (f" Say it with the key {own}" if own else "")
