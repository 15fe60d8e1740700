"""Signals while cores come and go; in a process of its own, which would die of a fault."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, environment
from tests.graphs import saved, ssd_rows

PROGRAM = """
import gc, os, signal, sys, threading
from pathlib import Path
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings

got = []
signal.signal(signal.SIGTERM, lambda *_: got.append(True))
held = []

def begin():
    held.append(compile_detector(Path(sys.argv[1]), DetectorSettings("tiny")))

def end():
    held.clear()
    gc.collect()

for make, drop in ((0, 1), (0, 0), (1, 1), (1, 0)):
    for work, is_elsewhere in ((begin, make), (begin, make), (end, drop)):
        thread = threading.Thread(target=work)
        thread.start() if is_elsewhere else work()
        thread.join() if is_elsewhere else None
    os.kill(os.getpid(), signal.SIGTERM)
print(len(got))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the plugin's own stack is Linux's")
def test_a_signal_is_handled_whichever_thread_lets_a_model_go(tmp_path: Path) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0.1, 0.1, 0.5, 0.5]]), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, model],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


def test_nobody_else_makes_a_core() -> None:
    homes = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "vidpipe").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Core"
    }
    assert homes == {"vidpipe/inference/cores.py"}
