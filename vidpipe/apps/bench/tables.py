"""A bench's report for people: tables and lines for a terminal, or for a README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from vidpipe.apps.bench.floor import floor_words, stage_detail
from vidpipe.apps.bench.machine import machine_line
from vidpipe.apps.bench.rows import BenchReport, Efficiency, Row, StageCost


def parts_from_report(report: BenchReport) -> Iterator[Table | str]:
    """Yield what is printed, from top to bottom; lines are without markup."""
    yield machine_line(report.machine)
    if report.subject:
        yield report.subject
    if report.stages:
        yield from ("", stages_table(report.stages))
        yield floor_words(report.stages, report.machine.cores)
    yield from _groups(report)
    if report.efficiency is not None:
        yield from ("", *_efficiency_lines(report.efficiency))
    if report.cameras is not None:
        kind = f" of {report.cameras.kind}" if report.cameras.kind else ""
        yield from ("", f"cameras{kind}: {report.cameras.why}")
        yield f"gives out first: {report.cameras.limit}"
    if report.goal is not None:
        yield from ("", f"goal {report.goal.text}: {report.goal.why}")
    if report.advice is not None:
        yield from ("", "advice, to be pasted into the configuration:", report.advice.yaml.rstrip())
    yield from ("", *report.notes) if report.notes else ()
    if not report.is_complete:
        yield from ("", "stopped early: this is what had been measured")


def _groups(report: BenchReport) -> Iterator[Table | str]:
    """Yield a table for each group of rows, with what is to be said of it below."""
    for group, rows in groupby(report.rows, key=lambda row: row.group):
        members = list(rows)
        yield from ("", rows_table(group, members))
        for row in members:
            if row.error:
                yield f"{row.name}: not measured: {'; '.join(row.error.splitlines())}"
        yield from (f"knee: {k.why}" for k in report.knees if group == f"sweep {k.axis}")


def rows_table(title: str, rows: Sequence[Row]) -> Table:
    """Return points side by side; one that failed has dashes."""
    table = Table(
        title=Text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.add_column("point", no_wrap=True)
    for name in (
        "streams",
        "fps",
        "min..max",
        "age, ms\np50 / p95 / p99",
        "CPU ms\na frame",
        "memory\nMB",
        "threads",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(Text(row.name), *_figures(row))
    return table


def _figures(row: Row) -> list[str]:
    if not row.is_measured:
        return ["-"] * 7
    return [
        str(row.streams),
        f"{row.fps:.1f}",
        f"{row.fps_low:.0f}..{row.fps_high:.0f}" if row.rounds > 1 else "",
        f"{row.p50_ms:.0f} / {row.p95_ms:.0f} / {row.p99_ms:.0f}",
        f"{row.cpu_ms_per_frame:.2f}",
        f"{row.rss_mb:.0f}",
        str(row.threads),
    ]


def stages_table(stages: Sequence[StageCost]) -> Table:
    """Return the stages alone, one below the other."""
    table = Table(title="stages alone", title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("CPU ms a frame", justify="right")
    table.add_column("frames/s", justify="right")
    table.add_column("what")
    for stage in stages:
        figures = f"{stage.cpu_ms:.2f}", f"{stage.fps:.0f}"
        style = "bold" if stage.is_floor else None
        table.add_row(stage.name, *figures, Text(stage_detail(stage)), style=style)
    return table


def _efficiency_lines(efficiency: Efficiency) -> Iterator[str]:
    parts = " + ".join(f"{name} {cost:.2f}" for name, cost in efficiency.parts.items())
    yield (
        f"efficiency {efficiency.ratio:.3f} ({efficiency.low:.3f} to {efficiency.high:.3f}, "
        f"{efficiency.rounds} rounds)"
    )
    yield (
        f"  ceiling   {efficiency.ceiling_cpu_ms:.2f} ms of CPU a frame: {parts}, running together"
    )
    yield (
        f"  measured  {efficiency.measured_cpu_ms:.2f} ms of CPU a frame, {efficiency.fps:.1f} "
        "frames/s"
    )
