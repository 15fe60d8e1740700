"""What a run shows of itself: tables on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vidpipe.runtime.durations import Durations, Stage, together
from vidpipe.runtime.meters import StreamStats
from vidpipe.telemetry.rows import RunView, StreamRow
from vidpipe.types import PoolReport, StreamState

_STATE_STYLES = {
    StreamState.LIVE: "green",
    StreamState.ENDED: "dim",
    StreamState.DISABLED: "dim",
    StreamState.CONNECTING: "yellow",
    StreamState.STALLED: "yellow",
    StreamState.BACKING_OFF: "red",
    StreamState.FAILED: "bold red",
}
_TROUBLE = (
    StreamState.FAILED,
    StreamState.BACKING_OFF,
    StreamState.STALLED,
    StreamState.CONNECTING,
    StreamState.LIVE,
    StreamState.ENDED,
    StreamState.DISABLED,
)
"""What is shown first where not all fits."""
_TABLE_LINES = 6
"""Title, two lines of head, a rule, what was left out, and one line for the prompt."""
_STAGE_LINES = len(Stage) + 3
_LEAST_ROWS = 4
_MOST_MODELS = 4
_PERCENT = 100
_MS_IN_S = 1000


def screen_from_view(view: RunView, title: str, height: int) -> RenderableType:
    """Return what a terminal of so many lines shows: as many rows as fit, trouble first."""
    *of_pools, of_all = lines_from_view(view)
    if len(of_pools) > _MOST_MODELS:
        left_out = len(of_pools) - _MOST_MODELS
        of_pools = [*of_pools[:_MOST_MODELS], f"… and {counted(left_out, 'model')} more"]
    lines = [*of_pools, of_all]
    room = height - _TABLE_LINES - len(lines)
    if not view.stages or room - len(view.rows) >= _STAGE_LINES:
        stages = [table_from_stages(view.stages)] if view.stages else []
    else:
        stages = []
        lines.insert(0, _stages_in_short(view.stages))
        room -= 1
    return Group(
        table_from_rows(view.rows, title, max(_LEAST_ROWS, room)),
        *stages,
        *(Text(line, no_wrap=True, overflow="ellipsis") for line in lines),
    )


def table_from_rows(rows: Sequence[StreamRow], title: str, most: int | None = None) -> Table:
    """Return the streams' table; in a narrow terminal the ids are cut, and no number.

    Args:
        rows: The streams.
        title: Stands above.
        most: How many rows there is room for; None: for all.
    """
    table = Table(
        title=title,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.add_column("stream", overflow="ellipsis")
    table.add_column("state", no_wrap=True)
    for name in ("fps in", "fps out", "age, ms\np50 / p95", "frames", "drops", "detections"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = list(rows)
    if most is not None and len(shown) > most:
        shown = sorted(shown, key=_trouble)
        table.caption = f"… and {len(shown) - most} more: {_states(shown[most:])}"
    for row in shown[:most]:
        table.add_row(
            # No markup: log lines are printed without, and a table that is drawn again with them.
            Text(row.stream),
            Text("frozen", "yellow")
            if row.report.is_frozen
            else Text(row.state, _STATE_STYLES[row.report.state]),
            f"{row.fps_in:.1f}",
            f"{row.fps_out:.1f}",
            _ages(row.age),
            str(row.stats.captured),
            str(sum(row.stats.dropped.values())),
            str(row.stats.detections),
        )
    return table


def table_from_stages(stages: Mapping[Stage, Durations]) -> Table:
    """Return how long every stage takes, in milliseconds."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("stage, ms")
    for name in ("mean", "p50", "p95", "p99", "frames"):
        table.add_column(name, justify="right", no_wrap=True, min_width=8)
    for stage, durations in stages.items():
        times = [durations.mean_s, *(durations.quantile_s(share) for share in (0.5, 0.95, 0.99))]
        table.add_row(stage.value, *map(_ms, times), str(durations.count))
    return table


def lines_from_stages(stages: Mapping[Stage, Durations]) -> Iterator[str]:
    """Yield how long every stage took, a line each."""
    for stage, durations in stages.items():
        p50, p95, p99 = (_ms(durations.quantile_s(share)) for share in (0.5, 0.95, 0.99))
        yield (
            f"stage {stage}: mean {_ms(durations.mean_s)}, p50 {p50}, p95 {p95}, p99 {p99} ms, "
            f"{counted(durations.count, 'frame')}"
        )


def lines_from_view(view: RunView) -> list[str]:
    """Return what isn't one stream's: the pools, what waits, what fails, and the machine."""
    lines = [
        _pools_in_words(model, pools, view.switches.get(model))
        for model, pools in _by_model(view.pools).items()
    ]
    depths = [row.depth for row in view.rows]
    of_late = sum(row.failed for row in view.rows)
    parts = [
        f"lanes: {counted(sum(depths), 'frame')} waiting, at most {max(depths, default=0)}",
        f"{_failures(view)}, {of_late / view.seconds:.1f} a second",
        *_machine(view),
    ]
    return [*lines, "; ".join(parts)]


def closing_lines(view: RunView) -> list[str]:
    """Return the same of a run that is over: how full its batches were, and what failed."""
    lines = []
    for model, pools in _by_model(view.pools).items():
        parts = [*_batches(pools), *_switches(view.switches.get(model))]
        lines += [f"{model}: {', '.join(parts)}"] if parts else []
    parts = [_failures(view), *(f"{part} on average" for part in _machine(view))]
    return [*lines, "; ".join(parts)]


