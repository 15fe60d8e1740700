"""What an earlier analysis has left goes with its results, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

from vidpipe.apps.batch.folder import OutputFolder


def test_what_was_made_of_results_goes_with_them(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    result = folder.result("a.mp4")
    result.write_bytes(b"{}\n")
    times_ns = result.stat().st_atime_ns, result.stat().st_mtime_ns
    for suffix in (".csv", ".mp4", ".contact.jpg", ".mot.txt"):
        made = tmp_path / f"a.mp4{suffix}"
        made.write_bytes(b"x")
        os.utime(made, ns=times_ns)
    (tmp_path / "a.mp4.txt").write_bytes(b"mine")
    (tmp_path / "b.mp4.csv").write_bytes(b"another's")
    folder.forget_results("a.mp4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4.txt", "b.mp4.csv"]


def test_what_somebody_else_has_put_there_stays(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    folder.result("a.mp4").write_bytes(b"{}\n")
    (tmp_path / "a.mp4.mp4").write_bytes(b"mine")
    os.utime(tmp_path / "a.mp4.mp4", ns=(1, 1))
    folder.forget_results("a.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4.mp4"]
