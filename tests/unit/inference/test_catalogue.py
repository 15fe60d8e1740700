from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from vidpipe.errors import ModelError
from vidpipe.inference.catalogue import (
    WheelFile,
    ZooEntry,
    catalogue,
    clips,
    find_model,
    known_file,
    measured_on,
)
from vidpipe.inference.conversion import CONVERSIONS
from vidpipe.inference.decoders.families import FAMILIES

OFFICIAL = ("https://storage.openvinotoolkit.org/", "https://download.01.org/opencv/")


@pytest.fixture(params=catalogue(), ids=lambda entry: entry.name)
def entry(request: pytest.FixtureRequest) -> ZooEntry:
    assert isinstance(request.param, ZooEntry)
    return request.param


@pytest.fixture
def data() -> Path:
    folder = os.environ.get("VIDPIPE_TEST_DATA")
    if folder is None:
        pytest.skip("VIDPIPE_TEST_DATA names no folder of real models")
    return Path(folder)


def test_every_entry_is_complete(entry: ZooEntry) -> None:
    assert entry.conversion in CONVERSIONS
    assert entry.family in {family.name for family in FAMILIES}
    assert entry.about
    assert entry.licence in ("MIT", "Apache-2.0")
    assert entry.homepage.startswith("https://")
    assert entry.precision in ("FP32", "FP16", "INT8")
    assert entry.classes
    assert entry.measured is None or entry.measured > 0
    assert find_model(entry.name) == entry


def test_every_file_has_its_official_address_and_checksum(entry: ZooEntry) -> None:
    if isinstance(entry.source, WheelFile):
        assert len(entry.source.sha256) == len(entry.source.member_sha256) == 64
        assert entry.source.file.startswith(entry.source.package.replace("-", "_"))
        assert f"-{entry.source.version}-" in entry.source.file
        return
    assert [Path(file.name).suffix for file in entry.source] == [".xml", ".bin"]
    for file in entry.source:
        assert file.url.startswith(OFFICIAL)
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
        assert Path(file.name).stem == entry.model
        assert ("INT8" in file.url) == (entry.precision == "INT8")


def test_names_are_unique_and_models_stand_together() -> None:
    names = [entry.name for entry in catalogue()]
    assert len(set(names)) == len(names)
    models = [entry.model for entry in catalogue()]
    runs = [model for i, model in enumerate(models) if i == 0 or models[i - 1] != model]
    assert len(set(runs)) == len(runs)


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("person-detection-retail-0013", "FP16"),
        ("person-detection-retail-0013-fp16", "FP16"),
        ("person-detection-retail-0013-fp32", "FP32"),
        ("person-detection-retail-0013-int8", "INT8"),
        ("person-detection-retail-0002", "INT8"),
        ("Person-Detection-0200-INT8", "INT8"),
    ],
)
def test_a_model_is_found_by_the_names_that_people_type(name: str, precision: str) -> None:
    entry = find_model(name)
    assert entry.precision == precision
    assert entry.model == name.lower().removesuffix(f"-{precision.lower()}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("person-ssdlight", "did you mean person-ssdlite"),
        ("retail-0013", "did you mean person-detection-retail-0013"),
        ("zebra", "vidpipe models list shows all"),
    ],
)
def test_an_unknown_name_is_an_error_that_helps(name: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        find_model(name)


def test_the_default_model_and_the_clip_of_the_demo_are_there() -> None:
    assert find_model("person-ssdlite").classes == {0: "person"}
    assert [clip.name for clip in clips()] == ["bikes"]
    assert "OpenVINO" in measured_on()


def test_the_broken_files_of_one_release_are_not_listed() -> None:
    source = find_model("person-detection-retail-0013-int8").source
    assert isinstance(source, tuple)
    assert all("/2022.1/" in file.url for file in source)


def test_other_files_are_not_known(tmp_path: Path) -> None:
    entry = find_model("person-detection-0200")
    path = tmp_path / "model.xml"
    assert known_file(path) is None
    path.write_bytes(bytes(entry.source[0].size if isinstance(entry.source, tuple) else 1))
    assert known_file(path) is None


@pytest.mark.realdata
def test_the_entries_say_what_the_zoo_says(data: Path) -> None:
    with (data / "zoo-omz.tsv").open(encoding="utf-8", newline="") as table:
        rows = {row["official_url"]: row for row in csv.DictReader(table, delimiter="\t")}
    listed = [
        (entry, file)
        for entry in catalogue()
        if isinstance(entry.source, tuple)
        for file in entry.source
    ]
    assert len(listed) == 2 * 42
    for entry, file in listed:
        row = rows[file.url]
        assert (str(file.size), file.sha256) == (row["bytes"], row["sha256"])
        told = ",".join(f"{key} {name}" for key, name in entry.classes.items())
        assert row["classes"] in (told, "")


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("person-detection-retail-0013", "person-detection-retail-0013"),
        ("person-vehicle-bike-detection-2000", "person-vehicle-bike-detection-2000-int8"),
        ("person-vehicle-bike-detection-2004", "person-vehicle-bike-detection-2004-int8"),
        (
            "vehicle-license-plate-detection-barrier-0106",
            "vehicle-license-plate-detection-barrier-0106",
        ),
    ],
)
def test_a_real_file_is_known_wherever_it_lies(
    data: Path, tmp_path: Path, model: str, name: str
) -> None:
    path = tmp_path / "renamed.xml"
    path.write_bytes((data / "models" / model / f"{model}.xml").read_bytes())
    entry = known_file(path)
    assert entry is not None
    assert entry.name == name
