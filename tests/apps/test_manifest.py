"""The deployment record as an operator has it: written, compared, and insisted upon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Finished, vidpipe, write_config
from tests.graphs import saved, ssd_rows

ROW = [0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]
SOURCE = "synthetic:blank?size=64x64&frames=5"
MANIFEST = "out/manifest.json"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(ssd_rows([ROW]), tmp_path)


def run(
    folder: Path, model: Path, *options: str, keys: dict[str, Any] | None = None, **more: Any
) -> Finished:
    document = {
        "models": {"tiny": {"path": str(model), **(keys or {})}},
        "streams": [{"id": "gate", "source": SOURCE}],
        "telemetry": {"manifest": MANIFEST},
        "cache_dir": str(folder / "cache"),
        **more,
    }
    return vidpipe("run", write_config(folder, document), *options, cwd=folder)


def written(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return document


def test_a_run_writes_what_the_runtime_made_of_it(tmp_path: Path, model: Path) -> None:
    done = run(tmp_path, model, keys={"hint": "latency"})
    assert done.code == 0, done.err
    tiny = written(tmp_path)["models"]["tiny"]
    assert tiny["path"] == str(model)
    assert set(tiny["sha256"]) == {"tiny.xml", "tiny.bin"}
    assert tiny["input"]["shape"] == [1, 24, 32, 3]
    assert tiny["input"]["element_type"] == "u8"
    assert tiny["device"] == "CPU"
    assert tiny["device_names"]["CPU"]
    assert (tiny["call"], tiny["hint"], tiny["mode"]) == ("async", "latency", "shared")
    assert tiny["requests"] >= 1
    assert tiny["batch"] == 1
    assert tiny["runtime"]["performance_hint"] == "LATENCY"
    assert int(tiny["runtime"]["num_streams"]) >= 1
    assert written(tmp_path)["streams"]["gate"]["source"] == SOURCE


def test_the_second_start_comes_from_the_cache_and_finds_nothing_new(
    tmp_path: Path, model: Path
) -> None:
    first = run(tmp_path, model)
    assert "no earlier manifest" in first.err
    assert "from the cache" not in first.err
    second = run(tmp_path, model, "--strict-manifest")
    assert second.code == 0, second.err
    assert "from the cache" in second.err
    assert "since the last start" not in second.err


def test_a_strict_start_refuses_another_model_without_starting(tmp_path: Path, model: Path) -> None:
    run(tmp_path, model)
    before = (tmp_path / MANIFEST).read_bytes()
    saved(ssd_rows([ROW, ROW]), tmp_path)
    outputs = {"defaults": {"outputs": [{"type": "jsonl", "path": "out/x.jsonl"}]}}
    refused = run(tmp_path, model, "--strict-manifest", **outputs)
    assert refused.code == 2
    assert "since the last start: models.tiny.sha256.tiny.bin: " in refused.err
    assert "vidpipe: " in refused.err.splitlines()[-1]
    assert (tmp_path / MANIFEST).read_bytes() == before
    assert not (tmp_path / "out" / "x.jsonl").exists()
    accepted = run(tmp_path, model, **outputs)
    assert accepted.code == 0, accepted.err
    assert run(tmp_path, model, "--strict-manifest", **outputs).code == 0


def test_strictness_without_a_manifest_is_a_usage_error(tmp_path: Path, model: Path) -> None:
    done = run(tmp_path, model, "--strict-manifest", telemetry={})
    assert done.code == 2
    assert "telemetry.manifest" in done.err


def test_an_override_is_told_with_the_hint_that_it_overrides(tmp_path: Path, model: Path) -> None:
    done = run(tmp_path, model, keys={"pinning": True})
    assert done.code == 0, done.err
    assert "model tiny: pinning: hint throughput would choose False; True is kept" in done.err
    override = written(tmp_path)["models"]["tiny"]["overrides"]["pinning"]
    assert override["machine"]["cores"] == written(tmp_path)["machine"]["cores"]


def test_a_device_that_is_not_here_stops_the_start(tmp_path: Path, model: Path) -> None:
    done = run(tmp_path, model, keys={"device": "HETERO:GPU.7,CPU"})
    assert done.code == 2
    assert "there is no device 'GPU.7' on this machine; available:" in done.err
    assert not (tmp_path / MANIFEST).exists()


def test_no_secret_reaches_the_manifest(tmp_path: Path, model: Path) -> None:
    source = "rtsp://admin:s3cret-word@127.0.0.1:1/x"
    streams = [{"id": "gate", "source": source}, {"id": "file", "source": SOURCE}]
    run(tmp_path, model, "--duration", "0.2", streams=streams)
    text = (tmp_path / MANIFEST).read_text()
    assert "s3cret-word" not in text
    assert "127.0.0.1" in text


def test_two_manifests_are_compared_key_by_key(tmp_path: Path, model: Path) -> None:
    run(tmp_path, model)
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    document = written(tmp_path)
    one.write_text(json.dumps(document))
    document["models"]["tiny"]["runtime"]["num_streams"] = "7"
    document["written"] = "2031-01-01T00:00:00Z"
    other.write_text(json.dumps(document))

    same = vidpipe("manifest", "diff", one, one, cwd=tmp_path)
    assert (same.code, same.out) == (0, "")
    new = vidpipe("manifest", "diff", one, other, cwd=tmp_path)
    assert new.code == 1
    assert new.out.startswith("models.tiny.runtime.num_streams: ")
    assert new.out.endswith(" -> 7\n")
    machine = vidpipe("manifest", "diff", one, other, "--json", cwd=tmp_path)
    assert machine.code == 1
    (difference,) = json.loads(machine.out)
    assert difference["key"] == "models.tiny.runtime.num_streams"
    assert difference["after"] == "7"


@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_what_cannot_be_compared_is_an_error(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "m.json"
    if content is not None:
        file.write_text(content)
    done = vidpipe("manifest", "diff", file, file, cwd=tmp_path)
    assert done.code == 2
    assert "manifest" in done.err
    assert done.out == ""
