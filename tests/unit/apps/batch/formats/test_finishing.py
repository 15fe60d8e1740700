"""A file is replaced by a whole one, or stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch.formats.finishing import replaced


def test_a_whole_file_replaces_the_one_before(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a.json"
    for content in (b"first", b"second"):
        with replaced(target, target.with_name("a.partial"), times_ns=(5, 7)) as file:
            file.write(content)
        assert target.read_bytes() == content
        assert target.stat().st_mtime_ns == 7
    assert list(target.parent.iterdir()) == [target]


def test_what_fails_on_the_way_leaves_the_one_before(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_bytes(b"first")

    def fail() -> None:
        with replaced(target, tmp_path / "a.partial") as file:
            file.write(b"half")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"first"


def test_where_a_folder_has_the_name_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.mkdir()
    with pytest.raises(IsADirectoryError), replaced(target, tmp_path / "a.partial") as file:
        file.write(b"whole")
    assert list(tmp_path.iterdir()) == [target]
