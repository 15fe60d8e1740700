"""Where a bench runs: what a reader must know to make sense of its figures."""

from __future__ import annotations

import os

from vidpipe.apps.bench.rows import Machine
from vidpipe.runtime.machine import package_versions, this_machine
from vidpipe.version import __version__


def benched_machine() -> Machine:
    """Return what is known of this machine, and what else it is doing now."""
    machine, versions = this_machine(), package_versions()
    if "pyav" in versions:
        versions["av"] = versions.pop("pyav")  # as the report calls it
    return Machine(
        cpu=machine.cpu,
        cores=machine.cores,
        memory_mb=machine.memory_mb,
        system=machine.system,
        versions={"vidpipe": __version__, **versions},
        load=round(os.getloadavg()[0] / machine.cores, 2),
    )


def machine_line(machine: Machine) -> str:
    """Return the line under which figures may be quoted."""
    busy = f", load {machine.load:g} a core before the start" if machine.load > 0.2 else ""
    return (
        f"{machine.cpu or 'unknown CPU'}, {machine.cores} cores, {machine.memory_mb / 1024:.0f} GB,"
        f" {machine.system}, OpenVINO {machine.versions.get('openvino', '?')}{busy}"
    )
