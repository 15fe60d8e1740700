"""What `vidpipe bench` says of inference alone is what OpenVINO's own benchmark_app says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import write_config
from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.apps.bench.stages import measure_stages

ROUNDS = 5
SECONDS = 6.0
DATA = os.environ.get("VIDPIPE_TEST_DATA")
MODELS = ("person-vehicle-bike-detection-2000", "person-vehicle-bike-detection-crossroad-0078")


def speed_by_openvino(model: Path, requests: int, folder: Path) -> float:
    """Return benchmark_app's inferences a second, set as vidpipe sets its pool.

    Asynchronous with as many requests, 8-bit pictures as input, and no pinning.
    """
    properties = folder / "properties.json"  # its own option for pinning excludes hints
    properties.write_text('{"CPU": {"ENABLE_CPU_PINNING": false}}', encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from openvino.tools.benchmark.main import main; main()"),
            *("-m", str(model), "-d", "CPU", "-hint", "throughput", "-api", "async"),
            *("-nireq", str(requests), "-ip", "u8", "-t", f"{SECONDS:.0f}"),
            *("-load_config", str(properties)),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"Throughput:\s+([0-9.]+) FPS", done.stdout)
    assert found, done.stdout
    return float(found[1])


def speed_by_vidpipe(config: Path) -> tuple[float, int]:
    """Return the inference stage's frames a second, and its requests."""
    stages = {stage.name: stage for stage in measure_stages(RunJob(Subject(str(config))), SECONDS)}
    inference = stages["inference"]
    found = re.search(r"([0-9]+) requests", inference.detail)
    assert found, inference.detail
    return inference.fps, int(found[1])


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.timeout(900)
@pytest.mark.skipif(not DATA, reason="VIDPIPE_TEST_DATA is not set")
@pytest.mark.parametrize("name", MODELS)
def test_inference_alone_is_as_quick_as_by_benchmark_app(tmp_path: Path, name: str) -> None:
    model = Path(str(DATA)) / "models" / name / f"{name}.xml"
    clip = write_clip(tmp_path / "clip.mp4", ClipSpec(frames=25, size_wh=(640, 360)))
    document = {
        "models": {"person": {"path": str(model)}},
        "streams": [{"id": "a", "source": str(clip)}],
    }
    config = write_config(tmp_path, document)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        fps, requests = speed_by_vidpipe(config)
        ours.append(fps)
        theirs.append(speed_by_openvino(model, requests, tmp_path))
    ratio = median(ours) / median(theirs)
    assert 0.9 <= ratio <= 1.1, f"vidpipe {ours}, benchmark_app {theirs}"
