"""The stages alone, in a process of their own on tiny models and clips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.clips import ClipSpec, write_clip
from tests.command import write_config
from tests.graphs import saved, ssd_rows
from vidpipe.apps.bench.job import RunJob, Subject
from vidpipe.apps.bench.stages import measure_stages
from vidpipe.errors import UsageError

ROWS = np.array([[0, 1, 0.9, 0.1, 0.1, 0.5, 0.5], [0, 1, 0.8, 0.5, 0.5, 0.9, 0.9]], np.float32)
STAGES = ["decode", "resize", "inference", "boxes", "draw", "encode"]


def make_job(folder: Path, **stream: object) -> RunJob:
    """Return the order to run two streams of a small clip, each with two objects a frame."""
    clip = write_clip(folder / "clip.mp4", ClipSpec(frames=12, size_wh=(96, 64)))
    document = {
        "models": {"tiny": {"path": str(saved(ssd_rows(ROWS), folder)), "labels": ["a", "b"]}},
        "streams": [{"id": name, "source": str(clip), **stream} for name in ("gate", "dock")],
    }
    return RunJob(Subject(str(write_config(folder, document))))


def test_every_stage_is_measured_with_the_configurations_own_pictures(tmp_path: Path) -> None:
    stages = measure_stages(make_job(tmp_path), 0.05)
    assert [stage.name for stage in stages] == STAGES
    assert all(stage.cpu_ms > 0 and stage.fps > 0 for stage in stages)
    detail = {stage.name: stage.detail for stage in stages}
    assert detail["decode"] == "96x64 h264"
    assert detail["boxes"] == "tiny, 2.0 objects a frame"
    assert "96x64" in detail["encode"]
    assert [stage.is_floor for stage in stages].count(True) == 1


def test_what_no_output_asks_for_is_measured_and_is_no_floor(tmp_path: Path) -> None:
    stages = {stage.name: stage for stage in measure_stages(make_job(tmp_path), 0.05)}
    assert [name for name in STAGES if not stages[name].is_used] == ["draw", "encode"]
    assert not stages["encode"].is_floor


def test_a_video_output_is_measured_at_its_own_size_and_writes_nothing(tmp_path: Path) -> None:
    outputs = [{"type": "video", "path": str(tmp_path / "out" / "{stream}.mp4"), "scale": 0.5}]
    stages = {s.name: s for s in measure_stages(make_job(tmp_path, outputs=outputs), 0.05)}
    assert stages["encode"].is_used
    assert "48x32" in stages["encode"].detail
    assert not (tmp_path / "out").exists()


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    with pytest.raises(UsageError, match=r"clip\.mp4"):
        measure_stages(job, 0.05)
