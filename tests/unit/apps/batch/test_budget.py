"""How much is at work at once follows the machine, and in a container the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch import budget


def test_what_a_container_has_read_of_files_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {
        "max": "8000",
        "current": "7900",
        "stat": "anon 1000\nfile 6900\ninactive_file 5000\nactive_file 1500\n",
    }
    for name, text in entries.items():
        (tmp_path / name).write_text(text)
    for name, file in {"_LIMIT": "max", "_USED": "current", "_USE": "stat"}.items():
        monkeypatch.setattr(budget, name, tmp_path / file)
    assert budget.free_memory_bytes() == 100 + 6500
    (tmp_path / "max").write_text("max\n")
    free = budget.free_memory_bytes()
    assert free is None or free > 10_000