def _by_model(pools: Sequence[PoolReport]) -> dict[str, list[PoolReport]]:
    by_model: dict[str, list[PoolReport]] = {}
    for pool in pools:
        by_model.setdefault(pool.model, []).append(pool)
    return by_model


def _pools_in_words(model: str, pools: Sequence[PoolReport], switches: int | None) -> str:
    requests: Counter[str] = Counter()
    for pool in pools:
        requests.update(pool.requests)
    parts = [f"{requests[state]} {state}" for state in ("running", "free", "parked")]
    parts += [*_batches(pools), *_switches(switches)]
    if down := sum(not pool.is_ready for pool in pools):
        parts.append("NOT READY" if len(pools) == 1 else f"{counted(down, 'pool')} NOT READY")
    of_pools = f" in {len(pools)} pools" if len(pools) > 1 else ""
    return f"requests of {model}{of_pools}: {', '.join(parts)}"


def _batches(pools: Sequence[PoolReport]) -> Iterator[str]:
    if places := sum(pool.batch_places for pool in pools):
        frames = sum(pool.batched_frames for pool in pools)
        yield f"batches {_PERCENT * frames / places:.0f} % full"


def _switches(count: int | None) -> Iterator[str]:
    if count is not None:
        yield f"switched {counted(count, 'time')}"


def _failures(view: RunView) -> str:
    failures = sum(sum(row.stats.errors.values()) for row in view.rows)
    return counted(failures, "error")


def _machine(view: RunView) -> Iterator[str]:
    if view.cpu_cores is not None:
        yield f"CPU {_PERCENT * view.cpu_cores:.0f} %"
    for gpu, share in view.gpus.items():
        yield f"{gpu} {_PERCENT * share:.0f} %"


def drops_from_rows(rows: Sequence[StreamRow]) -> list[str]:
    """Return a line for each stream that has lost frames: how many, by cause."""
    return [f"{row.stream}: {_drops(row.stats)} dropped" for row in rows if row.stats.dropped]


def line_from_row(row: StreamRow) -> str:
    """Return what one stream did, as a line of a closing summary."""
    stats = row.stats
    parts = [
        f"{row.stream}: {row.state}",
        f"{counted(stats.captured, 'frame')} captured",
        f"{stats.processed} processed",
    ]
    if stats.passed:
        parts.append(f"{stats.passed} passed")
    parts += [
        f"{_drops(stats)} dropped",
        counted(stats.detections, "detection"),
        f"{row.fps_out:.1f} fps",
        f"age p50 / p95 {_ages(row.age, ' ms')}",
    ]
    if stats.reconnects:
        parts.append(counted(stats.reconnects, "reconnect"))
    if stats.sink_losses:
        parts.append(
            "not written: " + ", ".join(f"{sink} {n}" for sink, n in stats.sink_losses.items())
        )
    if stats.resting:
        parts.append(f"no room on the disk of {', '.join(stats.resting)}")
    return ", ".join(parts)


def line_from_rows(rows: Sequence[StreamRow]) -> str:
    """Return all streams together, as the plain line of an interval."""
    dropped = sum(sum(row.stats.dropped.values()) for row in rows)
    return (
        f"{counted(len(rows), 'stream')} ({_states(rows)}): "
        f"in {sum(row.fps_in for row in rows):.1f} fps, "
        f"out {sum(row.fps_out for row in rows):.1f} fps, "
        f"age p50 / p95 {_ages(together(row.age for row in rows), ' ms')}, {dropped} dropped, "
        + counted(sum(row.stats.detections for row in rows), "detection")
    )


def counted(number: int, noun: str) -> str:
    """Return ``1 stream`` or ``2 streams``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _trouble(row: StreamRow) -> tuple[int, int]:
    """Return what sorts rows by how much they need to be seen; equals stay in their order."""
    is_well = row.failed == 0 and row.lost == 0
    rank = _TROUBLE.index(row.report.state) * 2
    return rank + is_well, -(row.failed + row.lost)


def _states(rows: Sequence[StreamRow]) -> str:
    states = Counter(row.state for row in sorted(rows, key=_trouble))
    return ", ".join(f"{count} {state}" for state, count in states.items())


def _stages_in_short(stages: Mapping[Stage, Durations]) -> str:
    """Return a line that fits into eighty columns."""
    times = (
        f"{stage} {_MS_IN_S * (durations.quantile_s(0.95) or 0.0):.3g}"
        for stage, durations in stages.items()
    )
    return f"p95 ms: {' '.join(times)}"


def _ms(seconds: float | None) -> str:
    """Return milliseconds with three digits, about."""
    if seconds is None:
        return "-"
    ms = seconds * _MS_IN_S
    return f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < _PERCENT else f"{ms:.0f}"


def _ages(age: Durations, unit: str = "") -> str:
    p50_s, p95_s = age.quantile_s(0.5), age.quantile_s(0.95)
    if p50_s is None or p95_s is None:
        return "-"
    return f"{p50_s * _MS_IN_S:.0f} / {p95_s * _MS_IN_S:.0f}{unit}"


def _drops(stats: StreamStats) -> str:
    if not stats.dropped:
        return "0"
    causes = " ".join(f"{cause} {count}" for cause, count in sorted(stats.dropped.items()))
    return f"{sum(stats.dropped.values())} ({causes})"
