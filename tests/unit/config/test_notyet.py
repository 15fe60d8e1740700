from __future__ import annotations

import pytest

from tests.config_files import MODELS, faults_of, load, one_model, one_stream


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (one_stream() + "server: {}\n", "server"),
        (one_stream() + "wall: {fps: 5}\n", "wall"),
        (one_stream() + "events: {quiet_s: 3}\n", "events"),
        (one_stream() + "outbox: {max_mb: 3}\n", "outbox"),
        (one_stream() + "workers: 2\n", "workers"),
        (one_stream() + "telemetry: {manifest: m.json}\n", "telemetry.manifest"),
        (one_model("mode: batched"), "models.person.mode"),
        (one_model("mode: independent"), "models.person.mode"),
        (one_model("call: sync"), "models.person.call"),
        (one_model("hint: adaptive"), "models.person.hint"),
        (one_model("hint: cumulative_throughput"), "models.person.hint"),
        (one_model("batch: {size: 4}"), "models.person.batch"),
        (one_model("input: {fit: streams}"), "models.person.input.fit"),
        (
            one_stream("outputs: [{type: jsonl, path: x, keep_gb: 1}]"),
            "streams[0].outputs[0].keep_gb",
        ),
        (one_stream("outputs: [{type: rtsp, url: 'rtsp://h/x'}]"), "streams[0].outputs[0].type"),
        (one_stream("outputs: [{type: rtmp, url: 'rtmp://h/x'}]"), "streams[0].outputs[0].type"),
        (one_stream("outputs: [{type: mqtt, url: 'mqtt://h'}]"), "streams[0].outputs[0].type"),
        (one_stream("outputs: [{type: webhook, url: 'http://h'}]"), "streams[0].outputs[0].type"),
        (
            MODELS + "defaults: {outputs: [{type: record, path: 'x-{stream}.mp4'}]}\n"
            "streams: [{id: a, source: x}, {id: b, source: x}]\n",
            "defaults.outputs[0].type",
        ),
    ],
)
def test_what_a_later_version_does_is_refused_once_with_its_place(text: str, key: str) -> None:
    faults = [fault for fault in faults_of(text) if "not yet supported" in fault.message]
    assert [fault.key for fault in faults] == [key]
    assert faults[0].message.startswith("not yet supported in this version: ")
    assert faults[0].place.startswith("c.yml:")
    assert len(faults_of(text)) == 1


def test_defaults_written_out_are_accepted() -> None:
    text = one_model(
        "mode: shared, call: async, hint: throughput, decoder: auto, input: {fit: model}, batch: "
    )
    assert load(text + "workers: 1\nserver:\nwall: ~\ntelemetry: {manifest: }\n").workers == 1


def test_a_variable_does_not_hide_it() -> None:
    faults = faults_of(one_stream() + "workers: ${W}\n", environ={"W": "4"})
    assert "workers: 4" in faults[0].message
