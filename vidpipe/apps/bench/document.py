"""A bench's report as JSON. Tools are written against the keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vidpipe.apps.bench.floor import floor_words
from vidpipe.apps.bench.rows import BenchReport, Row


def document_from_report(report: BenchReport) -> dict[str, Any]:
    """Return what ``vidpipe bench --json`` prints."""
    by_group = {(row.group, row.name): row for row in report.rows}
    return {
        "config": report.config,
        "started_at": report.started_at,
        "is_complete": report.is_complete,
        "subject": report.subject,
        "machine": asdict(report.machine),
        "rows": [_row(row) for row in report.rows],
        "stages": [_rounded(asdict(stage)) for stage in report.stages],
        "floor": floor_words(report.stages, report.machine.cores) if report.stages else None,
        "knee": {
            knee.axis: {
                "row": knee.row,
                "value": _value(by_group.get((f"sweep {knee.axis}", knee.row))),
                "why": knee.why,
            }
            for knee in report.knees
        },
        "advice": report.advice.yaml if report.advice else None,
        "advice_caveat": (report.advice.caveat or None) if report.advice else None,
        "advised": dict(report.advice.settings) if report.advice else None,
        "efficiency": round(report.efficiency.ratio, 4) if report.efficiency else None,
        "ceiling": _rounded(asdict(report.efficiency)) if report.efficiency else None,
        "cameras": _rounded(asdict(report.cameras)) if report.cameras else None,
        "goal": asdict(report.goal) if report.goal else None,
        "notes": list(report.notes),
    }


def _row(row: Row) -> dict[str, Any]:
    return _rounded({**asdict(row), "settings": dict(row.settings)})


def _value(row: Row | None) -> object:
    return row.axis_value if row else None


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    """Round what was measured: more digits would only pretend."""
    return {
        key: _rounded(value)
        if isinstance(value, dict)
        else round(value, 4)
        if isinstance(value, float)
        else value
        for key, value in fields.items()
    }
