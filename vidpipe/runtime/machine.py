"""The machine that vidpipe runs on, as far as the system tells."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_CPU_KEYS = ("model name", "Hardware", "cpu model")
_PACKAGES = {
    "openvino": ("openvino",),
    "opencv": (
        "opencv-python-headless",
        "opencv-python",
        "opencv-contrib-python-headless",
        "opencv-contrib-python",
    ),
    "pyav": ("av",),
    "numpy": ("numpy",),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What tells one machine from another.

    Attributes:
        cpu: The processor's name.
        cores: How many of its cores this process may use: a container's share.
        memory_mb: The machine's memory in MiB.
        system: The operating system and its kernel.
    """

    cpu: str
    cores: int
    memory_mb: int
    system: str


def this_machine() -> Machine:
    """Return what is known of this machine."""
    return Machine(
        cpu=_cpu_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_mb=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
        system=_system_name(),
    )


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide about results and speed."""
    found = {"python": platform.python_version()}
    for name, packages in _PACKAGES.items():
        for package in packages:
            try:
                found[name] = version(package)
            except PackageNotFoundError:
                continue
            break
    return found


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in _CPU_KEYS and value.strip():
            return value.strip()
    return platform.processor() or platform.machine()


def _system_name() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    return f"{name}, {platform.system()} {platform.release()}".lstrip(", ")
