from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.config_files import load, one_model
from vidpipe.apps.deployment import Deployment
from vidpipe.apps.manifest import ManifestError, read_manifest, write_manifest
from vidpipe.errors import UsageError

OVERRIDE = {"value": 4, "hint": "throughput", "chosen": "2", "runtime": "4"}


def models(streams: str = "2", **more: Any) -> dict[str, dict[str, Any]]:
    return {"person": {"runtime": {"num_streams": streams}, "overrides": {}, **more}}


def deployment(path: Path | None, keys: str = "", *, is_strict: bool = False) -> Deployment:
    telemetry = f"telemetry: {{manifest: '{path}'}}\n" if path else ""
    return Deployment(load(one_model(keys) + telemetry), is_strict=is_strict)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "manifest.json"


def test_the_first_start_writes_and_says_so(path: Path, log_lines: list[str]) -> None:
    deployment(path).begin(models())
    assert read_manifest(path)["models"]["person"]["runtime"]["num_streams"] == "2"
    assert [line for line in log_lines if "no earlier manifest" in line]
    assert not any("WARNING" in line for line in log_lines)


def test_the_same_again_says_nothing(path: Path, log_lines: list[str]) -> None:
    deployment(path).begin(models())
    log_lines.clear()
    deployment(path, is_strict=True).begin(models())
    assert log_lines == []


def test_what_is_new_is_told_before_it_is_overwritten(path: Path, log_lines: list[str]) -> None:
    deployment(path).begin(models())
    deployment(path).begin(models("1"))
    line = "WARNING {} since the last start: models.person.runtime.num_streams: 2 -> 1"
    assert line in log_lines
    assert read_manifest(path)["models"]["person"]["runtime"]["num_streams"] == "1"


def test_a_strict_start_refuses_and_leaves_the_manifest(path: Path, log_lines: list[str]) -> None:
    deployment(path).begin(models())
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"1 difference.*num_streams: 2 -> 1"):
        deployment(path, is_strict=True).begin(models("1"))
    assert path.read_bytes() == before
    assert any("since the last start" in line for line in log_lines)


def test_a_strict_start_needs_a_manifest_to_compare_with() -> None:
    with pytest.raises(UsageError, match=r"telemetry\.manifest"):
        deployment(None, is_strict=True)


def test_a_strict_first_start_has_nothing_to_refuse(path: Path) -> None:
    deployment(path, is_strict=True).begin(models())
    assert path.exists()


def test_what_is_no_manifest_is_told_and_kept(path: Path, log_lines: list[str]) -> None:
    path.write_text("the only copy of something")
    with pytest.raises(UsageError, match="no manifest"):
        deployment(path, is_strict=True).begin(models())
    assert path.read_text() == "the only copy of something"
    deployment(path).begin(models())
    assert any("no manifest" in line for line in log_lines)
    assert (path.parent / "manifest.json.damaged").read_text() == "the only copy of something"
    read_manifest(path)


def test_a_folder_in_the_place_of_the_manifest_is_refused_and_stays(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "gate.mp4").write_bytes(b"a day's work")
    with pytest.raises(ManifestError, match=r"is a folder: let telemetry\.manifest name a file"):
        deployment(path).begin(models())
    assert (path / "gate.mp4").read_bytes() == b"a day's work"


def test_without_a_manifest_overrides_and_rules_are_told_all_the_same(
    log_lines: list[str],
) -> None:
    keys = "device: 'MULTI:CPU', hint: latency"
    deployment(None, keys).begin(models(overrides={"num_streams": OVERRIDE}))
    told = "\n".join(log_lines)
    assert "adds throughput, never latency" in told
    assert "hint throughput would choose 2; 4 is kept" in told
    assert "in force on this machine" in told


def test_an_override_from_another_machine_is_told_louder(path: Path, log_lines: list[str]) -> None:
    known = models(overrides={"num_streams": OVERRIDE})
    deployment(path).begin(known)
    document = json.loads(path.read_text())
    document["models"]["person"]["overrides"]["num_streams"]["machine"] = {
        "cpu": "Another CPU",
        "cores": 96,
    }
    write_manifest(path, document)
    for _ in range(2):
        log_lines.clear()
        deployment(path).begin(known)
        loud = [line for line in log_lines if line.startswith("ERROR")]
        assert len(loud) == 1
        assert "measured on another machine (Another CPU, 96 cores;" in loud[0]
        assert "vidpipe bench" in loud[0]


def test_new_answers_are_written_while_it_runs(path: Path, log_lines: list[str]) -> None:
    running = deployment(path)
    running.update(models("9"))
    assert not path.exists()
    running.begin(models(overrides={"num_streams": OVERRIDE}))
    first = path.read_bytes()
    running.update(models(overrides=None))
    assert path.read_bytes() == first
    running.update(models("1", overrides=None))
    person = read_manifest(path)["models"]["person"]
    assert person["runtime"]["num_streams"] == "1"
    assert person["overrides"]["num_streams"]["value"] == 4
    assert any("has changed: models.person.runtime.num_streams: 2 -> 1" in x for x in log_lines)


def test_an_update_that_cannot_be_written_stops_nothing(path: Path, log_lines: list[str]) -> None:
    running = deployment(path)
    running.begin(models())
    path.unlink()
    path.mkdir()
    running.update(models("1"))
    assert any(line.startswith("ERROR") and "can't be written" in line for line in log_lines)
