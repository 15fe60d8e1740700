"""A bench as one HTML page that loads nothing: figures, curves, and what to make of them.

It stands alone (mailed, archived, opened without a network), runs no script, follows the reader's
light or dark, and prints. Every text from outside is escaped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import mkstemp

from vidpipe.apps.bench.curves import comparison_chart, require_charts, stage_chart, sweep_chart
from vidpipe.apps.bench.floor import floor_words, stage_detail
from vidpipe.apps.bench.pagestyle import PAGE_STYLE
from vidpipe.apps.bench.rows import BenchReport, Efficiency, Machine, Row
from vidpipe.apps.markup import escaped
from vidpipe.errors import UsageError

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Should a text ever get past the escaping, the browser still loads and runs nothing."""

_HEADS = (
    "",
    "frames/s",
    "spread",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "CPU ms a frame",
    "memory MB",
    "threads",
)


def check_page(path: Path) -> None:
    """Check that a page can be made and written there: before hours are spent on measuring.

    Raises:
        UsageError: Matplotlib is not installed, or nothing can be written there.
    """
    require_charts()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(f"the page {path} can't be written: {exc.strerror}") from exc
    if path.is_dir():
        raise UsageError(f"the page {path} can't be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the page {path} can't be written: its folder may not be written to")


def write_page(report: BenchReport, path: Path) -> None:
    """Write the page under a temporary name, and then give it its own: it is never half.

    Raises:
        UsageError: Matplotlib is not installed, or the file can't be written.
    """
    text = page_from_report(report)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(descriptor, 0o666 & ~_umask())
                file.write(text)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise UsageError(f"the page {path} can't be written: {exc.strerror or exc}") from exc


def page_from_report(report: BenchReport) -> str:
    """Return the page.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    require_charts()
    title = escaped(f"vidpipe bench: {report.config}")
    body = "\n".join(_sections(report))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _sections(report: BenchReport) -> Iterator[str]:
    yield f'<p class="soft">{escaped(report.started_at)}</p>'
    if report.subject:
        yield f"<p>{escaped(report.subject)}</p>"
    if not report.is_complete:
        yield (
            '<p class="warning">Stopped early: what had been measured until then is here, and '
            "nothing else.</p>"
        )
    yield from _cards(report)
    yield from _advice(report)
    yield from _goal(report)
    yield from _cameras(report)
    for group, rows in _groups(report.rows).items():
        yield from _group(report, group, rows)
    yield from _stages(report)
    yield from _efficiency(report.efficiency)
    if report.notes:
        notes = "".join(f"<li>{escaped(note)}</li>" for note in report.notes)
        yield f"<section><h2>Notes</h2><ul>{notes}</ul></section>"
    yield from _machine(report.machine)


def _cards(report: BenchReport) -> Iterator[str]:
    """Yield the few figures that most readers came for."""
    cards: list[tuple[str, str]] = []
    configured = next(
        (row for row in report.rows if row.group == "configured" and row.is_measured), None
    )
    if configured is not None:
        cards.append((_number(configured.fps), "frames a second, as configured"))
        cards.append((f"{_number(configured.p95_ms)} ms", "p95 of latency, as configured"))
    if report.cameras is not None:
        count, rate = report.cameras.count, f"{report.cameras.rate_fps:g}"
        more = "" if report.cameras.is_bounded else " or more"
        cards.append((f"{count}{more}", f"cameras at {rate} frames a second"))
    if report.efficiency is not None:
        cards.append((f"{report.efficiency.ratio:.2f}", "of what the bare parts reach"))
    if cards:
        inner = "".join(
            f'<div class="card"><b>{escaped(figure)}</b><span>{escaped(words)}</span></div>'
            for figure, words in cards
        )
        yield f'<div class="cards">{inner}</div>'


def _advice(report: BenchReport) -> Iterator[str]:
    if report.advice is not None:
        yield (
            "<section><h2>Advice</h2><p>To paste into the configuration; each line says what was "
            f"measured.</p><pre>{escaped(report.advice.yaml, keeps_lines=True)}</pre></section>"
        )


def _goal(report: BenchReport) -> Iterator[str]:
    if report.goal is not None:
        goal = report.goal
        verdict = "met" if goal.is_met else "not met"
        yield f"<section><h2>Goal {escaped(goal.text)}: {verdict}</h2><p>{escaped(goal.why)}</p>"
        if goal.row:
            settings = ", ".join(f"{key}: {value}" for key, value in goal.settings.items())
            best = "Best" if goal.is_met else "Nearest"
            more = f" ({settings})" if settings else ""
            yield f"<p>{best}: {escaped(goal.row + more)}</p>"
        yield "</section>"


def _cameras(report: BenchReport) -> Iterator[str]:
    if report.cameras is not None:
        cameras = report.cameras
        yield (
            f"<section><h2>Cameras</h2><p>{escaped(cameras.why)}</p>"
            f'<p class="soft">{escaped(cameras.kind)}</p></section>'
        )


def _group(report: BenchReport, group: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield one sweep, comparison or search: its curves, what they say, and its table."""
    axis = next((row.axis for row in rows if row.axis), "")
    knee = next((knee for knee in report.knees if axis and knee.axis == axis), None)
    measured = [row for row in rows if row.is_measured]
    yield f"<section><h2>{escaped(_title(group))}</h2>"
    if len(measured) > 1:
        if axis and group.startswith("sweep"):
            yield f"<figure>{sweep_chart(axis, rows, knee.row if knee else None)}</figure>"
        else:
            yield f"<figure>{comparison_chart(group, rows)}</figure>"
    if knee is not None and group.startswith("sweep"):
        yield f"<p><b>Knee: {escaped(knee.row)}.</b> {escaped(knee.why)}</p>"
    marked = knee.row if knee is not None else report.goal.row if report.goal is not None else ""
    yield _table(_HEADS, [(_cells(row), row.name == marked) for row in rows])
    rounds = sorted({row.rounds for row in measured})
    if rounds:
        words = " or ".join(map(str, rounds))
        plural = "s" * (rounds != [1])
        yield (
            f'<p class="soft">Medians of {words} interleaved round{plural}; spread: from the '
            "slowest to the fastest.</p>"
        )
    yield "</section>"


