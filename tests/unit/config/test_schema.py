from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.config_files import fault_of, faults_of, load, one_stream
from vidpipe.config.schema import Config

DATA: dict[str, Any] = {
    "version": 1,
    "models": {"person": {"zoo": "person-ssdlite"}},
    "streams": [{"id": "gate", "source": "clip.mp4", "model": "person"}],
}


def test_the_sections_of_later_versions_are_checked_already() -> None:
    config = Config.model_validate(
        DATA
        | {
            "server": {
                "port": 0,
                "tokens": [{"role": "viewer", "token": "x"}],
                "tls": {"cert": "a.crt", "key": "a.key"},
            },
            "wall": {"fps": 5, "groups": {"yard": ["gate"]}},
            "events": {"classes": ["person"]},
            "outbox": {},
            "workers": 4,
        }
    )
    assert config.server is not None
    assert (config.server.host, config.server.tokens[0].role) == ("127.0.0.1", "viewer")
    assert config.outbox is not None
    assert config.outbox.path == Path("out/outbox.db")
    keys = [fault.key for fault in faults_of(one_stream() + "server: {prt: 1, port: 70000}\n")]
    assert keys == ["server.prt", "server.port"]


def test_a_configuration_cannot_be_changed() -> None:
    config = Config.model_validate(DATA)
    with pytest.raises(ValidationError):
        config.workers = 2  # type: ignore[misc] # what is tested


def test_telemetry_is_read() -> None:
    config = load(one_stream() + "telemetry: {log_level: debug, log_file: ~/v.log}\n")
    assert config.telemetry.log_level == "DEBUG"
    assert config.telemetry.log_file == Path("~/v.log").expanduser()
    fault = fault_of(one_stream() + "telemetry: {log_level: loud}\n")
    assert "expected one of TRACE, DEBUG, INFO" in fault.message


@pytest.mark.parametrize("version", ["0", "2", "1.0", "'1'", "one", "true", "[1]", "01"])
def test_only_version_1_is_read(version: str) -> None:
    fault = fault_of(one_stream().replace("version: 1", f"version: {version}"))
    assert (fault.place, fault.key) == ("c.yml:1:10", "version")
    assert "expected 1" in fault.message


@pytest.mark.parametrize(
    "text", ["shutdown_timeout_s: 0", "workers: 0", "workers: 257", "cache_dir: ''"]
)
def test_the_roots_own_keys_have_bounds(text: str) -> None:
    assert fault_of(one_stream() + text + "\n").key == text.partition(":")[0]
