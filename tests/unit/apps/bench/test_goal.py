"""The search for a goal, over a machine that is a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from vidpipe.apps.bench.goal import goal_name, search_goal, target_from
from vidpipe.apps.bench.points import Point
from vidpipe.apps.bench.rows import Goal, Row, Value
from vidpipe.errors import UsageError


class Machine:
    """Answers every point; latency and speed follow from its settings."""

    def __init__(self, *, has_failing_batches: bool = False, slowest_share: float = 0.5) -> None:
        self.asked: list[Mapping[str, Value]] = []
        self.has_failing_batches = has_failing_batches
        self.slowest_share = slowest_share

    def row(self, point: Point) -> Row:
        settings = point.settings
        self.asked.append(settings)
        fps, p95_ms = 100.0, 150.0
        if settings.get("hint") == "latency":
            fps, p95_ms = fps * 0.8, p95_ms * 0.5
        if settings.get("call") == "sync":
            fps *= 0.9
        if settings.get("mode") == "batched":
            fps, p95_ms = fps * 1.3, p95_ms * 3
        requests = settings.get("requests", 5)
        p95_ms *= 0.5 + float(requests) / 10
        fps *= min(1.0, float(requests) / 3)
        is_failed = self.has_failing_batches and settings.get("mode") == "batched"
        return Row(
            name=point.name,
            group=point.group,
            settings=settings,
            fps=0.0 if is_failed else fps,
            p50_ms=p95_ms / 2,
            p95_ms=p95_ms,
            p99_ms=p95_ms * 2,
            rounds=0 if is_failed else 1,
            streams=2,
            slowest_fps=fps * self.slowest_share,
            error="no batches" if is_failed else None,
        )

    def search(self, text: str) -> Goal:
        def measure(points: Sequence[Point]) -> list[Row]:
            return [self.row(point) for point in points]

        def point(settings: Mapping[str, Value]) -> Point:
            return Point(goal_name(settings), "goal", dict(settings))

        return search_goal(target_from(text), 5, measure, point, self.row)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("p95=100ms", "p95", 100.0),
        ("p95=100", "p95", 100.0),
        ("P99 = 0.5 s", "p99", 500.0),
        ("fps=25", "fps", 25.0),
        ("fps=12.5", "fps", 12.5),
    ],
)
def test_a_goal_is_read(text: str, key: str, value: float) -> None:
    target = target_from(text)
    assert (target.key, target.value) == (key, value)


@pytest.mark.parametrize("text", ["", "p95", "p95=", "p95=-1", "p95=0", "fps=25ms", "speed=3", "1"])
def test_what_is_no_goal_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"p95=100ms.*fps=25"):
        target_from(text)


def test_of_the_settings_that_keep_a_latency_the_fastest_wins() -> None:
    goal = Machine().search("p95=100ms")
    assert goal.is_met
    assert goal.settings["hint"] == "latency"
    assert goal.settings["call"] == "async"
    assert "meets it best" in goal.why


def test_of_the_settings_that_keep_a_rate_the_one_with_the_least_latency_wins() -> None:
    goal = Machine().search("fps=25")
    assert goal.is_met
    assert goal.settings["hint"] == "latency"
    assert goal.settings["requests"] == 2, "one makes 13 frames a second of each stream"


def test_a_rate_is_kept_by_every_stream_or_not_at_all() -> None:
    assert Machine(slowest_share=0.5).search("fps=40").is_met
    goal = Machine(slowest_share=0.1).search("fps=40")
    assert not goal.is_met, "65 frames a second on average a stream, but 13 of the slowest"
    assert "13.0 of the slowest" in goal.why


def test_a_goal_out_of_reach_is_said_to_be_and_the_nearest_is_named() -> None:
    goal = Machine().search("p95=1ms")
    assert not goal.is_met
    assert goal.settings["hint"] == "latency"
    assert goal.settings["requests"] == 1
    assert "none of" in goal.why
    assert "comes nearest" in goal.why


def test_settings_that_fail_are_passed_over() -> None:
    goal = Machine(has_failing_batches=True).search("fps=1000")
    assert not goal.is_met
    assert goal.settings.get("mode") != "batched"


def test_nothing_is_measured_twice_but_to_confirm() -> None:
    machine = Machine()
    machine.search("p95=100ms")
    asked = machine.asked[:-1]
    assert all(asked.count(settings) == 1 for settings in asked)
