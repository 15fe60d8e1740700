"""Samples of what can't be read as fast as it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from tests.file_server import FileServer, serving_files
from vidpipe.apps.bench.job import RunJob, Subject, derived_config
from vidpipe.apps.bench.samples import needs_sample, record_samples
from vidpipe.config.load import load_config
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError


def configured(folder: Path, *sources: str) -> Config:
    (folder / "m.xml").write_bytes(b"")
    streams = "".join(f"- {{id: s{n}, source: '{source}'}}\n" for n, source in enumerate(sources))
    text = f"version: 1\nmodels: {{person: {{path: m.xml}}}}\nstreams:\n{streams}"
    (folder / "c.yml").write_text(text, encoding="utf-8")
    return load_config(folder / "c.yml")


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "film.mp4", ClipSpec(frames=20))


def serve(server: FileServer, clip: Path) -> str:
    server.files["/film.mp4"] = clip.read_bytes()
    return f"{server.url}/film.mp4"


def test_only_what_can_not_be_read_again_is_recorded(tmp_path: Path, clip: Path) -> None:
    config = configured(
        tmp_path, str(clip), "synthetic:people", "rtsp://camera.example/1", "device:0"
    )
    assert [needs_sample(stream) for stream in config.streams] == [False, False, True, True]
    told: list[str] = []
    files = configured(tmp_path, str(clip))
    assert record_samples(files, tmp_path, 1.0, told.append).files == {}
    assert told == []


def test_a_sample_takes_the_place_of_its_source(tmp_path: Path, clip: Path) -> None:
    folder = tmp_path / "samples"
    folder.mkdir()
    with serving_files() as server:
        config = configured(tmp_path, serve(server, clip), str(clip))
        samples = record_samples(config, folder, 5.0, lambda _: None)
    assert list(samples.files) == ["s0"]
    assert samples.failures == {}
    subject = Subject(str(tmp_path / "c.yml"), samples=samples.files)
    first, second = derived_config(RunJob(subject)).streams
    assert Path(first.source).parent == folder
    assert (first.kind, first.loop) == ("file", True)
    assert second.source == str(clip)


def test_a_source_that_is_down_is_left_out_with_its_reason(tmp_path: Path, clip: Path) -> None:
    with serving_files() as server:
        good, bad = serve(server, clip), f"{server.url}/none.mp4"
        config = configured(tmp_path, good, bad)
        samples = record_samples(config, tmp_path, 5.0, lambda _: None)
    assert list(samples.files) == ["s0"]
    assert list(samples.failures) == ["s1"]
    assert "not this path" in samples.failures["s1"]


def test_nothing_to_measure_is_an_error_that_says_why(tmp_path: Path) -> None:
    with serving_files() as server:
        config = configured(tmp_path, f"{server.url}/none.mp4")
        with pytest.raises(UsageError, match="no stream can be measured: s0: "):
            record_samples(config, tmp_path, 5.0, lambda _: None)
