"""Every sample runs: its own configuration on drawn scenes, a tiny model in place of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.command import ROOT, vidpipe
from tests.graphs import saved, ssd_rows

SAMPLES = sorted(path.parent.name for path in ROOT.glob("samples/*/config.yml"))


def test_there_are_samples_and_each_has_a_readme() -> None:
    assert {"first-run", "rtsp-cameras"} <= set(SAMPLES)
    for name in SAMPLES:
        assert (ROOT / "samples" / name / "README.md").read_text("utf-8").startswith("# ")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_runs(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "samples" / name, folder)
    for example in folder.glob("*.example"):
        shutil.copy(example, example.with_suffix(""))
    document = yaml.safe_load((folder / "config.yml").read_text("utf-8"))
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), tmp_path)
    changes = [f"models.{model_name}={{path: '{model}'}}" for model_name in document["models"]]
    streams = [stream["id"] for stream in document["streams"]]
    changes += [
        f"streams.{stream}.source=synthetic:people?size=320x240&seconds=2" for stream in streams
    ]
    arguments = [word for change in changes for word in ("--set", change)]

    done = vidpipe("run", folder / "config.yml", *arguments, cwd=tmp_path)

    assert done.code == 0, done.err
    for stream in streams:
        lines = (tmp_path / "out" / f"{stream}.jsonl").read_text("utf-8").splitlines()
        assert len(lines) >= 2 * 5
        assert json.loads(lines[0])["detections"][0]["score"] == pytest.approx(0.9, abs=1e-4)
        assert list((tmp_path / "out").glob(f"{stream}*.mp4"))


def test_the_first_run_counts_people(tmp_path: Path) -> None:
    lines = [
        {"pts": 0.0, "detections": [{"label": "person"}]},
        {"pts": 0.5, "detections": [{"label": "person"}, {"label": "person"}, {"label": "dog"}]},
        {"pts": 1.0, "detections": []},
    ]
    path = tmp_path / "hall.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    script = ROOT / "samples" / "first-run" / "run.py"
    printed = subprocess.run(
        [sys.executable, script, path], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in printed.splitlines()] == ["2", "0"]
