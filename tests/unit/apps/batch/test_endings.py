"""What a batch says at its beginning and its end can be read, whatever files are called."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from vidpipe.apps.batch.discover import Discovery, InputFile, PassedOver
from vidpipe.apps.batch.endings import (
    closing_lines,
    closing_table,
    nothing_to_do,
    opening_lines,
)
from vidpipe.apps.batch.formats.results import FileOutcome, FileState, RunSummary
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.run import Stop, StopCause
from vidpipe.apps.batch.survey import Forecast, Survey

ODD = "a[/bold]\n\x1b[31mred\udcff.mp4"


def summary(*files: FileOutcome) -> RunSummary:
    return RunSummary(Path("out"), files, datetime(2026, 11, 30, tzinfo=UTC), 3.0)


def test_a_name_is_one_line_and_no_command_to_the_terminal() -> None:
    files = [FileOutcome(ODD, FileState.FAILED, "it is [/red] broken")]
    out = io.StringIO()
    Console(file=out, width=200).print(closing_table(files))
    said = [*out.getvalue().splitlines(), *closing_lines(summary(*files), None, {}, is_fresh=False)]
    for line in said:
        line.encode()
        assert "\x1b" not in line
        assert "\n" not in line
    assert sum("a[/bold]" in line and "[/red]" in line for line in said) == 2


def test_how_to_go_on_is_told_so_that_nothing_is_done_twice() -> None:
    left = summary(FileOutcome("a.mp4", FileState.UNFINISHED))
    stop = Stop(StopCause.SIGNAL, "SIGINT")
    (line,) = (x for x in closing_lines(left, stop, {}, is_fresh=False) if "stopped" in x)
    assert line.endswith("run the same command again")
    (line,) = (x for x in closing_lines(left, stop, {}, is_fresh=True) if "stopped" in x)
    assert line.endswith("run the same command again without --fresh")


def test_a_thousand_remarks_are_no_thousand_lines() -> None:
    files = [FileOutcome(f"{n}.mp4", FileState.DONE, "a remark") for n in range(1000)]
    said = list(closing_lines(summary(*files), None, {}, is_fresh=False))
    assert len(said) < 40
    assert "and 980 more remarks: see summary.json" in said


def test_the_beginning_tells_what_is_left() -> None:
    files = tuple(
        InputFile(Path("/in") / name, name, Kind.VIDEO, Path("/in")) for name in ("a.mp4", "b.mp4")
    )
    found = Discovery(files, ())
    ahead = Survey({"a.mp4": 500.0, "b.mp4": 500.0}, 40.0, {}, 1000, None, is_exact=True)
    said = list(opening_lines(found, ahead, Forecast(500, 7_000_000, 1), 5_000_000, 100.0))
    assert "1 of them are done, 500 frames are left" in said
    assert "at 100 frames a second it takes about 5 s" in said
    assert "results: about 7 MB; 5 MB are free" in said
    assert any("too little room" in line for line in said)
    said = list(opening_lines(found, ahead, Forecast(1000, 1, 0), 5_000_000, None))
    assert any("how long it takes" in line for line in said)


def test_where_there_is_nothing_it_says_why() -> None:
    skipped = [PassedOver(f"{n}.txt", "another kind of file (.txt)") for n in range(5)]
    text = nothing_to_do(["in"], Discovery((), tuple(skipped)))
    assert text.startswith("nothing to analyse in in; 0.txt: another kind of file (.txt); ")
    assert text.endswith("; 2 more")
