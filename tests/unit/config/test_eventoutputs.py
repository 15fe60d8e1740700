from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import MODELS, fault_of, load, one_stream
from vidpipe.config.eventoutputs import MqttOutput, WebhookOutput
from vidpipe.runtime.logs import redact


def outputs(text: str) -> str:
    return one_stream(f"outputs: [{text}]")


def test_an_address_is_enough() -> None:
    text = outputs("{type: mqtt, url: 'mqtt://h'}, {type: webhook, url: 'https://h/x'}")
    mqtt, webhook = load(text).streams[0].outputs
    assert isinstance(mqtt, MqttOutput)
    assert isinstance(webhook, WebhookOutput)
    assert (mqtt.topic, mqtt.status_topic) == ("vidpipe/{stream}/events", None)
    assert mqtt.tls.verify
    assert (mqtt.timeout_s, webhook.timeout_s) == (10.0, 10.0)


def test_defaults_give_them_to_every_stream() -> None:
    config = load(
        MODELS + "defaults: {outputs: [{type: mqtt, url: 'mqtt://h', topic: 'a/{stream}'}]}\n"
        "streams: [{id: a, source: x}, {id: b, source: x}]\n"
        "events: {quiet_s: 5, classes: [person]}\noutbox: {path: here.db, max_mb: 3}\n"
    )
    assert [len(stream.outputs) for stream in config.streams] == [1, 1]
    assert config.events is not None
    assert config.outbox is not None
    assert (config.events.quiet_s, config.events.classes) == (5.0, ("person",))
    assert (config.outbox.path, config.outbox.max_mb) == (Path("here.db"), 3.0)


def test_certificates_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    text = outputs("{type: mqtt, url: 'mqtts://h', tls: {ca: ca.pem, cert: elsewhere.pem}}")
    (mqtt,) = load(text, folder=tmp_path).streams[0].outputs
    assert isinstance(mqtt, MqttOutput)
    assert (mqtt.tls.ca, mqtt.tls.cert) == (tmp_path / "ca.pem", Path("elsewhere.pem"))


def test_secrets_are_known_as_such_and_shown_nowhere() -> None:
    text = outputs(
        "{type: mqtt, url: 'mqtt://u:in-url@h', password: 'p$a%s/wö'},"
        "{type: webhook, url: 'https://h/x?token=in-query', token: bearer-word}"
    )
    config = load(text)
    for secret in ("in-url", "p$a%s/wö", "in-query", "bearer-word"):
        assert secret not in repr(config)
        assert secret not in redact(f"there was {secret} in it")


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("{type: mqtt}", "[0].url", "'url' is missing"),
        ("{type: mqtt, url: 'http://h'}", "[0].url", "mqtt:// or mqtts://"),
        ("{type: mqtt, url: 'mqtt://h:99999'}", "[0].url", "port"),
        ("{type: mqtt, url: 'mqtt://u:a/b@h'}", "[0].url", "percent-encode"),
        ("{type: mqtt, url: 'mqtt://h', topic: 'a/#'}", "[0].topic", "subscribers"),
        ("{type: mqtt, url: 'mqtt://h', topic: 'a/+/b'}", "[0].topic", "subscribers"),
        ("{type: mqtt, url: 'mqtt://h', topic: '$SYS/x'}", "[0].topic", "broker itself"),
        ("{type: mqtt, url: 'mqtt://h', topic: '{strem}'}", "[0].topic", "did you mean 'stream'"),
        ("{type: mqtt, url: 'mqtt://h', topic: ' '}", "[0].topic", "is empty"),
        ("{type: mqtt, url: 'mqtt://h', tls: {key: a}}", "[0].tls", "key needs its cert"),
        ("{type: mqtt, url: 'mqtt://h', tls: {verify: maybe}}", "[0].tls.verify", "true or false"),
        ("{type: mqtt, url: 'mqtt://h', timeout_s: 0}", "[0].timeout_s", "greater than 0"),
        ("{type: webhook, url: 'ftp://h'}", "[0].url", "http:// or https://"),
        ("{type: webhook, url: 'http://h', topic: x}", "[0].topic", "unknown key"),
        ('{type: webhook, url: "http://h", token: "a\\nb"}', "[0].token", "control characters"),
        ("{type: webhook, url: 'http://h', token: 'wörd'}", "[0].token", "ASCII"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, key: str, words: str) -> None:
    fault = fault_of(outputs(text))
    assert fault.key == f"streams[0].outputs{key}"
    assert words in fault.message
    assert "a/b" not in fault.message
    assert "wörd" not in fault.message
