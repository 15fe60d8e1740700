from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import vidpipe
from tests.graphs import saved, ssd_rows

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
    assert max(map(len, shown.out.splitlines())) <= 80
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
