from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command import vidpipe, write_config
from tests.graphs import fixed_outputs, saved, ssd_rows
from tests.layers import brightness
from vidpipe.apps.modeltables import info_lines

HERE = ("--cache-dir", "cache")


def read_json(text: str) -> Any:
    return json.loads(text)


@pytest.fixture
def data() -> Path:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if folder is None:
        pytest.skip("VIDPIPE_TEST_DATA names no folder of real models")
    return Path(folder)


def test_the_list_fits_a_terminal_and_names_every_model(tmp_path: Path) -> None:
    listed = vidpipe("models", "list", *HERE, cwd=tmp_path)
    assert listed.code == 0
    lines = listed.out.splitlines()
    assert max(map(len, lines)) <= 80
    names = [entry["name"] for entry in read_json(as_json(tmp_path).out)]
    assert len(names) > 40
    assert [name for name in names if not re.search(rf"^{name} ", listed.out, re.MULTILINE)] == []


def as_json(folder: Path, *words: str) -> Any:
    return vidpipe("models", "list", *words, "--json", *HERE, cwd=folder)


def test_the_list_for_programs_says_what_the_catalogue_says(tmp_path: Path) -> None:
    (entry,) = read_json(as_json(tmp_path, "crossroad-0078", "int8").out)
    assert entry["name"] == "person-vehicle-bike-detection-crossroad-0078-int8"
    assert entry["task"] == "detection"
    assert entry["classes"] == ["person", "vehicle", "bike"]
    assert entry["labels"] == {"1": "person", "2": "vehicle", "3": "bike"}
    assert entry["licence"] == "Apache-2.0"
    assert entry["source"].startswith("https://storage.openvinotoolkit.org/")
    assert entry["bytes"] == sum(file["bytes"] for file in entry["files"])
    assert [len(file["sha256"]) for file in entry["files"]] == [64, 64]
    assert entry["input"]["size"] == [1024, 1024]
    assert (entry["input"]["color"], entry["input"]["resize"]) == ("bgr", "stretch")
    assert entry["path"] is None


def test_the_list_is_narrowed_by_words_and_task(tmp_path: Path) -> None:
    found = vidpipe("models", "list", "face", "fp32", *HERE, cwd=tmp_path)
    assert re.findall(r"^face\S+", found.out, re.MULTILINE) == [
        "face-detection-retail-0004-fp32",
        "face-detection-retail-0005-fp32",
    ]
    nothing = vidpipe("models", "list", "zebra", *HERE, cwd=tmp_path)
    assert (nothing.code, nothing.out) == (2, "")
    other = vidpipe("models", "list", "--task", "poetry", *HERE, cwd=tmp_path)
    assert other.code == 2
    assert "there is detection" in other.err


def test_an_unknown_name_is_a_usage_error_with_a_suggestion(tmp_path: Path) -> None:
    for command in ("get", "info"):
        wrong = vidpipe("models", command, "person-ssdlight", *HERE, cwd=tmp_path)
        assert (wrong.code, wrong.out) == (2, "")
        assert "did you mean person-ssdlite" in wrong.err


def test_a_place_without_the_model_is_an_error(tmp_path: Path) -> None:
    words = ("get", "face-detection-0200", "--from", str(tmp_path), *HERE)
    wrong = vidpipe("models", *words, cwd=tmp_path)
    assert (wrong.code, wrong.out) == (1, "")
    assert "has no face-detection-0200.xml" in wrong.err


def test_a_file_is_described_for_people_and_for_programs(tmp_path: Path) -> None:
    graph = ssd_rows([[0, 1, 0.9, 0, 0, 1, 1]] * 3)
    graph.set_rt_info("cat dog", ["model_info", "labels"])
    saved(graph, tmp_path)
    shown = vidpipe("models", "info", "tiny.xml", cwd=tmp_path)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines == [line.rstrip() for line in lines]
    assert sum(line.startswith("family") for line in lines) == 1  # in a pipe a line a fact
    for words in ("image [1,3,24,32] f32", "0 cat, 1 dog", "stretched to 32x24; BGR", "ssd:"):
        assert words in shown.out
    told = vidpipe("models", "info", "tiny.xml", "--json", "--measure", cwd=tmp_path)
    about = read_json(told.out)
    assert about["family"] == "ssd"
    assert about["labels"] == ["cat", "dog"]
    assert about["classes"] == {"0": "cat", "1": "dog"}
    assert about["input"]["size"] == [32, 24]
    assert about["zoo"] is None
    assert about["measured"]["inferences_per_s"] > 0


