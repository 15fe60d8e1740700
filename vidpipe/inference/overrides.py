"""What the user sets by hand in place of what the hint would choose, and whether a device has it.

Plugins take most numbers without a word and make something else of them: 8 streams on two cores
are 2. So what is asked for is compared with what the device says that it can do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import openvino as ov

from vidpipe.errors import ModelError
from vidpipe.inference.settings import DetectorSettings, Precision, PropertyValue
from vidpipe.inference.targets import Target

PROPERTY_OF_KEY: Mapping[str, str] = {
    "num_streams": "NUM_STREAMS",
    "threads": "INFERENCE_NUM_THREADS",
    "pinning": "ENABLE_CPU_PINNING",
    "precision": "INFERENCE_PRECISION_HINT",
}
"""What plugins call the keys of the configuration."""

KEY_OF_PROPERTY: Mapping[str, str] = {
    "PERFORMANCE_HINT": "hint",
    "MULTI_DEVICE_PRIORITIES": "device",
    "DEVICE_ID": "device",
}
"""Properties that only their key may say: others hang on it, such as the pools on the hint.

PERFORMANCE_HINT_NUM_REQUESTS is none of them: ``requests`` is how many vidpipe has, and this tells
the hint for how many it is to choose.
"""

_PREFIX = "properties."

_OF_COMPILED = frozenset(
    {
        "LOADED_FROM_CACHE",
        "NETWORK_NAME",
        "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
        "RUNTIME_REQUIREMENTS",
    }
)
"""What a compiled model alone says, so that no plugin lists it."""


@dataclass(frozen=True, slots=True)
class Override:
    """One choice of the user's.

    Attributes:
        key: The key of the model's section, such as ``threads`` or ``properties.NUM_STREAMS``.
        value: What it asks for.
        property: What the plugin calls it.
    """

    key: str
    value: PropertyValue
    property: str


def overrides_in(settings: DetectorSettings) -> tuple[Override, ...]:
    """Return what the settings say in place of the hint, in the order of the reference."""
    precision = settings.precision
    given: dict[str, PropertyValue | None] = {
        "precision": None if precision is Precision.AUTO else precision.value,
        "num_streams": settings.num_streams,
        "threads": settings.threads,
        "pinning": settings.is_pinned,
    }
    own = [
        Override(key, value, PROPERTY_OF_KEY[key])
        for key, value in given.items()
        if value is not None
    ]
    more = [Override(_PREFIX + key, value, key) for key, value in settings.properties.items()]
    return (*own, *more)


def without_overrides(settings: DetectorSettings) -> DetectorSettings:
    """Return the settings as the hint alone would have them."""
    return replace(
        settings,
        precision=Precision.AUTO,
        num_streams=None,
        threads=None,
        is_pinned=None,
        properties={},
    )


def check_doubles(settings: DetectorSettings) -> None:
    """Refuse properties that say what a key of the model's section says.

    Raises:
        ModelError: There is one; the text names both.
    """
    said = set(_properties_said(settings))
    for name in sorted(said & set(KEY_OF_PROPERTY)):
        key = KEY_OF_PROPERTY[name]
        raise ModelError(
            f"model {settings.name}: {key} and properties.{name} are the same thing: leave the"
            f" property out, and say it with the key {key}"
        )
    for override in overrides_in(settings):
        if not override.key.startswith(_PREFIX) and override.property in said:
            raise ModelError(
                f"model {settings.name}: {override.key} and properties.{override.property} are the"
                " same thing: keep one of them"
            )


def _properties_said(settings: DetectorSettings) -> Iterator[str]:
    """Yield the properties by name, and those inside the text of DEVICE_PROPERTIES."""
    for name, value in settings.properties.items():
        yield name.upper()
        if name.upper() == "DEVICE_PROPERTIES":
            yield from re.findall(r"[A-Z_]+", str(value).upper())


def check_overrides(core: ov.Core, target: Target, settings: DetectorSettings) -> None:
    """Refuse what no device of a target can do.

    Raises:
        ModelError: A device lacks it, or has less; the text says what it has.
    """
    devices = target.candidates(available_devices(core))
    for override in overrides_in(settings):
        if override.key.startswith(_PREFIX):
            continue
        able = [name for name in devices if override.property in writable(core, name)]
        if not able:
            raise ModelError(
                f"model {settings.name}: device {settings.device} has no {override.key}"
                f" ({override.property}): leave the key out. It has"
                f" {', '.join(sorted(_known_keys(core, devices))) or 'none of these keys'}"
            )
        most = max(_most(core, name, override.property) for name in able)
        if not isinstance(override.value, str) and override.value > most:
            raise ModelError(
                f"model {settings.name}: {override.key} is {override.value}, and device"
                f" {settings.device} has {most} here: give 1 to {most}, or leave it to the hint"
            )


def _known_keys(core: ov.Core, devices: tuple[str, ...]) -> Iterator[str]:
    found = {key for name in devices for key in writable(core, name)}
    return (key for key, name in PROPERTY_OF_KEY.items() if name in found)


def _most(core: ov.Core, device: str, name: str) -> float:
    """Return the largest number that a device takes as it is; infinity where it doesn't say."""
    if name == "INFERENCE_NUM_THREADS" and device == "CPU":
        return usable_cores()
    if name == "NUM_STREAMS":
        try:
            return int(core.get_property(device, "RANGE_FOR_STREAMS")[1])
        except (RuntimeError, IndexError, TypeError):
            return float("inf")
    return float("inf")


def available_devices(core: ov.Core) -> tuple[str, ...]:
    """Return the real devices of this machine."""
    return tuple(str(name) for name in core.available_devices)


def writable(core: ov.Core, device: str) -> frozenset[str]:
    """Return the properties that a device or plugin can be told; none if it isn't here."""
    return frozenset(key for key, access in _supported(core, device).items() if access != "RO")


def read_only(core: ov.Core, device: str) -> frozenset[str]:
    """Return the properties that a device, or what is compiled for it, says but can't be told."""
    found = _supported(core, device)
    return _OF_COMPILED.union(key for key, access in found.items() if access == "RO")


def _supported(core: ov.Core, device: str) -> dict[str, str]:
    """Return how each property of a device or plugin can be reached: RO, RW or WO."""
    try:
        found = core.get_property(device, "SUPPORTED_PROPERTIES")
    except RuntimeError:
        return {}
    return {str(key): str(access) for key, access in found.items()}


def usable_cores() -> int:
    """Return the cores that this process may use: a container's share, not the machine's."""
    return len(os.sched_getaffinity(0))
