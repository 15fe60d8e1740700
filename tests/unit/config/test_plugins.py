"""What installed packages add to the configuration: known by name, and imported by nobody here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from tests.config_files import fault_of, faults_of, load, one_model, one_stream
from tests.json_schema import errors_in
from tests.packages import install
from vidpipe.config.jsonschema import json_schema
from vidpipe.config.outputs import PluginOutput
from vidpipe.runtime.logs import redact
from vidpipe.runtime.plugins import FAMILIES, SINKS, SOURCES


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that can't even be imported."""
    install(
        tmp_path,
        monkeypatch,
        modules={"acme": "raise RuntimeError('imported')"},
        entry_points={
            SOURCES: {"slideshow": "acme:A", "rtsp": "acme:A", "device": "acme:A"},
            FAMILIES: {"mine": "acme:B"},
            SINKS: {"csv": "acme:C", "video": "acme:C"},
        },
    )


def schema_errors(text: str) -> list[str]:
    schema = json_schema()
    return errors_in(yaml.safe_load(text), schema, schema)


def test_without_packages_their_words_are_unknown() -> None:
    assert "unknown output type 'csv'" in fault_of(one_stream("outputs: [{type: csv}]")).message
    assert "expected one of auto, ssd" in fault_of(one_model("decoder: mine")).message
    assert "slideshow" not in fault_of(one_stream().replace("clip.mp4", "x://y")).message
    assert load(one_stream().replace("clip.mp4", "slideshow:y")).streams[0].kind == "file"
    assert "PluginOutput" not in str(json_schema())


@pytest.mark.usefixtures("acme")
def test_a_plugin_s_keys_reach_it_as_they_stand() -> None:
    text = one_stream(
        "outputs: [{type: csv, path: 'out/{stream}.csv', every: 5, ratio: 0.5, header: true,"
        " quoted: '5', word: no, names: [a, 2], more: {deep: {x: 1}}, empty: , key: ${WORD},"
        " lane: {size: 7, overflow: block}}]"
    ).replace("${WORD}", "'${WORD}'")
    (output,) = load(text, environ={"WORD": "12"}).streams[0].outputs
    assert isinstance(output, PluginOutput)
    assert output.type == "csv"
    assert (output.lane.size, output.lane.overflow) == (7, "block")
    assert output.options == {
        "path": "out/{stream}.csv",
        "every": 5,
        "ratio": 0.5,
        "header": True,
        "quoted": "5",
        "word": "no",
        "names": ["a", 2],
        "more": {"deep": {"x": 1}},
        "key": 12,
    }
    assert all(type(key) is str for key in output.options)
    assert type(output.options["path"]) is str
    assert schema_errors(text) == []
    assert "acme" not in sys.modules


@pytest.mark.usefixtures("acme")
def test_what_every_output_has_is_checked_for_a_plugin_s_too() -> None:
    fault = fault_of(one_stream("outputs: [{type: csv, lane: {size: 0}}]"))
    assert fault.key == "streams[0].outputs[0].lane.size"
    text = one_stream("outputs: [{type: csv, lane: {sise: 1}}]")
    assert "did you mean 'size'?" in fault_of(text).message
    assert schema_errors(text)


@pytest.mark.usefixtures("acme")
def test_a_plugin_does_not_take_the_place_of_vidpipe_s_own() -> None:
    fault = fault_of(one_stream("outputs: [{type: video, path: a.mp4, colour: red}]"))
    assert "unknown key" in fault.message
    assert load(one_stream().replace("clip.mp4", "rtsp://h/x")).streams[0].kind == "network"
    assert load(one_stream().replace("clip.mp4", "device:0")).streams[0].kind == "device"


@pytest.mark.usefixtures("acme")
def test_an_unknown_type_is_told_with_those_of_packages() -> None:
    message = fault_of(one_stream("outputs: [{type: cvs}]")).message
    assert "did you mean 'csv'?" in message
    assert message.endswith("known ones: video, jsonl, record, rtsp, rtmp, mqtt, webhook, csv")
    for word in ("plugin", "<plugin>", "<csv>"):
        text = one_stream(f"outputs: [{{type: '{word}', x: 1}}]")
        assert "unknown output type" in fault_of(text).message
        assert schema_errors(text)


@pytest.mark.usefixtures("acme")
def test_two_streams_may_share_what_a_plugin_calls_its_path() -> None:
    outputs = "outputs: [{type: csv, path: all.csv}]"
    config = load(one_stream(outputs) + f"- {{id: dock, source: b.mp4, {outputs}}}\n")
    assert [stream.output_paths() for stream in config.streams] == [[], []]


@pytest.mark.usefixtures("acme")
def test_a_secret_among_a_plugin_s_keys_is_not_shown() -> None:
    text = one_stream(
        "outputs: [{type: csv, password: hunter22, url: 'ftp://me:swordfish@h/', key: '${KEY}',"
        " salt: pepper99}]"
    )
    config = load(text, environ={"KEY": "opensesame"})
    for word in ("hunter22", "swordfish", "opensesame"):
        assert word not in repr(config)
        assert word not in redact(f"it was {word}")
    assert "pepper99" not in repr(config)  # only the plugin knows whether it is one


@pytest.mark.usefixtures("acme")
def test_a_scheme_of_a_package_is_a_source() -> None:
    for source in ("slideshow:pictures?seconds=2", "slideshow://host/x", "SlideShow:x"):
        stream = load(one_stream().replace("clip.mp4", source)).streams[0]
        assert (stream.kind, stream.source) == ("plugin", source)
    text = one_stream("connect: {username: me, password: 'a b'}")
    stream = load(text.replace("clip.mp4", "slideshow://host/x")).streams[0]
    assert stream.url() == "slideshow://me:a%20b@host/x"
    message = fault_of(one_stream().replace("clip.mp4", "slidshow://x")).message
    assert message.endswith("device:, synthetic:, slideshow:")


@pytest.mark.usefixtures("acme")
def test_a_decoder_of_a_package_is_taken() -> None:
    text = one_model("decoder: mine")
    assert load(text).models["person"].decoder == "mine"
    assert schema_errors(text) == []
    faults = faults_of(one_model("decoder: mein"))
    assert "did you mean 'mine'?" in faults[0].message
    assert schema_errors(one_model("decoder: mein"))
