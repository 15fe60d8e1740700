"""People are told how it stands, and nobody is waited for."""

from __future__ import annotations

import io
import threading

import pytest
from rich.console import Console
from rich.table import Table

from vidpipe.apps.batch.progress import show_table, unhurried


@pytest.mark.timeout(20)
def test_a_run_doesnt_wait_for_who_reads_its_lines() -> None:
    reads = threading.Event()
    heard: list[str] = []

    def held(line: str) -> None:
        reads.wait()
        heard.append(line)

    with unhurried(Console(file=io.StringIO()), held) as write:
        for number in range(100):
            write(f"{number}\n")
        reads.set()
    assert heard[-1] == "99\n"


def test_a_table_is_shown_without_a_terminal_too() -> None:
    table = Table()
    table.add_column("file")
    table.add_row("a.mp4")
    heard: list[str] = []
    show_table(table, Console(file=io.StringIO()), heard.append)
    assert "a.mp4" in "".join(heard)
    assert "\x1b" not in "".join(heard)
