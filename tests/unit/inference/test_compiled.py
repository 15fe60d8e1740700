from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from tests.builders import make_picture
from tests.graphs import saved
from tests.layers import brightness
from vidpipe.errors import ModelError
from vidpipe.inference.answers import is_from_cache
from vidpipe.inference.compiled import CompiledCache
from vidpipe.inference.devices import compile_graph
from vidpipe.inference.model import CompiledDetector, compile_detector
from vidpipe.inference.settings import DetectorSettings

PICTURE = make_picture(32, 24, luma=128)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(brightness(), tmp_path)


def compiled(path: Path, cache: Path, **settings: object) -> CompiledDetector:
    return compile_detector(
        path,
        DetectorSettings("gate", cache_dir=cache, confidence=0.01, **settings),  # type: ignore[arg-type] # by name
    )


def score(detector: CompiledDetector) -> float:
    return float(detector.infer_once(PICTURE).scores[0])


def loads(log_lines: list[str]) -> list[bool]:
    """Return of each compilation so far whether it came from the cache."""
    return ["from the cache" in line for line in log_lines if "read in" in line]


def only_blob(cache: Path) -> Path:
    (blob,) = cache.rglob("*.blob")
    return blob


def test_what_is_loaded_answers_as_what_was_compiled(path: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    bare = score(compile_detector(path, DetectorSettings("gate", confidence=0.01)))
    assert [score(compiled(path, cache)) for _ in range(3)] == [bare] * 3


def test_hints_and_streams_share_what_is_kept_for_the_cpu(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    compiled(path, tmp_path / "cache")
    detector = compiled(path, tmp_path / "cache", num_streams=1, threads=1)
    assert loads(log_lines) == [False, True]
    assert detector.answers()["inference_num_threads"] == "1"


def test_bytes_that_have_changed_are_not_believed(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    cache = tmp_path / "cache"
    right = score(compiled(path, cache))
    blob = only_blob(cache)
    whole = blob.read_bytes()
    for start in (0, len(whole) // 2, len(whole) - 40):
        torn = bytearray(blob.read_bytes())
        torn[start : start + 40] = bytes(byte ^ 0x5A for byte in torn[start : start + 40])
        blob.write_bytes(torn)
        assert score(compiled(path, cache)) == right
        assert score(compiled(path, cache)) == right
    assert loads(log_lines) == [False] + 3 * [False, True]
    assert len([line for line in log_lines if "is damaged" in line]) == 3


def test_a_value_that_the_device_refuses_leaves_no_damage_behind(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    compiled(path, tmp_path / "cache")
    with pytest.raises(ModelError, match="INFERENCE_NUM_THREADS"):
        compiled(path, tmp_path / "cache", properties={"INFERENCE_NUM_THREADS": -5})
    compiled(path, tmp_path / "cache")
    assert not [line for line in log_lines if "is damaged" in line]


@pytest.mark.parametrize("rest", [b"", b"half"])
def test_a_cut_file_is_made_anew(path: Path, tmp_path: Path, rest: bytes) -> None:
    cache = tmp_path / "cache"
    right = score(compiled(path, cache))
    only_blob(cache).write_bytes(rest)
    assert score(compiled(path, cache)) == right
    assert len(only_blob(cache).read_bytes()) > len(rest)


@pytest.mark.parametrize("seal", ["", "{", "[]", "null", '{"x.blob": 1}'])
def test_a_broken_list_of_checksums_is_made_anew(path: Path, tmp_path: Path, seal: str) -> None:
    cache = tmp_path / "cache"
    right = score(compiled(path, cache))
    (sums,) = cache.rglob("sums.json")
    sums.write_text(seal)
    assert score(compiled(path, cache)) == right
    assert json.loads(sums.read_text()).keys() == {only_blob(cache).name}


def test_weights_that_have_changed_are_another_model(path: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = score(compiled(path, cache))
    weights = path.with_suffix(".bin")
    content = weights.read_bytes()
    joined, other = (np.float32(value).tobytes() for value in (0.7, 0.4))
    assert content.count(joined) == 1
    weights.write_bytes(content.replace(joined, other))
    bare = score(compile_detector(path, DetectorSettings("gate", confidence=0.01)))
    assert score(compiled(path, cache)) == bare != before


def test_a_cache_that_is_a_file_stops_nothing(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    cache = tmp_path / "cache"
    cache.write_text("not a folder")
    assert score(compiled(path, cache)) > 0
    assert any("WARNING" in line and "without the cache" in line for line in log_lines)
    assert cache.read_text() == "not a folder"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_stops_nothing(path: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o500)
    assert score(compiled(path, cache)) > 0


def test_a_name_of_any_letters_is_a_folder_of_the_cache(path: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    settings = DetectorSettings("../../Tür 1/a", cache_dir=cache)
    compile_detector(path, settings)
    assert only_blob(cache).parent.parent == cache


def test_nothing_is_left_of_a_model_that_cannot_be_kept(path: Path, tmp_path: Path) -> None:
    core, graph = ov.Core(), ov.Core().read_model(path)
    cache = CompiledCache(tmp_path / "cache", "gate")

    def compile_into(folder: Path | None) -> ov.CompiledModel:
        return core.compile_model(graph, "CPU")

    for _ in range(2):
        assert not is_from_cache(cache.compile([path], ["key"], compile_into))
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_comes_late_is_kept_too(path: Path, tmp_path: Path) -> None:
    core, graph = ov.Core(), ov.Core().read_model(path)
    cache = CompiledCache(tmp_path / "cache", "gate")

    def compile_into(folder: Path | None) -> ov.CompiledModel:
        return core.compile_model(graph, "CPU", {"CACHE_DIR": str(folder)})

    found = [
        is_from_cache(cache.compile([path], ["key"], compile_into, is_late=True)) for _ in range(2)
    ]
    assert found == [False, True]
    blob = only_blob(tmp_path)
    blob.write_bytes(blob.read_bytes()[:-40] + bytes(40))
    assert not is_from_cache(cache.compile([path], ["key"], compile_into, is_late=True))


def test_an_error_of_the_cache_alone_stops_nothing(
    path: Path, tmp_path: Path, log_lines: list[str]
) -> None:
    core, graph = ov.Core(), ov.Core().read_model(path)

    def compile_into(folder: Path | None) -> ov.CompiledModel:
        if folder is not None:
            raise RuntimeError("no room")
        return core.compile_model(graph, "CPU")

    CompiledCache(tmp_path / "cache", "gate").compile([path], ["key"], compile_into)
    assert any("without the cache: no room" in line for line in log_lines)


def test_a_graph_without_files_is_not_kept(path: Path, tmp_path: Path) -> None:
    core = ov.Core()
    settings = DetectorSettings("gate", cache_dir=tmp_path / "cache")
    compile_graph(core, core.read_model(path), settings)
    assert not (tmp_path / "cache").exists()
