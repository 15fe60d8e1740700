from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import MODELS, load
from vidpipe.apps.eventplaces import EventTarget, couriers_for, event_targets
from vidpipe.apps.sinks import lane_names
from vidpipe.errors import ConfigError
from vidpipe.outputs.courier import Courier
from vidpipe.outputs.mqtt import MqttEndpoint
from vidpipe.outputs.webhook import WebhookEndpoint


def targets(*outputs: str, streams: tuple[str, ...] = ("gate", "yard")) -> list[EventTarget]:
    config = load(
        MODELS
        + f"defaults: {{outputs: [{', '.join(outputs)}]}}\nstreams:\n"
        + "".join(f"- {{id: {name}, source: x}}\n" for name in streams)
    )
    return [
        target
        for stream in config.streams
        for target in event_targets(stream, lane_names([o.type for o in stream.outputs]))
    ]


def couriers(*outputs: str) -> list[Courier]:
    return couriers_for(targets(*outputs))


def mqtt(output: str) -> MqttEndpoint:
    (courier,) = couriers(output)
    assert isinstance(courier._endpoint, MqttEndpoint)
    return courier._endpoint


def webhook(output: str) -> WebhookEndpoint:
    (courier,) = couriers(output)
    assert isinstance(courier._endpoint, WebhookEndpoint)
    return courier._endpoint


def test_streams_share_a_place_and_have_each_a_topic() -> None:
    endpoint = mqtt("{type: mqtt, url: 'mqtt://h', topic: 'site/{stream}'}")
    assert endpoint._topics == {"gate/mqtt": "site/gate", "yard/mqtt": "site/yard"}


def test_other_places_and_other_credentials_are_apart() -> None:
    found = couriers(
        "{type: jsonl, path: 'out/{stream}'}",
        "{type: mqtt, url: 'mqtt://h'}",
        "{type: mqtt, url: 'mqtt://h', password: a}",
        "{type: webhook, url: 'http://h/a'}",
        "{type: webhook, url: 'http://h/b'}",
    )
    assert [courier.targets for courier in found] == [
        ("gate/mqtt-1", "yard/mqtt-1"),
        ("gate/mqtt-2", "yard/mqtt-2"),
        ("gate/webhook-1", "yard/webhook-1"),
        ("gate/webhook-2", "yard/webhook-2"),
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mqtt://h", ("h", 1883, None, None)),
        ("mqtts://broker.example/path", ("broker.example", 8883, None, None)),
        ("MQTT://[::1]:2000", ("::1", 2000, None, None)),
        ("mqtt://u%40x:p%2F%23%25@h", ("h", 1883, "u@x", "p/#%")),
        ("mqtt://u:100%@h", ("h", 1883, "u", "100%")),
        ("mqtt://:only@h", ("h", 1883, "", "only")),
    ],
)
def test_an_address_is_taken_apart(url: str, expected: tuple[object, ...]) -> None:
    given = mqtt(f"{{type: mqtt, url: '{url}'}}")._settings
    assert (given.host, given.port, given.username, given.password) == expected
    assert (given.tls is not None) == url.startswith("mqtts")


def test_keys_win_over_the_url_as_raw_text() -> None:
    text = "{type: mqtt, url: 'mqtt://u:p@h', username: 'a%40', password: 'ü/@:#% '}"
    given = mqtt(text)._settings
    assert (given.username, given.password) == ("a%40", "ü/@:#% ")
    assert "ü/@" not in repr(given)
    assert "a%40" not in repr(given)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("url: 'http://h/x'", {}),
        ("url: 'http://u:p%40@h/x'", {"Authorization": "Basic dTpwQA=="}),
        ("url: 'http://h/x', username: ü, password: 'a:b'", {"Authorization": "Basic w7w6YTpi"}),
        ("url: 'http://u:p@h/x', token: word", {"Authorization": "Bearer word"}),
        ("url: 'http://h/x', token: ''", {}),
    ],
)
def test_a_webhook_s_authorization(keys: str, expected: dict[str, str]) -> None:
    assert webhook(f"{{type: webhook, {keys}}}")._settings.headers == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h", "/"),
        ("http://h?a=b", "/?a=b"),
        ("http://h/tür%20x/?q=a b#part", "/t%C3%BCr%20x/?q=a%20b"),
    ],
)
def test_a_webhook_s_path_is_fit_for_a_request(url: str, expected: str) -> None:
    assert webhook(f"{{type: webhook, url: '{url}'}}")._settings.path == expected


def test_a_certificate_that_is_none_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(
        ConfigError, match=r"stream gate: outputs: mqtt: tls: .*ca\.pem: "
    ) as caught:
        couriers(f"{{type: mqtt, url: 'mqtts://h', tls: {{ca: '{tmp_path}/ca.pem'}}}}")
    assert len(caught.value.faults) == 1
