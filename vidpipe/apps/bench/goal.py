"""``--goal p95=100ms`` or ``--goal fps=25``: the settings searched by measured points.

The search goes key by key (coordinate descent), each time from the best so far: hint and call,
mode and batch, requests. What has been measured decides; nothing is extrapolated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vidpipe.apps.bench.points import Point, request_counts
from vidpipe.apps.bench.rows import Goal, Row, Value
from vidpipe.errors import UsageError

GROUP = "goal"
_ABOUT_EQUAL = 1.03
_PATTERN = re.compile(r"(p50|p95|p99|fps)\s*=\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s)?")


@dataclass(frozen=True, slots=True)
class Target:
    """What is wanted.

    Attributes:
        text: As it was given.
        key: ``p50``, ``p95``, ``p99`` (milliseconds, at most) or ``fps`` (of every stream, at
            least).
        value: The number.
    """

    text: str
    key: str
    value: float

    def measured(self, row: Row) -> float:
        """Return a row's figure for the key."""
        match self.key:
            case "fps":
                return row.slowest_fps
            case "p50":
                return row.p50_ms
            case "p95":
                return row.p95_ms
            case _:
                return row.p99_ms

    def is_met(self, row: Row) -> bool:
        """True if a row reaches it."""
        if self.key == "fps":
            return self.measured(row) >= self.value
        return self.measured(row) <= self.value

    def better(self, row: Row, other: Row) -> bool:
        """True if ``row`` is to be preferred to ``other``.

        Whoever meets it comes first. Among those, the other quantity counts: the most frames a
        second for a latency, the least latency for a rate. Among those that miss it, who is nearer.
        """
        is_met, is_other_met = self.is_met(row), self.is_met(other)
        if is_met != is_other_met:
            return is_met
        if not is_met:
            mine, theirs = self.measured(row), self.measured(other)
            return mine > theirs if self.key == "fps" else mine < theirs
        if self.key == "fps":
            return row.p95_ms < other.p95_ms
        if row.fps * _ABOUT_EQUAL >= other.fps and other.fps * _ABOUT_EQUAL >= row.fps:
            return self.measured(row) < self.measured(other)
        return row.fps > other.fps


def target_from(text: str) -> Target:
    """Read a goal.

    Raises:
        UsageError: It is none.
    """
    match = _PATTERN.fullmatch(text.strip().lower())
    wrong = f"--goal {text}: expected p50, p95 or p99 with milliseconds, such as p95=100ms, or"
    if match is None or (match[1] == "fps" and match[3]) or float(match[2]) <= 0:
        raise UsageError(f"{wrong} the frames a second of every stream, such as fps=25")
    value = float(match[2]) * (1000 if match[3] == "s" else 1)
    return Target(text.strip(), match[1], value)


def search_goal(
    target: Target,
    requests: int,
    measure: Callable[[Sequence[Point]], Sequence[Row]],
    point: Callable[[Mapping[str, Value]], Point],
    confirm: Callable[[Point], Row],
) -> Goal:
    """Search the settings; every stage starts from the best so far.

    Args:
        target: What is wanted.
        requests: What ``auto`` means here.
        measure: Measures points, once each.
        point: Makes a point of settings; none are the configuration as it is.
        confirm: Measures one more thoroughly.
    """
    rows: list[tuple[dict[str, Value], Row]] = []

    def best() -> tuple[dict[str, Value], Row] | None:
        found: tuple[dict[str, Value], Row] | None = None
        for settings, row in rows:
            if row.is_measured and (found is None or target.better(row, found[1])):
                found = settings, row
        return found

    def try_all(choices: Sequence[Mapping[str, Value]]) -> None:
        known = best()
        start = known[0] if known else {}
        wanted = [{**start, **choice} for choice in choices]
        wanted = [one for one in wanted if all(one != settings for settings, _ in rows)]
        measured = measure([point(settings) for settings in wanted])
        rows.extend(zip(wanted, measured, strict=True))

    try_all([{}])
    try_all(
        [
            {"hint": hint, "call": call}
            for hint in ("throughput", "latency")
            for call in ("async", "sync")
        ]
    )
    # Whoever waits for a single request can't fill a batch.
    batches = [{"call": "async", "mode": "batched", "batch.size": size} for size in (2, 4)]
    try_all([{"mode": "independent"}, *batches])
    try_all([{"requests": count} for count in request_counts(requests)])
    found = best()
    if found is None:
        return Goal(target.text, is_met=False, row="", settings={}, why="no point has figures")
    settings, _ = found
    return goal_from(target, settings, confirm(point(settings)), [row for _, row in rows])


def goal_from(target: Target, settings: Mapping[str, Value], row: Row, rows: Sequence[Row]) -> Goal:
    """Return what is to be said of the best point."""
    is_met = row.is_measured and target.is_met(row)
    figures = f"{row.fps:.1f} frames/s of {row.streams} streams, p95 {row.p95_ms:.0f} ms"
    if target.key == "fps":
        figures += f", {row.slowest_fps:.1f} of the slowest"
    elif target.key != "p95":
        figures += f", {target.key} {target.measured(row):.0f} ms"
    count = sum(one.is_measured for one in rows)
    if is_met:
        why = f"{row.name} meets it best of {count} settings measured: {figures}"
    else:
        why = (
            f"none of {count} settings measured meets {target.text}; {row.name} comes nearest: "
            f"{figures}"
        )
    return Goal(target.text, is_met=is_met, row=row.name, settings=dict(settings), why=why)


def goal_name(settings: Mapping[str, Value]) -> str:
    """Return what a point of the search is called: ``latency sync, requests 2``."""
    words = [str(settings[key]) for key in ("hint", "call", "mode") if key in settings]
    numbers = [f"{name} {settings[key]}" for key, name in _NUMBERS.items() if key in settings]
    return ", ".join([" ".join(words), *numbers] if words else numbers) or "as configured"


_NUMBERS = {"batch.size": "batch", "requests": "requests"}
