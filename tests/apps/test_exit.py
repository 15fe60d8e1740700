"""The end of a program that has used vidpipe: its own exit code, and nothing left on the device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.command import environment
from tests.graphs import saved, ssd_rows
from vidpipe import Pipeline
from vidpipe.inference.request import BoundRequest

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
RUNS = 12
AT_ONCE = 4
"""More than there are processors: the device's threads are held up where it matters."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "cameras.json"
    document = {
        "version": 1,
        "models": {"tiny": {"path": str(saved(ssd_rows([ROW]), tmp_path))}},
        "streams": [
            {"id": f"s{n}", "source": "synthetic:people?size=160x120&frames=20"} for n in range(2)
        ],
    }
    path.write_text(json.dumps(document))
    return path


def test_programs_that_run_a_pipeline_end_with_their_own_code(config: Path) -> None:
    program = f"from vidpipe import Pipeline; Pipeline({str(config)!r}).run(); raise SystemExit(5)"

    def run(_: int) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stderr

    with ThreadPoolExecutor(AT_ONCE) as threads:
        ends = list(threads.map(run, range(RUNS)))
    assert [code for code, _ in ends] == [5] * RUNS, ends


@pytest.mark.parametrize("is_run", [True, False])
def test_a_closed_pipeline_leaves_the_device_no_function_to_call(
    config: Path, monkeypatch: pytest.MonkeyPatch, *, is_run: bool
) -> None:
    made: list[BoundRequest] = []

    class Listed(BoundRequest):
        def set_callback(self, callback: Callable[[], None]) -> None:
            made.append(self)
            super().set_callback(callback)

    monkeypatch.setattr("vidpipe.inference.model.BoundRequest", Listed)
    pipeline = Pipeline(config)
    assert made
    assert not any(request.is_forgotten for request in made)
    if is_run:
        pipeline.run()
    else:
        pipeline.close()
    assert all(request.is_forgotten for request in made)
