"""Where a model runs, as it is written: ``CPU``, ``AUTO:GPU,CPU``, ``HETERO:NPU,CPU`` and so on.

Text alone: no device is asked here. A virtual device (AUTO, MULTI, HETERO, BATCH) is made of real
ones. AUTO and MULTI go without a device that a machine doesn't have; the others need all of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vidpipe.errors import ModelError

VIRTUAL = ("AUTO", "MULTI", "HETERO", "BATCH")
PLUGINS = ("CPU", "GPU", "NPU")
"""The real devices that a machine may lack; any other that it lacks is misspelt."""

_PART = re.compile(r"(?P<minus>-?)(?P<name>[A-Z][A-Z0-9_.]*)(?P<count>\([0-9]+\))?")


@dataclass(frozen=True, slots=True)
class Part:
    """One device of a virtual one.

    Attributes:
        name: ``GPU`` or ``GPU.1``.
        is_excluded: True for ``-GPU``: never this one.
        count: What stands behind it, such as ``(4)``; empty if nothing does.
    """

    name: str
    is_excluded: bool = False
    count: str = ""

    def __str__(self) -> str:
        """As it is written."""
        return f"{'-' if self.is_excluded else ''}{self.name}{self.count}"


@dataclass(frozen=True, slots=True)
class Target:
    """A device as it is written, in its parts.

    Attributes:
        text: As it is written, in capitals.
        kind: The first word: a real device, or one of `VIRTUAL`.
        parts: The devices of a virtual one; empty for a real one, and for AUTO without a list.
    """

    text: str
    kind: str
    parts: tuple[Part, ...] = ()

    @property
    def is_virtual(self) -> bool:
        """True if it is made of other devices."""
        return self.kind in VIRTUAL

    def candidates(self, available: Sequence[str]) -> tuple[str, ...]:
        """Return the devices here that it may run on, the preferred one first."""
        if not self.is_virtual:
            return (self.kind,)
        wanted = [part.name for part in self.parts if not part.is_excluded]
        if self.kind == "AUTO" and not wanted:
            wanted = list(available)
        barred = [part.name for part in self.parts if part.is_excluded]
        allowed = [name for name in wanted if not any(_is_of(name, other) for other in barred)]
        return tuple(name for name in dict.fromkeys(allowed) if is_here(name, available))

    def missing(self, available: Sequence[str]) -> tuple[str, ...]:
        """Return the devices that it names and that aren't here."""
        wanted = [part.name for part in self.parts if not part.is_excluded]
        named = wanted if self.is_virtual else [self.kind]
        return tuple(name for name in named if not is_here(name, available))

    def resolved(self, available: Sequence[str]) -> str:
        """Return the text without the devices that aren't here.

        OpenVINO asks them all the same, and stops at one whose driver isn't there.
        """
        if self.kind not in ("AUTO", "MULTI"):
            return self.text
        left = [str(part) for part in self.parts if is_here(part.name, available)]
        return f"{self.kind}:{','.join(left)}" if left else self.kind


def read_target(device: str, model: str) -> Target:
    """Take a device's text apart.

    Raises:
        ModelError: It is no device's; the text says why.
    """
    text = "".join(device.upper().split())
    kind, colon, rest = text.partition(":")
    if not kind:
        raise ModelError(f"model {model}: the key device is empty: give CPU, GPU, NPU or AUTO")
    if kind not in VIRTUAL:
        if colon:
            raise ModelError(
                f"model {model}: device {device}: only {', '.join(VIRTUAL)} take a list of devices"
            )
        return Target(text, kind)
    parts = tuple(_read_part(word, device, model) for word in rest.split(",") if word)
    target = Target(text, kind, parts)
    complaint = _complaint(target)
    if complaint:
        raise ModelError(f"model {model}: device {device}: {complaint}")
    return target


def _read_part(word: str, device: str, model: str) -> Part:
    match = _PART.fullmatch(word)
    if match is None:
        raise ModelError(
            f"model {model}: device {device}: {word!r} is no device's name, such as CPU or GPU.1"
        )
    return Part(match["name"], bool(match["minus"]), match["count"] or "")


def _complaint(target: Target) -> str:
    """Return what is wrong with the list of a virtual device; empty if nothing is."""
    kind, parts = target.kind, target.parts
    nested = [part.name for part in parts if part.name in VIRTUAL]
    if nested:
        return f"{nested[0]} can't be a device of {kind}: name real ones, such as {kind}:CPU"
    if kind != "AUTO" and not parts:
        return f"{kind} needs its devices, such as {kind}:GPU,CPU"
    if kind == "BATCH" and len(parts) != 1:
        return "BATCH takes one device, such as BATCH:GPU or BATCH:GPU(8)"
    if kind != "AUTO" and any(part.is_excluded for part in parts):
        return f"only AUTO excludes devices by a minus: name those that {kind} is to use"
    if kind == "HETERO" and any(part.count for part in parts):
        return "a number behind a device means nothing to HETERO"
    if any(part.count.strip("()0") == "" for part in parts if part.count):
        return "the number behind a device must be at least 1"
    return ""


def is_here(name: str, available: Sequence[str]) -> bool:
    """Return True if a machine that lists these devices has the named one.

    Several of a kind are listed as ``GPU.0`` and ``GPU.1``, and ``GPU`` is the first of them; a
    lone one is listed without its number.
    """
    kind, dot, number = name.partition(".")
    if name in available:
        return True
    if not dot:
        return any(_is_of(other, kind) for other in available)
    return number == "0" and kind in available and kind != "CPU"


def _is_of(name: str, kind: str) -> bool:
    """Return True for GPU.1 of GPU, and for equal names."""
    return name == kind or name.startswith(f"{kind}.")