def _stages(report: BenchReport) -> Iterator[str]:
    if not report.stages:
        return
    yield "<section><h2>Stages alone</h2>"
    yield f"<figure>{stage_chart(report.stages)}</figure>"
    yield f"<p>{escaped(floor_words(report.stages, report.machine.cores))}</p>"
    heads = ("", "CPU ms a frame", "frames/s alone", "measured with")
    lines = [
        (
            [
                _cell(stage.name),
                _cell(f"{stage.cpu_ms:.3g}"),
                _cell(_number(stage.fps)),
                _cell(stage_detail(stage), kind="words"),
            ],
            stage.is_floor,
        )
        for stage in report.stages
    ]
    yield f"{_table(heads, lines)}</section>"


def _efficiency(efficiency: Efficiency | None) -> Iterator[str]:
    if efficiency is None:
        return
    yield "<section><h2>Efficiency</h2>"
    yield (
        f"<p><b>{efficiency.ratio:.3f}</b> ({efficiency.low:.3f} to {efficiency.high:.3f} over "
        f"{efficiency.rounds} round{'s' * (efficiency.rounds != 1)}): the bare parts, running "
        "together without vidpipe, take "
        f"{efficiency.ceiling_cpu_ms:.2f} ms of CPU a processed frame; the run took "
        f"{efficiency.measured_cpu_ms:.2f}.</p>"
    )
    lines = [
        ([_cell(f"bare {name}"), _cell(f"{cost:.2f}"), _cell("")], False)
        for name, cost in efficiency.parts.items()
    ]
    ceiling_fps = _number(efficiency.ceiling_fps) if efficiency.ceiling_fps else ""
    lines.append(
        (
            [
                _cell("bare parts together"),
                _cell(f"{efficiency.ceiling_cpu_ms:.2f}"),
                _cell(ceiling_fps),
            ],
            False,
        )
    )
    measured = [
        _cell("vidpipe"),
        _cell(f"{efficiency.measured_cpu_ms:.2f}"),
        _cell(_number(efficiency.fps)),
    ]
    lines.append((measured, True))
    yield f"{_table(('', 'CPU ms a frame', 'frames/s'), lines)}</section>"


def _machine(machine: Machine) -> Iterator[str]:
    plural = "s" * (machine.cores != 1)
    facts = [
        ("processor", f"{machine.cpu}, {machine.cores} core{plural} for this process"),
        ("memory", f"{machine.memory_mb / 1024:.1f} GiB"),
        ("system", machine.system),
        *((f"device {name}", full) for name, full in machine.devices.items()),
        ("versions", ", ".join(f"{name} {value}" for name, value in machine.versions.items())),
        ("other load", f"{machine.load:.2f} a core before the start"),
    ]
    inner = "".join(
        f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in facts if value
    )
    yield f"<section><h2>Machine</h2><dl>{inner}</dl></section>"


def _groups(rows: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return groups


def _title(group: str) -> str:
    return "As configured" if group == "configured" else group[:1].upper() + group[1:]


def _cells(row: Row) -> list[str]:
    if not row.is_measured:
        why = escaped(row.error or "not measured")
        return [_cell(row.name), f'<td class="error" colspan="{len(_HEADS) - 1}">{why}</td>']
    spread = f"{_number(row.fps_low)} to {_number(row.fps_high)}" if row.rounds > 1 else ""
    figures = (row.p50_ms, row.p95_ms, row.p99_ms)
    return [
        _cell(row.name),
        _cell(_number(row.fps)),
        _cell(spread),
        *(_cell(_number(figure)) for figure in figures),
        _cell(f"{row.cpu_ms_per_frame:.2f}"),
        _cell(f"{row.rss_mb:.0f}"),
        _cell(str(row.threads)),
    ]


def _table(heads: Sequence[str], lines: Iterable[tuple[Sequence[str], bool]]) -> str:
    """Return a table of cells that are escaped already; a line may be marked."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in heads)
    openings = {True: '<tr class="marked">', False: "<tr>"}
    body = "".join(f"{openings[is_marked]}{''.join(cells)}</tr>" for cells, is_marked in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cell(text: str, kind: str = "") -> str:
    opening = f'<td class="{kind}">' if kind else "<td>"
    return f"{opening}{escaped(text)}</td>"


def _number(value: float) -> str:
    """Return a figure as it is read: three digits, none of them made up."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
