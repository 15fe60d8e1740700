from __future__ import annotations

import pytest

from tests.config_files import faults_of, load, one_model, one_stream


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (one_stream() + "server: {tls: {cert: a.crt, key: a.key}}\n", "server.tls"),
        (one_stream() + "wall: {fps: 5}\n", "wall"),
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
    faults = faults_of(one_stream() + "wall: {fps: '${W}'}\n", environ={"W": "5"})
    assert faults[0].message.startswith("not yet supported in this version: wall")
