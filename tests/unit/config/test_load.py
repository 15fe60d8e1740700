from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.config_files import MODELS, fault_of, faults_of, load, one_model, one_stream
from vidpipe.config.load import load_config
from vidpipe.config.outputs import VideoOutput
from vidpipe.errors import ConfigError


def error_of(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_config(path, environ={})
    return caught.value


def test_a_small_file_gets_every_default(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text(one_stream())
    config = load_config(file, environ={})
    stream = config.streams[0]
    assert (stream.id, stream.source, stream.model) == ("gate", "clip.mp4", "person")
    assert (stream.weight, stream.detect_fps, stream.lane.size) == (1.0, None, None)
    assert (stream.connect.open_timeout_s, stream.connect.backoff_s) == (5.0, (0.5, 30.0))
    assert (config.workers, config.shutdown_timeout_s, config.server) == (1, 10.0, None)
    assert config.models["person"].confidence == 0.4


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    text = (
        "version: 2\n"
        "models:\n"
        "  person: {zoo: x, confidnce: 0.4}\n"
        "streams:\n"
        "- id: gate\n"
        "  source: clip.mp4\n"
        "  lane: {size: zero}\n"
        "- {id: gate, source: other.mp4, model: persn}\n"
        "workerz: 2\n"
    )
    faults = faults_of(text)
    assert [fault.place for fault in faults] == [
        "c.yml:1:10",
        "c.yml:3:20",
        "c.yml:7:16",
        "c.yml:8:8",
        "c.yml:8:40",
        "c.yml:9:1",
    ]
    assert [fault.key for fault in faults] == [
        "version",
        "models.person.confidnce",
        "streams[0].lane.size",
        "streams[1].id",
        "streams[1].model",
        "workerz",
    ]
    assert "did you mean 'confidence'?" in faults[1].message
    assert "expected a number, not 'zero'" in faults[2].message
    assert "already taken at c.yml:5:7" in faults[3].message
    assert "did you mean 'person'?" in faults[4].message
    assert "did you mean 'workers'?" in faults[5].message


def test_columns_count_characters_and_not_bytes() -> None:
    assert fault_of(one_stream('name: "前門カメラ", wait: 1')).place == "c.yml:4:47"


def test_a_duplicate_key_names_both_places() -> None:
    fault = fault_of(one_stream("weight: 1, weight: 2"))
    assert fault.place == "c.yml:4:43"
    assert fault.key == "streams[0].weight"
    assert "c.yml:4:32" in fault.message


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"", ":1:1", "is empty"),
        (b"# nothing\n", ":1:1", "is empty"),
        (b"~\n", ":1:1", "is empty"),
        (b"- a\n- b\n", ":1:1", "not a list"),
        (b"just text\n", ":1:1", "not plain text"),
        (b"version: 1\nmodels:\n\tperson: 1\n", ":3:1", "tab"),
        (b"version: 1\n\x00\x01\x02", ":2:1", "U+0000"),
        (b"version: 1\nname: \xff\xfe\n", ":2:7", "UTF-8"),
        ("version: 1\n".encode("utf-16"), ":1:1", "UTF-16"),
        (b"\x89PNG\r\n\x1a\n", ":1:1", "UTF-8"),
        (b"a: b: c\n", ":1:5", "not YAML"),
        (b"a: [1, 2\n", ":2:1", "not YAML"),
        (b"a: @b\n", ":1:4", "quotes"),
        (b"a: *b\n", ":1:4", "alias"),
        (b"a: &x [*x]\n", ":1:8", "inside"),
        (b"version: 1\n---\nversion: 1\n", ":2:1", "second document"),
        (b"a: " + b"[" * 100_000, ":1:", "deep"),
        (b"a:\n" + b"".join(b" " * i + b"- \n" for i in range(40)), ":", "deep"),
        (b"? [a, b]\n: 1\n", ":1:3", "key must be plain text"),
        (b"{a: 1}: 2\n", ":1:", "key must be plain text"),
        (b"a: 'open\n", ":2:1", "not YAML"),
    ],
)
def test_what_is_no_configuration_is_an_error_with_its_place(
    tmp_path: Path, data: bytes, place: str, words: str
) -> None:
    file = tmp_path / "c.yml"
    file.write_bytes(data)
    fault = error_of(file).faults[-1]
    assert fault.place.startswith(f"{file}{place}")
    assert words in fault.message


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    began = time.process_time()
    assert "more than 100000 values" in fault_of("\n".join(lines)).message
    assert time.process_time() - began < 1


def test_tags_are_refused_without_showing_them() -> None:
    fault = fault_of(one_stream("name: !hunter2 x"))
    assert fault.place == "c.yml:4:38"
    assert "hunter2" not in str(fault)
    assert "!" in fault.message
    assert fault.key == "streams[0].name"
    faults = faults_of(one_stream("name: !!python/object/apply:os.system [x]"))
    assert "tags" in faults[-1].message


def test_faults_found_before_a_syntax_error_are_kept() -> None:
    faults = faults_of("version: 1\nversion: 1\nmodels: *nothing\n")
    assert [fault.place for fault in faults] == ["c.yml:2:1", "c.yml:3:9"]


