"""The status table of a terminal: no number is ever cut, and what is in trouble is seen."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from tests.overviews import FakeOverview, busy_meter, make_pool, make_report
from vidpipe.apps.status import (
    closing_lines,
    drops_from_rows,
    line_from_row,
    line_from_rows,
    lines_from_stages,
    lines_from_view,
    screen_from_view,
    table_from_rows,
    table_from_stages,
)
from vidpipe.runtime.durations import Stage
from vidpipe.runtime.meters import StreamMeter
from vidpipe.telemetry.board import StatusBoard
from vidpipe.telemetry.rows import RunView, StreamRow
from vidpipe.types import DropCause, StreamState

S = StreamState


def row(stream: str, state: StreamState = S.BACKING_OFF, *, is_live: bool = True) -> StreamRow:
    """Return a busy stream's row."""
    meter = StreamMeter()
    for _ in range(12_345):
        meter.count_captured()
    meter.count_dropped(DropCause.AGE, 1234)
    meter.count_dropped(DropCause.LANE, 5000)
    meter.count_processed(1.25, 987_654)
    stats = meter.snapshot()
    report = make_report(state, is_live=is_live)
    return StreamRow(stream, stream, report, stats, 0, 1234.5, 1000.5, stats.age, 0, 0)


def shown(what: RenderableType, columns: int = 80, *, markup: bool = True) -> str:
    """Return what a terminal of that width shows."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)
    console.print(what, markup=markup)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def view(*rows: StreamRow, seconds: float = 10.0) -> RunView:
    """Return a run of these streams, with one pool and every stage."""
    overview = FakeOverview()
    for stage in Stage:
        overview.stage_meters.record(stage, 0.0025)
    board = StatusBoard(FakeOverview(), 0.0)
    known = board.view(seconds)
    return replace(known, rows=rows, stages=overview.stages(), cpu_cores=1.87, seconds=seconds)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("markup", [True, False])
def test_no_number_is_cut_however_long_the_ids(columns: int, *, markup: bool) -> None:
    rows = [row("gate"), *(row(f"a-stream-of-a-very-long-name-{n:060}") for n in range(12))]
    text = shown(table_from_rows(rows, "vidpipe"), columns, markup=markup)
    assert max(map(len, text.splitlines())) <= columns
    bodies = [line for line in text.splitlines() if "backing-off" in line]
    assert len(bodies) == 13
    assert bodies[0].split()[0] == "gate"
    for body in bodies:
        words = body.split()[1:]
        assert words[:3] == ["backing-off", "1234.5", "1000.5"]
        assert words[3:6] == ["1294", "/", "1351"]
        assert words[-3:] == ["12345", "6234", "987654"]


@pytest.mark.parametrize("state", StreamState)
def test_a_state_is_said_in_words(state: StreamState) -> None:
    table = table_from_rows([row("gate", state)], "vidpipe")
    assert f"gate {state} " in " ".join(shown(table, markup=False).split())


def test_a_recorded_file_is_playing_and_not_live() -> None:
    file = row("gate", S.LIVE, is_live=False)
    assert "gate playing " in " ".join(shown(table_from_rows([file], "vidpipe")).split())
    assert line_from_row(file).startswith("gate: playing, ")
    assert line_from_rows([file, row("dock", S.LIVE)]).startswith(
        "2 streams (1 playing, 1 live): in "
    )


def test_drops_are_told_by_cause() -> None:
    assert drops_from_rows([row("gate")]) == ["gate: 6234 (age 1234 lane 5000) dropped"]
    assert "6234 (age 1234 lane 5000) dropped" in line_from_row(row("gate"))


def test_one_is_no_plural() -> None:
    stats = busy_meter(1).snapshot()
    one = replace(row("gate", S.LIVE), stats=stats)
    assert "1 frame captured, 1 processed, 0 dropped, 1 detection, " in line_from_row(one)
    assert line_from_rows([one]).startswith("1 stream (1 live)")
    assert line_from_rows([one]).endswith("0 dropped, 1 detection")
    assert "lanes: 1 frame waiting" in lines_from_view(view(replace(one, depth=1)))[-1]


@pytest.mark.parametrize(("columns", "height"), [(80, 24), (80, 50), (120, 40), (200, 24)])
def test_a_hundred_streams_fit_on_the_screen_with_the_ones_in_trouble_first(
    columns: int, height: int
) -> None:
    rows = [row(f"stream-{n:03}", S.LIVE) for n in range(100)]
    rows[7] = row("ended", S.ENDED)
    rows[97] = replace(row("losing", S.LIVE), lost=3)
    rows[98] = row("lost", S.BACKING_OFF)
    rows[99] = row("failed", S.FAILED)
    text = shown(screen_from_view(view(*rows), "vidpipe", height), columns)
    lines = text.splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= columns
    shown_rows = [line.split()[0] for line in lines if "1234.5" in line]
    assert shown_rows[:4] == ["failed", "lost", "losing", "stream-000"]
    assert "ended" not in shown_rows
    left_out = 100 - len(shown_rows)
    assert f"… and {left_out} more: {left_out - 1} live, 1 ended" in text
    assert " ".join(f"{stage} 2.5" for stage in Stage) in text


def test_what_fits_stays_in_the_order_of_the_configuration() -> None:
    rows = [row("a", S.LIVE), row("b", S.FAILED), row("c", S.ENDED)]
    text = shown(screen_from_view(view(*rows), "vidpipe", 40))
    assert [line.split()[0] for line in text.splitlines() if "1234.5" in line] == ["a", "b", "c"]
    assert "more:" not in text
    assert "stage, ms" in text
    assert len(text.splitlines()) < 40


@pytest.mark.parametrize("height", [1, 5, 10])
def test_a_very_low_terminal_still_shows_the_worst(height: int) -> None:
    rows = [row(f"stream-{n:03}", S.LIVE) for n in range(10)] + [row("failed", S.FAILED)]
    assert "failed" in shown(screen_from_view(view(*rows), "vidpipe", height))


def test_pools_lanes_errors_and_the_machine_are_told() -> None:
    pools = (
        make_pool("person/latency", "person"),
        make_pool("person/throughput", "person", is_ready=False),
        make_pool("face", batches=10, batched_frames=30, batch_places=40),
    )
    rows = [replace(row("gate"), failed=5, depth=2), replace(row("dock"), depth=3)]
    known = replace(
        view(*rows), pools=pools, switches={"person": 2}, gpus={"card0": 0.634}, cpu_cores=1.87
    )
    assert lines_from_view(known) == [
        "requests of person in 2 pools: 6 running, 4 free, 0 parked, switched 2 times, "
        "1 pool NOT READY",
        "requests of face: 3 running, 2 free, 0 parked, batches 75 % full",
        "lanes: 5 frames waiting, at most 3; 0 errors, 0.5 a second; CPU 187 %; card0 63 %",
    ]
    assert closing_lines(known) == [
        "person: switched 2 times",
        "face: batches 75 % full",
        "0 errors; CPU 187 % on average; card0 63 % on average",
    ]


def test_stages_are_told_with_mean_and_percentiles() -> None:
    stages = {Stage.INFER: busy_meter(3, age_s=0.0125).snapshot().age}
    (line,) = lines_from_stages(stages)
    assert line.startswith("stage infer: mean 12.5, p50 12.")
    assert line.endswith(" ms, 3 frames")
    words = shown(table_from_stages(stages)).split()
    assert words[:8] == ["stage,", "ms", "mean", "p50", "p95", "p99", "frames", words[7]]
    assert words[-6:-4] == ["infer", "12.5"]
    assert words[-1] == "3"
