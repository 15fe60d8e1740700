from __future__ import annotations

import pytest

from tests.config_files import MODELS, faults_of, load, one_stream
from vidpipe.config.outputs import RtspOutput
from vidpipe.config.schema import TokenConfig
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError
from vidpipe.runtime.logs import redact

WORD = "hunt%er/2$"
ENCODED = "hunt%25er%2F2%24"


def test_no_repr_or_text_of_a_configuration_shows_a_password() -> None:
    text = MODELS + (
        "streams:\n"
        "- {id: a, source: 'rtsp://u:literal-word@cam/x?token=query-word'}\n"
        '- {id: b, source: rtsp://cam/x, connect: {username: u, password: "${P}"}}\n'
    )
    config = load(text, environ={"P": WORD})
    for shown in (repr(config), str(config), repr(config.streams), f"{config.streams[0]}"):
        assert "literal-word" not in shown
        assert "query-word" not in shown
        assert WORD not in shown
    assert config.streams[1].url() == f"rtsp://u:{ENCODED}@cam/x"
    assert "word" not in repr(RtspOutput(url="rtsp://u:word@h/x"))
    assert "word" not in repr(TokenConfig.model_validate({"role": "viewer", "token": "word"}))


def test_every_secret_is_registered_as_it_stands_and_encoded() -> None:
    load(
        MODELS + "streams:\n"
        "- {id: a, source: 'rtsp://u:first-w%40rd@cam/x'}\n"
        "- {id: b, source: 'http://cam/x?k=${CAM_TOKEN}', connect: {password: 'sec@nd word'}}\n",
        environ={"CAM_TOKEN": "third-word"},
    )
    for secret in (
        "first-w%40rd",
        "first-w@rd",
        "sec@nd word",
        "sec%40nd%20word",
        "third-word",
    ):
        assert redact(f"x {secret} y") == "x *** y"


def test_secrets_are_registered_even_if_the_file_is_refused() -> None:
    faults_of(one_stream("wait: 1, connect: {password: fourth-word}"))
    assert redact("fourth-word") == "***"


@pytest.mark.parametrize(
    "more",
    [
        'weight: "${P}"',
        'name: ["${P}"]',
        'lane: "${P}"',
        'lane: {overflow: "${P}"}',
        'model: "${P}"',
        'pasword: "${P}"',
        'connect: {pasword: "${P}"}',
        'connect: {password: ["${P}"]}',
        'connect: {transport: "${P}"}',
        'outputs: [{type: "${P}"}]',
        'outputs: [{type: jsonl, path: "${P}/{x}"}]',
        'outputs: [{type: video, path: "${P}"}]',
        'outputs: [{type: mqtt, url: "rtsp://u:${P}@h"}]',
        'weight: "rtsp://u:hunter2@h"',
        "weight: {a: 'hunter2'}",
        "'rtsp://u:hunter2@h': 1",
        "connect: {backoff_s: [hunter2-x]}",
    ],
)
@pytest.mark.parametrize("name", ["P", "GATE_PASSWORD"])
def test_no_fault_shows_a_value_of_the_environment_or_a_password(more: str, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(one_stream(more.replace("${P}", f"${{{name}}}")), environ={name: "hunter2"})
    error = caught.value
    assert "hunter2" not in f"{error} {error!r} {error.faults!r}"
    assert error.__cause__ is None
    assert error.__context__ is None


def test_building_a_wrong_stream_in_code_shows_no_input() -> None:
    with pytest.raises(ValueError, match="validation error") as caught:
        StreamConfig.model_validate(
            {"id": "A", "source": "rtsp://u:hunter2@h", "connect": {"pasword": "hunter2"}}
        )
    assert "hunter2" not in str(caught.value)


def test_a_secret_that_stands_in_a_path_is_not_shown() -> None:
    config = load(
        one_stream("outputs: [{type: jsonl, path: 'out/${GATE_PASSWORD}.jsonl'}]"),
        environ={"GATE_PASSWORD": "hunter2"},
    )
    assert "hunter2" not in repr(config)
    assert "hunter2" not in str(config)
    assert config.streams[0].output_paths() == ["out/hunter2.jsonl"]