@pytest.mark.parametrize("name", ["none.xml", "folder/none", "."])
def test_what_is_no_model_is_an_error(tmp_path: Path, name: str) -> None:
    wrong = vidpipe("models", "info", name, *HERE, cwd=tmp_path)
    assert (wrong.code, wrong.out) == (2, "")
    assert "Traceback" not in wrong.err


@pytest.mark.realdata
def test_a_real_model_comes_from_a_folder_and_is_known(tmp_path: Path, data: Path) -> None:
    name = "person-vehicle-bike-detection-2000-int8"
    place = ("--from", str(data / "models"))
    got = vidpipe("models", "get", name, *place, *HERE, cwd=tmp_path)
    assert got.code == 0
    path = tmp_path / got.out.strip()
    assert path.name == "person-vehicle-bike-detection-2000.xml"
    assert path.is_file()
    about = read_json(vidpipe("models", "info", name, "--json", *HERE, cwd=tmp_path).out)
    assert about["zoo"]["name"] == name
    assert about["labels"] == ["vehicle", "person", "bike"]
    assert about["precision"] == "INT8"
    assert about["gflops"] == pytest.approx(about["zoo"]["gflops"], rel=0.1)
    listed = vidpipe("models", "list", name, *HERE, cwd=tmp_path)
    assert f"{name} *" in listed.out


@pytest.mark.parametrize("device", ["CPU", "HETERO:CPU"])
def test_what_becomes_of_a_model_on_a_device_is_told(tmp_path: Path, device: str) -> None:
    path = saved(brightness(), tmp_path)
    done = vidpipe("models", "info", path, "--device", device, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    report = read_json(done.out)["device"]
    assert report["device"] == device
    assert report["layers"][0]["ms"] > 0
    assert report["splits"] == 1
    assert (report["placement"] is None) == (device == "CPU")
    shown = vidpipe("models", "info", path, "--device", device, cwd=tmp_path)
    assert re.search(r"layers +[0-9]+ layers, [0-9.]+ ms altogether", shown.out)
    assert ("operators " in shown.out) == (device != "CPU")


def test_a_device_that_is_not_here_is_an_error_that_lists_those_that_are(tmp_path: Path) -> None:
    path = saved(brightness(), tmp_path)
    done = vidpipe("models", "info", path, "--device", "HETERO:GPU.7,CPU", cwd=tmp_path)
    assert done.code == 2
    assert "available: " in done.err


def test_what_is_wrong_with_the_labels_is_told_once(tmp_path: Path) -> None:
    graph = fixed_outputs({"out": np.zeros((1, 84, 8400), np.float32)}, shape=(1, 3, 640, 640))
    graph.set_rt_info("cat dog", ["model_info", "labels"])
    saved(graph, tmp_path)
    shown = vidpipe("models", "info", "tiny.xml", cwd=tmp_path)
    assert shown.code == 0
    assert shown.out.count("complaint") == 1
    assert shown.err == ""
    config = write_config(
        tmp_path,
        {
            "models": {"m": {"path": "tiny.xml"}},
            "streams": [{"id": "a", "source": "synthetic:blank"}],
        },
    )
    checked = vidpipe("check", config, cwd=tmp_path)
    (line,) = checked.err.splitlines()
    assert line.startswith("vidpipe: model m: ")


def test_paths_stay_whole_however_narrow_the_terminal() -> None:
    path = "/somewhere/" + "deep/" * 30 + "model.xml"
    about = "words " * 30
    document: dict[str, Any] = {
        **dict.fromkeys(("zoo", "gflops", "device", "measured", "input"), None),
        **dict.fromkeys(("family", "reason", "complaint"), ""),
        "path": path,
        "inputs": [about],
        "outputs": [],
        "precision": "FP32",
        "size_bytes": 1,
        "parameters": 1,
        "classes": {},
        "class_count": None,
        "metadata": {},
    }
    wrapped = info_lines(document, is_wrapped=True)
    assert wrapped[0] == f"file       {path}"
    assert max(map(len, wrapped[1:])) <= 80
    plain = info_lines(document, is_wrapped=False)
    assert plain[1] == f"inputs     {about.rstrip()}"
    assert all(line == line.rstrip() for line in (*wrapped, *plain))
