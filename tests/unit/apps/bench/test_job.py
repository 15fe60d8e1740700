"""The configuration that really runs for a point."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.bench.job import RunJob, Subject, derived_config, job_from_json
from vidpipe.errors import ConfigError

TEXT = """
version: 1
models:
  person.v2: {path: m.xml}
  unused: {path: n.xml}
telemetry: {log_file: x.log}
defaults: {model: person.v2}
streams:
- id: gate
  source: rtsp://user:geheim@camera.example/1
  detect_fps: 5
  lane: {size: 1, max_age_ms: 100}
  outputs: [{type: video, path: "out/{stream}.mp4", scale: 0.5}]
- id: film
  source: film.mp4
  lane: {size: 7}
  outputs: [{type: jsonl, path: "out/{stream}.jsonl"}]
"""


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    for name in ("m.xml", "n.xml", "film.mp4"):
        (tmp_path / name).write_bytes(b"")
    path = tmp_path / "c.yml"
    path.write_text(TEXT, encoding="utf-8")
    return Subject(str(path), samples={"gate": "/samples/0.mkv"})


def test_sources_are_looped_as_fast_as_they_go_and_cameras_are_samples(subject: Subject) -> None:
    gate, film = derived_config(RunJob(subject)).streams
    assert gate.source == "/samples/0.mkv"
    assert Path(film.source).name == "film.mp4"
    for stream in (gate, film):
        assert (stream.loop, stream.realtime, stream.lane.overflow) == (True, False, "block")
        assert stream.outputs == ()
    assert gate.lane.size is None, "what is right for a camera is not for a file"
    assert gate.lane.max_age_ms is None
    assert film.lane.size == 7
    assert gate.detect_fps == 5


def test_at_the_pace_of_the_source_a_camera_keeps_its_lane(subject: Subject) -> None:
    gate, film = derived_config(RunJob(subject, pace="source")).streams
    assert (gate.realtime, gate.lane.size, gate.lane.max_age_ms) == (True, 1, 100)
    assert film.realtime


def test_settings_are_those_of_every_model_in_use(subject: Subject) -> None:
    config = derived_config(RunJob(subject, {"requests": 3, "hint": "latency"}))
    model = config.models["person.v2"]
    assert (model.requests, model.hint) == (3, "latency")
    assert config.models["unused"].requests == "auto"


def test_a_setting_is_checked_as_if_it_stood_in_the_file(subject: Subject) -> None:
    with pytest.raises(ConfigError, match="hint"):
        derived_config(RunJob(subject, {"hint": "fast"}))


def test_streams_are_repeated_in_turn_under_names_of_their_own(subject: Subject) -> None:
    config = derived_config(RunJob(subject, {"streams": 5}))
    assert [s.id for s in config.streams] == ["gate-1", "film-2", "gate-3", "film-4", "gate-5"]
    assert len(derived_config(RunJob(subject, {"streams": 1})).streams) == 1


def test_streams_without_a_sample_are_left_out(subject: Subject) -> None:
    less = Subject(subject.config, left_out=("gate",))
    assert [stream.id for stream in derived_config(RunJob(less)).streams] == ["film"]


def test_outputs_go_to_a_folder_of_the_bench(subject: Subject) -> None:
    working = Subject(subject.config, samples=subject.samples, with_outputs=True)
    gate, film = derived_config(RunJob(working, folder="/scratch")).streams
    for stream in (gate, film):
        (output,) = stream.outputs
        assert str(getattr(output, "path", "")).startswith("/scratch/")
        assert output.lane.overflow == "block"
    assert getattr(gate.outputs[0], "scale", None) == 0.5


def test_nothing_else_of_the_configuration_is_touched_by_a_run(subject: Subject) -> None:
    config = derived_config(RunJob(subject))
    assert config.telemetry.log_file is None
    assert config.server is None
    assert config.workers == 1


def test_an_order_survives_its_journey(subject: Subject) -> None:
    job = RunJob(
        Subject(subject.config, ("a=1",), {"gate": "x"}, with_outputs=True, left_out=("b",)),
        {"requests": 3, "hint": "latency"},
        pace="source",
        seconds=1.5,
        warmup_s=0.25,
        folder="/scratch",
    )
    assert "\n" not in job.to_json()
    assert job_from_json(job.to_json()) == job


def test_an_order_holds_no_password(subject: Subject) -> None:
    assert "geheim" not in RunJob(subject).to_json()
