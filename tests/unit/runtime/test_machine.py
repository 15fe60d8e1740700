from __future__ import annotations

import os

from vidpipe.runtime.machine import package_versions, this_machine


def test_the_machine_is_known() -> None:
    machine = this_machine()
    assert machine.cpu
    assert machine.cores == len(os.sched_getaffinity(0))
    assert machine.memory_mb > 64
    assert "Linux" in machine.system
    assert this_machine() == machine


def test_the_versions_of_what_decides_are_known() -> None:
    assert {"python", "openvino", "opencv", "pyav", "numpy"} <= package_versions().keys()
