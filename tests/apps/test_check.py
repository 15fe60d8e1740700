"""``vidpipe check`` as an operator has it: what is wrong, before anything runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command import vidpipe, write_config
from tests.graphs import saved, ssd_rows
from vidpipe.apps.check import check_config
from vidpipe.config.load import load_config_mapping

MISSPELT = {
    "models": {"person": {"zoo": "person-ssdlit"}},
    "streams": [{"id": "a", "source": "synthetic:blank?size=64x64&frames=5"}],
}


@pytest.mark.parametrize("options", [(), ("--no-probe",)])
def test_a_name_that_the_zoo_does_not_know_is_a_fault(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = vidpipe("check", write_config(tmp_path, MISSPELT), *options, cwd=tmp_path)
    assert done.code in (1, 2), done.err
    assert "did you mean person-ssdlite?" in " ".join((done.out + done.err).split())


def test_a_program_is_told_of_a_model_that_the_zoo_does_not_know(tmp_path: Path) -> None:
    done = vidpipe("check", write_config(tmp_path, MISSPELT), "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    (model,) = json.loads(done.out)["models"]
    assert "did you mean person-ssdlite?" in model["error"]


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_says_in_plain_words_what_answered(tmp_path: Path, columns: int) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = {
        "models": {"tiny": {"path": model.name}},
        "streams": [
            {"id": "good", "source": "synthetic:blank?size=64x64&frames=5"},
            {"id": "bad", "source": "rtsp://no-such-host.invalid/cam"},
        ],
    }
    done = vidpipe(
        "check",
        write_config(tmp_path, config),
        cwd=tmp_path,
        environ={"COLUMNS": str(columns)},
    )
    assert done.code == 1, done.err
    assert re.search(r"good\W.*\Wok\W", done.out)
    assert re.search(r"tiny\W.*\Wok\W", done.out)
    assert re.search(r"bad\W.*\Wname\W", done.out)
    assert "bad: rtsp://no-such-host.invalid/cam: its host name can't be resolved" in done.out
    assert "[green]" not in done.out
    assert max(map(len, done.out.split("models")[0].splitlines())) <= columns


@pytest.mark.parametrize("options", [(), ("--no-probe",)])
def test_what_is_to_be_known_of_a_device_is_a_warning(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = {
        "models": {"tiny": {"path": model.name, "device": "MULTI:CPU", "hint": "latency"}},
        "streams": [{"id": "a", "source": "synthetic:blank?size=64x64&frames=5"}],
    }
    done = vidpipe("check", write_config(tmp_path, config), *options, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "warning: model tiny: MULTI:CPU runs several inferences" in done.out
    assert "never latency" in done.out


def test_a_device_or_an_override_that_is_not_here_is_found(tmp_path: Path) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = {
        "models": {
            "one": {"path": model.name, "device": "HETERO:CPU"},
            "two": {"path": model.name, "device": "GPU.7"},
            "three": {"path": model.name, "threads": 1000},
        },
        "streams": [
            {"id": name, "model": name, "source": "synthetic:blank?size=64x64&frames=5"}
            for name in ("one", "two", "three")
        ],
    }
    done = vidpipe("check", write_config(tmp_path, config), "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    one, two, three = json.loads(done.out)["models"]
    assert "operators, 0 values handed over" in one["summary"]
    assert "no device 'GPU.7'" in two["error"]
    assert "threads is 1000, and device CPU has" in three["error"]


@pytest.mark.parametrize("device", ["CPU", "AUTO:CPU"])
def test_a_value_that_the_device_refuses_is_found_before_the_run(
    tmp_path: Path, device: str
) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    refused = {"INFERENCE_NUM_THREADS": -5}
    taken = {"PERF_COUNT": True, "CACHE_DIR": str(tmp_path / "compiled")}
    config = {
        "models": {
            "one": {"path": model.name, "device": device, "properties": refused},
            "two": {"path": model.name, "device": device, "properties": taken},
        },
        "streams": [
            {"id": name, "model": name, "source": "synthetic:blank?size=64x64&frames=5"}
            for name in ("one", "two")
        ],
    }
    done = vidpipe("check", write_config(tmp_path, config), "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    one, two = json.loads(done.out)["models"]
    assert "INFERENCE_NUM_THREADS" in one["error"]
    assert two["error"] is None
    assert not (tmp_path / "compiled").exists()


def test_a_stretched_model_that_is_to_fit_its_streams_is_found(tmp_path: Path) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = {
        "models": {"tiny": {"path": model.name, "input": {"fit": "streams"}}},
        "streams": [{"id": "a", "source": "synthetic:blank?size=64x64&frames=5"}],
    }
    done = vidpipe("check", write_config(tmp_path, config), "--json", cwd=tmp_path)
    assert done.code == 1, done.err
    (tiny,) = json.loads(done.out)["models"]
    assert "trained on stretched ones" in tiny["error"]


def test_why_a_model_fails_stands_below_the_table(tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("no model")
    (tmp_path / "bad.bin").write_text("")
    config = {
        "models": {"tiny": {"path": "bad.xml"}},
        "streams": [{"id": "good", "source": "synthetic:blank?size=64x64&frames=5"}],
    }
    done = vidpipe("check", write_config(tmp_path, config), cwd=tmp_path)
    assert done.code == 1, done.err
    assert re.search(r"tiny\W.*\Wfailed\W", done.out)
    (line,) = [line for line in done.out.splitlines() if "can't be read" in line]
    assert line.startswith("model tiny: ")


def test_a_model_in_the_cache_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = saved(ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]]), tmp_path)
    config = load_config_mapping(
        {
            "version": 1,
            "models": {"tiny": {"zoo": "person-ssdlite"}},
            "streams": [{"id": "good", "source": "synthetic:blank?size=64x64&frames=5"}],
        }
    )
    (found,) = check_config(config, should_probe=True).models
    assert found.summary == "person-ssdlite of the zoo, fetched at the first run"
    monkeypatch.setattr("vidpipe.apps.check.is_fetched", lambda *_: True)
    monkeypatch.setattr("vidpipe.apps.check.model_file", lambda *_: model)
    (found,) = check_config(config, should_probe=True).models
    assert found.summary == "person-ssdlite of the zoo: ssd, 32x24"
