from __future__ import annotations

from pathlib import Path

import pytest

from tests.config_files import load, one_stream
from vidpipe.apps.wall import wall_source, with_wall
from vidpipe.errors import ConfigError


def test_a_file_without_a_server_gets_one_for_this_machine_alone() -> None:
    config = with_wall(load(one_stream()))
    assert config.server is not None
    assert (config.server.host, config.server.port) == ("127.0.0.1", 8080)
    assert config.wall is not None
    assert config.wall.fps == 10


def test_what_the_file_says_stays() -> None:
    text = one_stream() + "server: {port: 9000}\nwall: {fps: 4, groups: {all: [gate]}}\n"
    config = with_wall(load(text))
    assert config.server is not None
    assert config.server.port == 9000
    assert config.wall is not None
    assert config.wall.fps == 4
    assert config.wall.groups == {"all": ("gate",)}


def test_the_file_is_read_again_with_its_overrides_and_its_wall(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(one_stream(), "utf-8")
    source = wall_source(path, ["streams.gate.weight=3"], is_watched=True)
    config = source.load()
    assert source.is_watched
    assert config.streams[0].weight == 3
    assert config.server is not None
    path.write_text("version: 2\n", "utf-8")
    with pytest.raises(ConfigError):
        source.load()
