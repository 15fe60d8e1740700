from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openvino as ov
import pytest

from tests.builders import make_picture
from tests.graphs import ssd_rows
from tests.package_index import PackageIndex, make_wheel, serving
from vidpipe.errors import FetchError, ModelError
from vidpipe.inference.conversion import CONVERSIONS
from vidpipe.inference.decoders.families import FAMILIES
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.inference.zoo import (
    ZooEntry,
    catalogue,
    clips,
    fetch_clip,
    fetch_entry,
    fetch_model,
    find_model,
    model_folder,
)


def tiny(path: Path, model: str, input_wh: tuple[int, int]) -> ov.Model:
    """Read the test's own format, which is the score in words."""
    del model, input_wh
    return ssd_rows([[0, 1, float(path.read_text()), 0, 0, 1, 1]])


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index


@pytest.fixture
def entry(index: PackageIndex, monkeypatch: pytest.MonkeyPatch) -> ZooEntry:
    monkeypatch.setitem(CONVERSIONS, "tiny", tiny)
    wheel = make_wheel(index.wheels, b"0.75", member="tiny_model/score.txt")[1]
    return ZooEntry("tiny", "a test", "MIT", "", "ssd", ("dog", "cat"), (32, 24), "tiny", wheel)


def hidden_in(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.name.startswith(".")]


def test_the_catalogue_is_consistent() -> None:
    names = [entry.name for entry in catalogue()]
    assert len(set(names)) == len(names)
    for entry in catalogue():
        assert entry.conversion in CONVERSIONS
        assert entry.family in {family.name for family in FAMILIES}
        assert entry.about
        assert entry.licence
    for wheel in [e.wheel for e in catalogue()] + [e.wheel for e in clips()]:
        assert len(wheel.sha256) == len(wheel.member_sha256) == 64
        assert wheel.file.startswith(wheel.package.replace("-", "_"))
        assert f"-{wheel.version}-" in wheel.file


def test_the_default_model_and_the_clip_of_the_demo_are_there() -> None:
    assert find_model("person-ssdlite").labels == ("person",)
    assert [clip.name for clip in clips()] == ["bikes"]


def test_a_model_is_fetched_converted_and_kept(
    tmp_path: Path, index: PackageIndex, entry: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    path = fetch_entry(entry, cache)
    found = compile_detector(path, DetectorSettings("m")).infer_once(make_picture())
    assert found.labels == ("cat",)
    assert found.scores.tolist() == [0.75]
    asked = len(index.requests)
    assert fetch_entry(entry, cache) == path
    assert len(index.requests) == asked
    assert hidden_in(cache) == []


@pytest.mark.parametrize("damage", ["weights", "gone", "list", "folder"])
def test_a_damaged_cache_is_noticed_and_fetched_again(
    tmp_path: Path, index: PackageIndex, entry: ZooEntry, damage: str
) -> None:
    cache = tmp_path / "cache"
    (cache / "wheels").mkdir(parents=True)
    shutil.copy(index.wheels / entry.wheel.file, cache / "wheels")  # quicker than pip
    path = fetch_entry(entry, cache)
    whole = path.with_suffix(".bin").read_bytes()
    if damage == "weights":
        path.with_suffix(".bin").write_bytes(bytes(len(whole)))
    elif damage == "gone":
        path.unlink()
    elif damage == "list":
        (path.parent / "checksums.json").write_text("[1]")
    else:
        shutil.rmtree(path.parent)
        path.parent.write_text("a file in its place")
    assert fetch_entry(entry, cache) == path
    assert path.with_suffix(".bin").read_bytes() == whole
    assert hidden_in(cache) == []


def test_many_may_fetch_a_model_at_once(
    tmp_path: Path, index: PackageIndex, entry: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    (cache / "wheels").mkdir(parents=True)
    shutil.copy(index.wheels / entry.wheel.file, cache / "wheels")
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: fetch_entry(entry, cache), range(8)))
    assert paths == {model_folder(entry, cache) / "tiny.xml"}
    assert compile_detector(paths.pop(), DetectorSettings("m")).name == "m"
    assert hidden_in(cache) == []


def test_a_failed_conversion_leaves_nothing(
    tmp_path: Path, entry: ZooEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, model: str, input_wh: tuple[int, int]) -> ov.Model:
        del path, input_wh
        raise ModelError(f"model {model}: no node to cut at")

    monkeypatch.setitem(CONVERSIONS, "tiny", refuse)
    cache = tmp_path / "cache"
    with pytest.raises(ModelError, match="no node"):
        fetch_entry(entry, cache)
    assert not model_folder(entry, cache).exists()
    assert hidden_in(cache) == []


def test_an_unknown_name_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean person-ssdlite"):
        fetch_model("person-ssdlight", tmp_path)
    with pytest.raises(FetchError, match="there are bikes"):
        fetch_clip("cars", tmp_path)
