"""OpenVINO reports nothing over the network."""

from __future__ import annotations

import subprocess
import sys

from tests.command import environment

PROGRAM = """
import sys
import vidpipe.inference.model
from openvino.tools.ovc import telemetry_utils
names = [name for name in sys.modules if name.startswith("openvino_telemetry.")]
print(telemetry_utils.tm.__name__, names)
"""


def test_openvino_does_not_report_its_import() -> None:
    env = environment()
    env.pop("CI", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split(maxsplit=1) == ["openvino.tools.ovc.telemetry_stub", "[]\n"]
