"""What to put into the configuration: each line with the measured reason behind it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vidpipe.apps.bench.knee import STILL_GROWS
from vidpipe.apps.bench.rows import Advice, Goal, Knee, Row, Value
from vidpipe.config.model import ModelConfig, schedule_fault

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
    row: Row | None = None
    """What it was measured by; None for what follows from the load."""


def advise(
    models: Mapping[str, ModelConfig],
    rows: Sequence[Row],
    knees: Sequence[Knee],
    demand: Demand,
    goal: Goal | None = None,
) -> Advice | None:
    """Return the block to paste; None if not even the configuration itself has figures.

    Every model takes it, beside what is configured there: values that exclude each other never
    come out together.

    Args:
        models: The models in use, as configured: all get the same lines.
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
        return _block(models, lines, _caveat(goal)) if lines else None
    if base is None:
        return None
    lines = _fitting(models, _by_load(models, base, rows, demand), _by_speed(base, rows, knees))
    lines += _by_knees(models, rows, knees, _values(lines))
    if not lines:
        lines = [_as_it_is(base)]
    return _block(models, lines)


def _caveat(goal: Goal) -> str:
    text = " ".join(goal.text.split())
    return "" if goal.is_met else f"nearest to the goal {text}, which is not met"


def _values(lines: Sequence[_Line]) -> dict[str, Value]:
    return {line.key: line.value for line in lines}


def _schedules(
    models: Mapping[str, ModelConfig], chosen: Mapping[str, Value]
) -> list[dict[str, str]]:
    """Return each model's hint, call and mode once the chosen values have been pasted."""
    return [
        {key: str(chosen.get(key, getattr(model, key))) for key in _CHOICES}
        for model in models.values()
    ]


def _fault(models: Mapping[str, ModelConfig], chosen: Mapping[str, Value]) -> str | None:
    """Return why the schema refuses the chosen values in one of the models, or None."""
    faults = (schedule_fault(**schedule) for schedule in _schedules(models, chosen))
    return next((fault for fault in faults if fault), None)


def _fitting(
    models: Mapping[str, ModelConfig], lines: Sequence[_Line], candidates: Sequence[_Line]
) -> list[_Line]:
    """Return the lines, and of the candidates, strongest first, what can be set with them."""
    taken = list(lines)
    for line in candidates:
        values = _values(taken)
        if line.key not in values and not _fault(models, {**values, line.key: line.value}):
            taken.append(line)
    return sorted(taken, key=lambda line: _CHOICES.index(line.key))


def _by_load(
    models: Mapping[str, ModelConfig], base: Row, rows: Sequence[Row], demand: Demand
) -> list[_Line]:
    """Return what follows from a load below half of the capacity."""
    if demand.rate_fps is None or demand.rate_fps >= _SPARSE * base.fps:
        return []
    figures = (
        f"{demand.rate_fps:.0f} requests/s are wanted, {100 * demand.rate_fps / base.fps:.0f} % of "
        f"the {base.fps:.0f} that were measured"
    )
    hint = _Line("hint", "latency", figures)
    # What a frame costs altogether is the longest that a thread of one's own can be held by it.
    busy = demand.rate_fps / max(1, demand.streams) * base.cpu_ms_per_frame / 1000
    is_free = busy < _BUSY_THREAD and _is_possible(rows, "call", "sync")
    if not is_free:
        return [hint]
    why = f"{figures}; each stream's thread is busy {100 * busy:.0f} % of its time"
    lines = [hint, _Line("call", "sync", why)]
    if (refusal := _fault(models, _values(lines))) is not None:
        # Filling a batch pays under load alone, and this load is low: the mode gives way.
        lines.append(_Line("mode", "shared", refusal))
        if _fault(models, _values(lines)) or not _is_possible(rows, "mode", "shared"):
            return [hint]
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


def _by_speed(base: Row, rows: Sequence[Row], knees: Sequence[Knee]) -> list[_Line]:
    """Return what was fastest of each key, the greatest speed first; two of the mode at most."""
    lines = [line for key in _CHOICES if (line := _fastest(key, rows)) is not None]
    rivals = [base, *(line.row for line in lines if line.key == "mode" and line.row is not None)]
    if (batched := _batched(rows, knees, rivals)) is not None:
        lines.append(batched)
    return sorted(lines, key=lambda line: line.row.fps if line.row else 0.0, reverse=True)


