"""An input is known again, and a changed one says how."""

from __future__ import annotations

import os
from pathlib import Path

from vidpipe.apps.batch.identity import difference, identify


def test_an_untouched_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(bytes(5_000_000))
    assert difference(identify(path), identify(path)) == ""


def test_another_size_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"abc")
    before = identify(path)
    path.write_bytes(b"abcd")
    assert difference(before, identify(path)) == "the input has 4 bytes, no longer 3"


def test_another_content_is_a_change_even_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(bytes(3_000_000))
    before = identify(path)
    for at in (0, 2_999_999):
        content = bytearray(3_000_000)
        content[at] = 1
        path.write_bytes(content)
        os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
        assert difference(before, identify(path)) == "the input's content has changed"


def test_another_time_is_a_change_unless_all_is_hashed(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"abc")
    ends, full = identify(path), identify(path, is_full=True)
    os.utime(path, ns=(1, 1))
    assert "written to" in difference(ends, identify(path))
    assert difference(full, identify(path, is_full=True)) == ""
    assert "written to" in difference(full, identify(path))


def test_a_change_in_the_middle_is_found_where_all_is_hashed(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(bytes(5_000_000))
    before = identify(path, is_full=True)
    content = bytearray(5_000_000)
    content[2_500_000] = 1
    path.write_bytes(content)
    os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
    assert difference(before, identify(path, is_full=True))
