"""What to put into the configuration: each line with the measured reason behind it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vidpipe.apps.bench.knee import STILL_GROWS
from vidpipe.apps.bench.rows import Advice, Goal, Knee, Row, Value

_SPARSE = 0.5
"""Below half of the capacity a request seldom meets another one: waiting for it costs nothing."""

_BUSY_THREAD = 0.5
"""A stream's thread that waits for its own requests must have half of its time left to decode."""

_CHOICES = ("hint", "call", "mode")


@dataclass(frozen=True, slots=True)
class Demand:
    """What the streams ask of the machine.

    Attributes:
        rate_fps: Results a second that all streams together ask for; None if they take whatever
            they get (files that are read as fast as they go).
        streams: How many there are.
    """

    rate_fps: float | None
    streams: int


@dataclass(frozen=True, slots=True)
class _Line:
    key: str
    value: Value
    why: str


def advise(
    models: Sequence[str],
    rows: Sequence[Row],
    knees: Sequence[Knee],
    demand: Demand,
    goal: Goal | None = None,
) -> Advice | None:
    """Return the block to paste; None if not even the configuration itself has figures.

    Args:
        models: The names of the models in use: all get the same lines.
        rows: All that was measured.
        knees: Of the sweeps.
        demand: What the streams ask for.
        goal: What was found for a goal: it wins over all else.
    """
    base = next((row for row in rows if row.group == "configured" and row.is_measured), None)
    if goal is not None and goal.row:
        lines = [
            _Line(key, value, _why_for_goal(key, goal, rows))
            for key, value in goal.settings.items()
        ]
        return _block(models, lines) if lines else None
    if base is None:
        return None
    lines = [*_by_load(base, rows, demand)]
    chosen = {line.key for line in lines}
    for key in _CHOICES:
        if key not in chosen and (line := _fastest(key, rows)) is not None:
            lines.append(line)
    lines += _by_knees(rows, knees, {line.key: line.value for line in lines})
    if not lines:
        lines = [_as_it_is(base)]
    return _block(models, lines)


def _by_load(base: Row, rows: Sequence[Row], demand: Demand) -> list[_Line]:
    """Return what follows from a load below half of the capacity."""
    if demand.rate_fps is None or demand.rate_fps >= _SPARSE * base.fps:
        return []
    figures = (
        f"{demand.rate_fps:.0f} requests/s are wanted, {100 * demand.rate_fps / base.fps:.0f} % of "
        f"the {base.fps:.0f} that were measured"
    )
    lines = [_Line("hint", "latency", figures)]
    # What a frame costs altogether is the longest that a thread of one's own can be held by it.
    busy = demand.rate_fps / max(1, demand.streams) * base.cpu_ms_per_frame / 1000
    is_free = busy < _BUSY_THREAD and _is_possible(rows, "call", "sync")
    if is_free:
        why = f"{figures}; each stream's thread is busy {100 * busy:.0f} % of its time"
        lines.append(_Line("call", "sync", why))
    return lines


def _why_for_goal(key: str, goal: Goal, rows: Sequence[Row]) -> str:
    """Return the best point's figures beside those of points that differ in the one key."""
    searched = [row for row in rows if row.group == "goal" and row.is_measured]
    best = next((row for row in searched if row.settings == goal.settings), None)
    if best is None:
        return goal.why
    rivals = [
        f"{row.settings.get(key, 'as configured')}: {_figures(row)}"
        for row in searched
        if row is not best and _without(row.settings, key) == _without(goal.settings, key)
    ]
    return "; ".join([_figures(best), *rivals])


def _figures(row: Row) -> str:
    return f"{row.fps:.1f} frames/s, p95 {row.p95_ms:.0f} ms"


def _without(settings: Mapping[str, Value], key: str) -> dict[str, Value]:
    """Return all other settings; the size of a batch belongs to the mode."""
    gone = {key, "batch.size"} if key == "mode" else {key}
    return {name: value for name, value in settings.items() if name not in gone}


def _fastest(key: str, rows: Sequence[Row]) -> _Line | None:
    """Return the fastest value of a key that was compared; the plainer one if they are equal."""
    compared = [
        row
        for row in rows
        if row.axis == key and row.is_measured and row.group in (f"sweep {key}", f"compare {key}")
    ]
    if len(compared) < 2:
        return None
    best = max(compared, key=lambda row: row.fps)
    plain = next((row for row in compared if row.axis_value in _PLAIN), best)
    if plain is not best and not _is_surely_faster(best, plain):
        best = plain
    others = ", ".join(
        f"{row.fps:.0f} with {row.axis_value}" for row in compared if row is not best
    )
    value = best.axis_value
    if value is None:
        return None
    spread = f" ({best.fps_low:.0f} to {best.fps_high:.0f})" if best.rounds > 1 else ""
    return _Line(key, value, f"{best.fps:.0f} frames/s{spread} against {others}")


def _is_surely_faster(row: Row, other: Row) -> bool:
    """True if it is by more than three percent, and in each of its rounds."""
    is_apart = min(row.rounds, other.rounds) < 2 or row.fps_low > other.fps_high
    return is_apart and row.fps > other.fps * STILL_GROWS


_PLAIN = ("throughput", "async", "shared")
"""What is taken where nothing else is faster: the defaults."""


def _by_knees(
    rows: Sequence[Row], knees: Sequence[Knee], chosen: Mapping[str, Value]
) -> list[_Line]:
    lines = []
    for knee in knees:
        row = next(
            (r for r in rows if r.group == f"sweep {knee.axis}" and r.name == knee.row), None
        )
        if row is None or row.axis_value is None:
            continue
        if knee.axis == "requests" and chosen.get("call") != "sync":
            lines.append(_Line("requests", row.axis_value, knee.why))
        if knee.axis == "batch" and chosen.get("mode") == "batched":
            lines.append(_Line("batch.size", row.axis_value, knee.why))
    return lines


def _as_it_is(base: Row) -> _Line:
    spread = f" ({base.fps_low:.0f} to {base.fps_high:.0f})" if base.rounds > 1 else ""
    return _Line(
        "requests",
        "auto",
        f"{base.fps:.0f} frames/s{spread} as configured; --sweep all measures the others",
    )


def _is_possible(rows: Sequence[Row], axis: str, value: Value) -> bool:
    """False if it was tried and failed."""
    return not any(row.error for row in rows if row.axis == axis and row.axis_value == value)


def _block(models: Sequence[str], lines: Sequence[_Line]) -> Advice:
    """Return the YAML: one entry a model, each line with its reason behind it."""
    text = ["models:"]
    for name in models:
        text.append(f"  {_key(name)}:")
        for line in lines:
            shown = f"{{size: {line.value}}}" if line.key == "batch.size" else line.value
            pair = f"    {line.key.removesuffix('.size')}: {shown}"
            text.append(f"{pair:<28}# {' '.join(line.why.split())}")
    return Advice("\n".join(text) + "\n", {line.key: line.value for line in lines})


_NO_TEXTS = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
"""What some readers of YAML take for something else than a text."""


def _key(name: str) -> str:
    """Return a name as a key of YAML: JSON's quotes hold there, too, where it is no plain word."""
    is_plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    is_word = is_plain and name[0].isalpha() and name.lower() not in _NO_TEXTS
    return name if is_word else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