def _batched(rows: Sequence[Row], knees: Sequence[Knee], rivals: Sequence[Row]) -> _Line | None:
    """Return batches if the knee of their sizes is surely faster than each of the rivals."""
    row = next((_row_of(knee, rows) for knee in knees if knee.axis == "batch"), None)
    if row is None or not all(_is_surely_faster(row, rival) for rival in rivals):
        return None
    others = " and ".join(f"{rival.fps:.0f} {_how(rival)}" for rival in rivals)
    why = f"{row.fps:.0f} frames/s{_spread(row, *rivals)} at {row.name} against {others}"
    return _Line("mode", "batched", why, row)


def _how(row: Row) -> str:
    return row.name if row.axis_value is None else f"with {row.axis_value}"


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
    why = f"{best.fps:.0f} frames/s{_spread(best, *compared)} against {others}"
    return _Line(key, value, why, best)


def _spread(row: Row, *others: Row) -> str:
    """Return how far a row's rounds lie apart, or that a single round doesn't say."""
    if min(one.rounds for one in (row, *others)) < 2:
        return _UNSURE
    return f" ({row.fps_low:.0f} to {row.fps_high:.0f})"


_UNSURE = " (one round: unsure)"


def _is_surely_faster(row: Row, other: Row) -> bool:
    """True if it is by more than three percent, and in each of its rounds; one has no spread."""
    is_apart = min(row.rounds, other.rounds) < 2 or row.fps_low > other.fps_high
    return is_apart and row.fps > other.fps * STILL_GROWS


_PLAIN = ("throughput", "async", "shared")
"""What is taken where nothing else is faster: the defaults."""


def _by_knees(
    models: Mapping[str, ModelConfig],
    rows: Sequence[Row],
    knees: Sequence[Knee],
    chosen: Mapping[str, Value],
) -> list[_Line]:
    """Return the numbers that mean something once the chosen values have been pasted."""
    schedules = _schedules(models, chosen)
    is_used = {
        "requests": any(schedule["call"] != "sync" for schedule in schedules),
        "batch": all(schedule["mode"] == "batched" for schedule in schedules),
    }
    lines = []
    for knee in knees:
        row = _row_of(knee, rows)
        if row is None or row.axis_value is None or not is_used.get(knee.axis):
            continue
        key = "batch.size" if knee.axis == "batch" else knee.axis
        why = knee.why + (_UNSURE if row.rounds < 2 else "")
        lines.append(_Line(key, row.axis_value, why, row))
    return lines


def _row_of(knee: Knee, rows: Sequence[Row]) -> Row | None:
    group = f"sweep {knee.axis}"
    return next((row for row in rows if row.group == group and row.name == knee.row), None)


def _as_it_is(base: Row) -> _Line:
    return _Line(
        "requests",
        "auto",
        f"{base.fps:.0f} frames/s{_spread(base)} as configured; --sweep all measures the others",
    )


def _is_possible(rows: Sequence[Row], axis: str, value: Value) -> bool:
    """False if it was tried and failed."""
    return not any(row.error for row in rows if row.axis == axis and row.axis_value == value)


def _block(models: Mapping[str, ModelConfig], lines: Sequence[_Line], caveat: str = "") -> Advice:
    """Return the YAML: one entry a model, each line with its reason behind it."""
    text = [f"# {caveat}"] if caveat else []
    text.append("models:")
    for name, model in models.items():
        text.append(f"  {_key(name)}:")
        for line in lines:
            shown = _batch(line.value, model) if line.key == "batch.size" else line.value
            pair = f"    {line.key.removesuffix('.size')}: {shown}"
            text.append(f"{pair:<27} # {' '.join(line.why.split())}")
    return Advice("\n".join(text) + "\n", _values(lines), caveat)


def _batch(size: Value, model: ModelConfig) -> str:
    """Return a batch's section: pasted, it replaces the configured one and its patience."""
    if model.batch is None or "timeout_ms" not in model.batch.model_fields_set:
        return f"{{size: {size}}}"
    return f"{{size: {size}, timeout_ms: {model.batch.timeout_ms:.10g}}}"


_NO_TEXTS = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
"""What some readers of YAML take for something else than a text."""


def _key(name: str) -> str:
    """Return a name as a key of YAML: JSON's quotes hold there, too, where it is no plain word."""
    is_plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    is_word = is_plain and name[0].isalpha() and name.lower() not in _NO_TEXTS
    return name if is_word else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
