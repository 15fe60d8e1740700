"""Hand-made results and rows of a bench."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vidpipe.apps.bench.job import RunResult
from vidpipe.apps.bench.rows import Row, Value


def make_result(**changes: Any) -> RunResult:
    """Return a run of one stream: 100 frames a second for two seconds, on one of two cores."""
    result = RunResult(
        seconds=2.0,
        frames=200,
        captured_of={"gate": 200},
        dropped=0,
        fps_of={"gate": 100.0},
        cpu_s=2.0,
        cpu_of={"decode": 0.6, "inference": 1.2, "boxes": 0.2},
        busiest_s=0.6,
        others_cpu_s=0.0,
        p50_ms=20.0,
        p95_ms=40.0,
        p99_ms=50.0,
        rss_mb=200.0,
        threads=12,
        requests=5,
        startup_s=0.5,
        source_fps=25.0,
        devices={"CPU": "Some CPU"},
        source_of={"gate": "1920x1080 h264"},
    )
    return replace(result, **changes)


def make_row(axis: str, value: Value, fps: float, p95_ms: float = 40.0, **changes: Any) -> Row:
    """Return a measured point of a sweep."""
    key = "batch.size" if axis == "batch" else axis
    fields: dict[str, Any] = {
        "name": f"{axis} {value}",
        "group": f"sweep {axis}",
        "settings": {key: value},
        "axis": axis,
        "fps": fps,
        "p50_ms": p95_ms / 2,
        "p95_ms": p95_ms,
        "p99_ms": p95_ms * 1.5,
        "cpu_ms_per_frame": 5.0,
        "rss_mb": 200.0,
        "threads": 12,
        "fps_low": fps - 2,
        "fps_high": fps + 2,
        "rounds": 3,
        "streams": 1,
    }
    return Row(**{**fields, **changes})


def configured_row(fps: float = 100.0, **changes: Any) -> Row:
    """Return the configuration as it is."""
    row = make_row("", "", fps, **changes)
    return replace(row, name="as configured", group="configured", settings={})
