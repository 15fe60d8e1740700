"""The command line answers at once: what is heavy is loaded by the command that needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# A third of a second and more for some of these; which were loaded is the same on every machine,
# the time is not.
HEAVY = ("openvino", "cv2", "av", "numpy", "pydantic", "yaml", "PIL")

# typer itself loads pydantic, where it is installed, as soon as it parses an option.
TYPER_LOADS = ["pydantic"]

ASK = f"""
import json, sys
sys.argv = ["vidpipe", *sys.argv[1:]]
code = 0
try:
    from vidpipe.apps.cli import main
    if sys.argv[1:]:
        main()
except SystemExit as stop:
    code = stop.code
print(json.dumps([code or 0, sorted(set({HEAVY!r}) & set(sys.modules))]))
"""


@pytest.mark.parametrize(
    ("words", "bearable"),
    [([], []), (["--help"], []), (["--version"], TYPER_LOADS), (["run", "--help"], TYPER_LOADS)],
)
def test_the_command_line_answers_without_loading_a_heavy_library(
    words: list[str], bearable: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    assert set(loaded) <= set(bearable)
