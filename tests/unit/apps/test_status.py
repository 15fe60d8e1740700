"""The status table of a terminal: no number is ever cut."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from vidpipe.apps.status import StreamRow, drops_from_rows, line_from_row, table_from_rows
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import DropCause, StreamState


def row(stream: str, state: StreamState = StreamState.BACKING_OFF) -> StreamRow:
    """Return a busy stream's row."""
    meter = StreamMeter()
    for _ in range(12_345):
        meter.count_captured()
    meter.count_dropped(DropCause.AGE, 1234)
    meter.count_dropped(DropCause.LANE, 5000)
    meter.count_processed(1.25, 987_654)
    stats = meter.snapshot()
    return StreamRow(stream, state, "", stats, 1234.5, 1000.5, stats.age)


def shown(rows: list[StreamRow], columns: int, *, markup: bool = True) -> str:
    """Return the table as a terminal of that width shows it."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)
    console.print(table_from_rows(rows, "vidpipe"), markup=markup)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("markup", [True, False])
def test_no_number_is_cut_however_long_the_ids(columns: int, *, markup: bool) -> None:
    rows = [row("gate"), *(row(f"a-stream-of-a-very-long-name-{n:060}") for n in range(12))]
    text = shown(rows, columns, markup=markup)
    assert max(map(len, text.splitlines())) <= columns
    bodies = [line for line in text.splitlines() if "backing-off" in line]
    assert len(bodies) == 13
    assert bodies[0].split()[0] == "gate"
    for body in bodies:
        words = body.split()[1:]
        assert words[:3] == ["backing-off", "1234.5", "1000.5"]
        assert words[3] == words[5]
        assert words[-3:] == ["12345", "6234", "987654"]


@pytest.mark.parametrize("state", StreamState)
def test_a_state_is_said_in_words(state: StreamState) -> None:
    assert f"gate {state} " in " ".join(shown([row("gate", state)], 80, markup=False).split())


def test_drops_are_told_by_cause() -> None:
    assert drops_from_rows([row("gate")]) == ["gate: 6234 (age 1234 lane 5000) dropped"]
    assert "6234 (age 1234 lane 5000) dropped" in line_from_row(row("gate"))
