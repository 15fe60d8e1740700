"""What ``vidpipe models quantize`` says at its end, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from vidpipe.apps.quantize import QuantizeReport
from vidpipe.inference.agreement import LEAST_IOUS, Agreement
from vidpipe.inference.worth import Worth

_MEGA = 1e6


def quantize_document(report: QuantizeReport) -> dict[str, Any]:
    """Return a report for programs."""
    return {
        "model": report.model,
        "family": report.family,
        "output": str(report.output),
        "frames": {
            "sources": report.counts,
            "used": report.used,
            "held_back": report.held_back,
            "labelled": report.labelled,
        },
        "before": _worth_document(report.before),
        "after": _worth_document(report.after),
        "speedup": round(report.after.inferences_per_s / report.before.inferences_per_s, 3),
        "warnings": list(report.warnings),
        "failures": list(report.failures),
    }


def _worth_document(worth: Worth) -> dict[str, Any]:
    agreement = worth.agreement
    return {
        "path": str(worth.path),
        "size_bytes": worth.size_bytes,
        "inferences_per_s": round(worth.inferences_per_s, 1),
        "cpu_ms": round(worth.cpu_ms, 3),
        "agreement": {
            "pictures": agreement.pictures,
            "expected": agreement.expected,
            "reported": agreement.reported,
            **{
                f"iou_{least_iou:g}": {
                    "found": agreement.found[index],
                    "added": agreement.added[index],
                }
                for index, least_iou in enumerate(LEAST_IOUS)
            },
            "score_difference": agreement.score_difference,
        },
        "mean_average_precision": worth.accuracy,
    }


def quantize_table(report: QuantizeReport) -> Table:
    """Return a report for people."""
    before, after = report.before, report.after
    table = Table(title=str(report.output), title_justify="left")
    for column, justify in (("", "left"), ("original", "right"), ("INT8", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type] # one of the words
    table.add_column("")
    table.add_row(
        "size",
        *(f"{worth.size_bytes / _MEGA:.2f} MB" for worth in (before, after)),
        f"{after.size_bytes / before.size_bytes:.0%}",
    )
    table.add_row(
        "inferences a second here",
        *(f"{worth.inferences_per_s:.1f}" for worth in (before, after)),
        f"x {after.inferences_per_s / before.inferences_per_s:.2f}",
    )
    table.add_row(
        "ms of CPU an inference",
        *(f"{worth.cpu_ms:.2f}" for worth in (before, after)),
        f"{after.cpu_ms / before.cpu_ms:.0%}",
    )
    for index, least_iou in enumerate(LEAST_IOUS):
        table.add_row(
            f"objects found, IoU {least_iou:g}",
            *_cells(report, lambda a, index=index: _count(a.found[index], a.expected)),  # type: ignore[misc]
        )
    for index, least_iou in enumerate(LEAST_IOUS):
        table.add_row(
            f"objects added, IoU {least_iou:g}",
            *_cells(report, lambda a, index=index: _count(a.added[index], a.reported)),  # type: ignore[misc]
        )
    table.add_row("mean score difference", *_cells(report, _difference), "")
    if after.accuracy is not None and before.accuracy is not None:
        table.add_row(
            "mAP at IoU 0.5", f"{before.accuracy:.3f}", f"{after.accuracy:.3f}", "on the labels"
        )
    return table


def quantize_lines(report: QuantizeReport) -> list[str]:
    """Return what stands below the table, one sentence a line."""
    sources = ", ".join(f"{name} {count}" for name, count in report.counts.items())
    return [
        f"frames: {sources}",
        f"quantised with {report.used} of them; found and added: against the original in 32 bits,"
        f" on the {report.held_back} held back",
        *(f"warning: {text}" for text in report.warnings),
        *(f"failed: {text}" for text in report.failures),
    ]


def _cells(report: QuantizeReport, show: Callable[[Agreement], str]) -> tuple[str, str]:
    return show(report.before.agreement), show(report.after.agreement)


def _count(count: int, total: int) -> str:
    return f"{count} of {total} {count / total:7.1%}" if total else "-"


def _difference(agreement: Agreement) -> str:
    difference = agreement.score_difference
    return "-" if difference is None else f"{difference:.3f}"