def test_anchors_aliases_and_merge_keys_work() -> None:
    config = load(
        MODELS + "streams:\n"
        "- &gate {id: gate, source: a.mp4, lane: &lane {size: 3, max_age_ms: 100}}\n"
        "- {<<: *gate, id: yard}\n"
        "- {<<: [{source: c.mp4, weight: 3}, *gate], id: dock, lane: {<<: *lane, size: 5}}\n"
    )
    gate, yard, dock = config.streams
    assert (yard.source, yard.lane) == ("a.mp4", gate.lane)
    assert (dock.source, dock.weight, dock.lane.size, dock.lane.max_age_ms) == ("c.mp4", 3, 5, 100)


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_bytes(b"\xef\xbb\xbf" + one_stream().replace("\n", "\r\n").encode())
    assert load_config(file, environ={}).streams[0].id == "gate"


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    missing = error_of(tmp_path / "no.yml")
    assert missing.faults[0].place == str(tmp_path / "no.yml")
    assert "no such file" in str(missing)
    assert "folder" in str(error_of(tmp_path))
    assert "can't be read" in str(error_of(tmp_path / ("x" * 5000)))
    assert "can't be read" in str(error_of(Path("a\0b")))
    huge = tmp_path / "huge.yml"
    huge.write_bytes(b"#" * 4_000_001)
    assert "larger than 4 MB" in str(error_of(huge))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_this_user_may_not_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text(one_stream())
    file.chmod(0)
    assert "may not be read" in str(error_of(file))


def test_scalars_hold_no_surprises() -> None:
    config = load(
        MODELS + "streams:\n"
        "- {id: 2026-11-30, source: 12:30.mp4, name: no, loop: yes, connect: {password: 0123}}\n"
        "- {id: 007, source: x.mp4, name: null-ish, realtime: off}\n"
    )
    first, second = config.streams
    assert (first.id, first.source, first.name, first.loop) == (
        "2026-11-30",
        "12:30.mp4",
        "no",
        True,
    )
    assert first.connect.password is not None
    assert first.connect.password.get_secret_value() == "0123"
    assert (second.id, second.name, second.realtime) == ("007", "null-ish", False)


def test_an_empty_value_is_an_absent_key() -> None:
    stream = load(one_stream("weight: , lane: ~, detect_fps: null")).streams[0]
    assert (stream.weight, stream.lane.size, stream.detect_fps) == (1.0, None, None)
    assert fault_of(MODELS + "streams:\n- id:\n  source: x.mp4\n").key == "streams[0].id"


def test_required_sections_are_missed_by_name() -> None:
    assert [fault.key for fault in faults_of("workers: 1\n")] == ["version", "models", "streams"]
    assert "at least 1" in fault_of(MODELS + "streams: []\n").message
    assert fault_of("version: 1\nmodels: {}\nstreams: [{id: a, source: b}]\n").key == "models"


def test_a_models_name_is_not_empty_and_not_endless() -> None:
    nameless = faults_of(one_stream().replace("person:", "'':"))
    assert nameless[0].message == "a name may not be empty"
    assert nameless[0].place == "c.yml:2:10"
    endless = faults_of(one_stream().replace("person:", f"{'x' * 101}:"))
    assert "at most 100" in endless[0].message


def test_a_configuration_is_a_value_of_ordinary_types() -> None:
    text = one_stream("name: a, outputs: [{type: video, path: 'a.mp4', scale: 64x64}]")
    config = load(text)
    assert config == load(text)
    assert config != load(text, ["streams.gate.weight=2"])
    assert pickle.loads(pickle.dumps(config)) == config
    stream = config.streams[0]
    video = stream.outputs[0]
    assert isinstance(video, VideoOutput)
    texts = (stream.id, stream.name, stream.source, stream.model, video.path, video.scale)
    assert {type(value) for value in texts} == {str}
    assert {type(key) for key in config.models} == {str}


def test_thousands_of_streams_and_faults_take_seconds_at_most() -> None:
    stream = "&s {id: gate, source: x, wait: 1, lane: {size: 0}, model: persn}"
    others = "".join(f"- {{<<: *s, id: Cam-{n}, weight: x}}\n" for n in range(1000))
    began = time.process_time()
    assert len(faults_of(MODELS + f"streams:\n- {stream}\n{others}")) > 2000
    assert time.process_time() - began < 10


def test_sixty_four_streams_load_quickly(tmp_path: Path) -> None:
    lines = [
        f"- id: cam-{n}\n  source: rtsp://user:word{n}@camera-{n}.example/stream1\n"
        "  detect_fps: 5\n  weight: 1\n  lane: {size: 2, overflow: drop-oldest}\n"
        "  connect: {open_timeout_s: 5, transport: tcp}\n  outputs:\n"
        '  - {type: video, path: "out/{stream}-{start}.mp4", segment_s: 600}\n'
        '  - {type: jsonl, path: "out/{stream}.jsonl"}\n'
        for n in range(64)
    ]
    file = tmp_path / "c.yml"
    file.write_text(MODELS + "defaults: {name: x}\nstreams:\n" + "".join(lines))
    began = time.process_time()
    assert len(load_config(file, environ={}).streams) == 64
    assert time.process_time() - began < 0.5


def test_loading_needs_no_heavy_library() -> None:
    code = (
        "import sys, vidpipe.config.load, vidpipe.config.jsonschema;"
        "print([name for name in ('openvino', 'cv2', 'av', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_parser_in_python_gives_the_same_tree_and_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = one_stream("wait: 1, name: é, weight: 'x', loop: [1, {a: b}]") + "workers: |\n  2\n"
    quick = [str(fault) for fault in faults_of(text)]
    monkeypatch.setattr("vidpipe.config.load.LOADER", yaml.SafeLoader)
    assert [str(fault) for fault in faults_of(text)] == quick


def test_defaults_written_out_are_accepted() -> None:
    text = one_model(
        "mode: shared, call: async, hint: throughput, decoder: auto, input: {fit: model}, batch: "
    )
    assert load(text + "workers: 1\nserver:\nwall: ~\ntelemetry: {manifest: }\n").workers == 1
