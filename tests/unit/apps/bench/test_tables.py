"""The report as JSON and as tables, by hand-made rows."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import yaml
from rich.console import Console

from tests.bench_rows import configured_row, make_row
from vidpipe.apps.bench.document import document_from_report
from vidpipe.apps.bench.rows import (
    Advice,
    BenchReport,
    Cameras,
    Efficiency,
    Goal,
    Knee,
    Machine,
    StageCost,
)
from vidpipe.apps.bench.tables import parts_from_report

MACHINE = Machine("Some CPU", 2, 8192, "Linux 6", {"CPU": "Some CPU"}, {"openvino": "2026.4"})
FAILED = replace(
    make_row("mode", "batched", 0.0), error="the self-test failed\nset mode: shared", rounds=0
)


def full_report() -> BenchReport:
    return BenchReport(
        config="c.yml",
        started_at="2026-11-30T05:00:00+00:00",
        machine=MACHINE,
        subject="1 stream [red]",
        rows=(
            configured_row(123.456),
            make_row("requests", 1, 50.0),
            make_row("requests", 4, 100.0),
            FAILED,
        ),
        stages=(StageCost("decode", 2.0, 1000.0), StageCost("inference", 4.0, 500.0, "person")),
        knees=(Knee("requests", "requests 4", "it stops there"),),
        advice=Advice("models:\n  person:\n    requests: 4   # so\n", {"requests": 4}),
        efficiency=Efficiency(5.0, 5.5, 0.909, 0.9, 0.92, 350.0, 380.0, {"decode": 2.0}, 3),
        cameras=Cameras(7, 5.0, 25.0, "inference", "7 cameras hold", "1920x1080"),
        goal=Goal(
            "fps=25", is_met=True, row="latency", settings={"hint": "latency"}, why="it does"
        ),
        notes=("a note [b]",),
        is_complete=False,
    )


def printed(report: BenchReport, width: int = 110) -> str:
    out = StringIO()
    console = Console(file=out, width=width)
    for part in parts_from_report(report):
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))
    return out.getvalue()


def test_everything_is_said() -> None:
    text = printed(full_report())
    for words in (
        "Some CPU, 2 cores, 8 GB, Linux 6, OpenVINO 2026.4",
        "1 stream [red]",
        "as configured",
        "123.5",
        "20 / 40 / 60",
        "mode batched: not measured: the self-test failed; set mode: shared",
        "knee: it stops there",
        "at most 500 frames a second",
        "efficiency 0.909 (0.900 to 0.920, 3 rounds)",
        "cameras of 1920x1080: 7 cameras hold",
        "gives out first: inference",
        "goal fps=25: it does",
        "    requests: 4   # so",
        "a note [b]",
        "stopped early",
    ):
        assert words in text, words


def test_no_figure_is_cut_in_eighty_columns() -> None:
    text = printed(full_report(), width=80)
    assert "20 / 40 / 60" in text
    assert "121..125" in text


def test_a_report_of_nothing_can_be_printed() -> None:
    empty = BenchReport("c.yml", "2026-11-30T05:00:00+00:00", MACHINE)
    assert "Some CPU" in printed(empty)
    document = document_from_report(empty)
    assert (document["rows"], document["knee"], document["advice"]) == ([], {}, None)


def test_json_has_the_keys_that_tools_are_written_against() -> None:
    document = json.loads(json.dumps(document_from_report(full_report())))
    assert {"machine", "rows", "knee", "advice", "efficiency"} <= set(document)
    first, *_, failed = document["rows"]
    assert {
        *("name", "fps", "p50_ms", "p95_ms", "p99_ms"),
        *("cpu_ms_per_frame", "rss_mb", "threads"),
    } <= set(first)
    assert first["fps"] == 123.456
    assert failed["error"].startswith("the self-test failed")
    assert document["knee"] == {
        "requests": {"row": "requests 4", "value": 4, "why": "it stops there"}
    }
    assert yaml.safe_load(document["advice"]) == {"models": {"person": {"requests": 4}}}
    assert document["advised"] == {"requests": 4}
    assert document["advice_caveat"] is None
    assert (document["efficiency"], document["ceiling"]["ceiling_cpu_ms"]) == (0.909, 5.0)
    assert "inference" in document["floor"]


def test_json_says_of_the_advice_that_it_misses_the_goal() -> None:
    advice = Advice("# nearest\nmodels:\n", {"requests": 4}, "nearest to the goal")
    document = document_from_report(replace(full_report(), advice=advice))
    assert document["advice_caveat"] == "nearest to the goal"
    assert "# nearest" in printed(replace(full_report(), advice=advice))
