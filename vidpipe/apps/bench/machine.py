"""Where a bench runs: what a reader must know to make sense of its figures."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vidpipe.apps.bench.rows import Machine
from vidpipe.version import __version__

_PACKAGES = {"openvino": "openvino", "av": "av", "opencv": "opencv-python", "numpy": "numpy"}


def this_machine() -> Machine:
    """Return what is known of this machine; empty or 0 where the system doesn't say."""
    cores = len(os.sched_getaffinity(0))
    return Machine(
        cpu=_cpu_name(),
        cores=cores,
        memory_mb=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
        system=_system_name(),
        versions={"vidpipe": __version__, "python": platform.python_version(), **_versions()},
        load=round(os.getloadavg()[0] / cores, 2),
    )


def machine_line(machine: Machine) -> str:
    """Return the line under which figures may be quoted."""
    busy = f", load {machine.load:g} a core before the start" if machine.load > 0.2 else ""
    return (
        f"{machine.cpu or 'unknown CPU'}, {machine.cores} cores, {machine.memory_mb / 1024:.0f} GB,"
        f" {machine.system}, OpenVINO {machine.versions.get('openvino', '?')}{busy}"
    )


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.processor()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Hardware", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def _system_name() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    return f"{name}, {platform.system()} {platform.release()}".lstrip(", ")


def _versions() -> dict[str, str]:
    found = {}
    for name, package in _PACKAGES.items():
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            continue  # another build of it, under another name
    return found
