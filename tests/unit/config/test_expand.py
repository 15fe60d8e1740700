from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import MODELS, fault_of, faults_of, load, one_model, one_stream


def test_defaults_are_merged_key_by_key_at_any_depth() -> None:
    config = load(
        MODELS + "defaults:\n"
        "  detect_fps: 10\n"
        "  connect: {transport: udp, open_timeout_s: 9}\n"
        "  outputs: [{type: jsonl, path: 'out/{stream}.jsonl'}]\n"
        "streams:\n"
        "- {id: a, source: x, connect: {open_timeout_s: 2}}\n"
        "- {id: b, source: x, detect_fps: , outputs: []}\n"
        "- {id: c, source: x, connect: }\n"
    )
    first, second, third = config.streams
    assert (first.connect.transport, first.connect.open_timeout_s) == ("udp", 2.0)
    assert (first.detect_fps, len(first.outputs)) == (10.0, 1)
    assert (second.detect_fps, second.outputs) == (None, ())
    assert second.connect.open_timeout_s == 9.0
    assert third.connect.transport == "tcp"


def test_a_fault_in_defaults_is_reported_once_and_there() -> None:
    text = MODELS + (
        "defaults: {lane: {size: 0}, wait: 1, outputs: [{type: jsnl}]}\n"
        "streams: [{id: a, source: x}, {id: b, source: y}]\n"
    )
    assert [fault.key for fault in faults_of(text)] == [
        "defaults.lane.size",
        "defaults.wait",
        "defaults.outputs[0].type",
    ]


def test_the_only_model_needs_no_mention() -> None:
    assert load(one_stream()).streams[0].model == "person"
    two = one_stream().replace("models: {", "models: {car: {zoo: car}, ")
    fault = fault_of(two)
    assert (fault.place, fault.key) == ("c.yml:4:3", "streams[0].model")
    assert "one of: car, person" in fault.message
    assert load(two + "defaults: {model: car}\n").streams[0].model == "car"


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "my [clips]"
    folder.mkdir()
    for name in ("b.mp4", "a.mp4", "c.mkv", "take[1].mp4"):
        (folder / name).write_bytes(b"")
    (folder / "folder.mp4").mkdir()
    return folder


def test_a_glob_gives_a_stream_for_each_file_in_order(clips: Path) -> None:
    config = load(
        one_stream("name: Take").replace("clip.mp4", "'?.mp4'"),
        ["streams.gate.weight=2"],
        {},
        clips,
    )
    assert [
        (stream.id, stream.name, stream.source, stream.weight) for stream in config.streams
    ] == [
        ("gate-1", "Take 1", str(clips / "a.mp4"), 2.0),
        ("gate-2", "Take 2", str(clips / "b.mp4"), 2.0),
    ]


def test_a_glob_of_one_file_keeps_the_id(clips: Path) -> None:
    stream = load(one_stream().replace("clip.mp4", "'*.mkv'"), folder=clips).streams[0]
    assert (stream.id, stream.source) == ("gate", str(clips / "c.mkv"))


def test_a_glob_searches_folders_below(clips: Path) -> None:
    text = one_stream().replace("clip.mp4", "'**/*.mkv'")
    assert load(text, folder=clips.parent).streams[0].source == str(clips / "c.mkv")


def test_a_file_whose_name_looks_like_a_glob_is_that_file(clips: Path) -> None:
    stream = load(one_stream().replace("clip.mp4", "'take[1].mp4'"), folder=clips).streams[0]
    assert stream.source == str(clips / "take[1].mp4")


def test_a_glob_without_a_file_is_a_fault_at_its_key(clips: Path) -> None:
    fault = fault_of(one_stream().replace("clip.mp4", "'*.avi'"), folder=clips)
    assert (fault.place, fault.key) == ("c.yml:4:22", "streams[0].source")
    assert "no file matches '*.avi'" in fault.message
    deep = fault_of(one_stream().replace("clip.mp4", "'" + "*/" * 5000 + "'"))
    assert "too many folders" in deep.message


def test_a_glob_of_too_many_files_is_refused(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidpipe.config.expand.FILES_MAX", 2)
    fault = fault_of(one_stream().replace("clip.mp4", "'*.m*'"), folder=clips)
    assert "matches more than 2 files" in fault.message


def test_the_ids_of_a_glob_may_be_taken_and_keys_point_into_the_file(clips: Path) -> None:
    text = MODELS + (
        "streams:\n- {id: gate, source: '?.mp4'}\n- {id: gate-2, source: x}\n"
        "- {id: yard, source: x, lane: {size: 0}}\n"
    )
    faults = faults_of(text, folder=clips)
    assert [fault.key for fault in faults] == ["streams[1].id", "streams[2].lane.size"]


def test_inputs_are_looked_for_beside_the_file_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "etc"
    beside.mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.mp4").write_bytes(b"")
    (beside / "both.mp4").write_bytes(b"")
    (tmp_path / "here.mp4").write_bytes(b"")
    (beside / "labels.txt").write_bytes(b"")
    sources = ["both.mp4", "here.mp4", "nowhere.mp4", "her*.mp4", "file:///a%20b.mp4"]
    streams = "".join(f"- {{id: s{n}, source: '{text}'}}\n" for n, text in enumerate(sources))
    config = load(
        one_model("labels: labels.txt").partition("streams:")[0] + "streams:\n" + streams,
        folder=beside,
    )
    assert [stream.source for stream in config.streams] == [
        str(beside / "both.mp4"),
        "here.mp4",
        "nowhere.mp4",
        "here.mp4",
        "/a b.mp4",
    ]
    assert config.models["person"].labels == beside / "labels.txt"


def test_a_missing_file_is_the_streams_own_failure_later() -> None:
    assert load(one_stream()).streams[0].source == "clip.mp4"


def test_folders_and_bare_numbers_are_no_sources(tmp_path: Path) -> None:
    assert "folder" in fault_of(one_stream().replace("clip.mp4", str(tmp_path))).message
    assert "device:0" in fault_of(one_stream().replace("clip.mp4", "0")).message


def test_the_home_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("VIDPIPE_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    config = load(one_stream("outputs: [{type: jsonl, path: ~/x.jsonl}]"))
    assert getattr(config.streams[0].outputs[0], "path", "") == f"{tmp_path}/x.jsonl"
    assert config.cache_dir == tmp_path / ".cache" / "vidpipe"
    monkeypatch.setenv("VIDPIPE_CACHE_DIR", "~/elsewhere")
    assert load(one_stream()).cache_dir == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("xdg", "below"),
    [("/xdg", "/xdg/vidpipe"), ("", "~/.cache/vidpipe"), ("xdg", "~/.cache/vidpipe")],
)
def test_the_cache_is_where_the_desktop_s_rules_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, xdg: str, below: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.delenv("VIDPIPE_CACHE_DIR", raising=False)
    assert load(one_stream()).cache_dir == Path(below).expanduser()
    monkeypatch.setenv("VIDPIPE_CACHE_DIR", "/elsewhere")
    assert load(one_stream()).cache_dir == Path("/elsewhere")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("slideshow:pictures?seconds=2", "no source is called slideshow, and no such file"),
        ("c?.mp4", "no file matches 'c?.mp4'"),
    ],
)
def test_a_scheme_that_nobody_opens_is_called_one(source: str, words: str) -> None:
    assert words in fault_of(one_stream().replace("clip.mp4", f"'{source}'")).message
