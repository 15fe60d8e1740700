"""What is advised, and that the block can be pasted."""

from __future__ import annotations

from dataclasses import replace

import yaml

from tests.bench_rows import configured_row, make_row
from vidpipe.apps.bench.advice import Demand, advise
from vidpipe.apps.bench.rows import Advice, Goal, Knee, Row

FLAT_OUT = Demand(None, streams=4)


def settings_of(advice: Advice | None) -> dict[str, object]:
    assert advice is not None
    pasted = yaml.safe_load(advice.yaml)
    lines = advice.yaml.splitlines()
    assert all("# " in line for line in lines if line.startswith("    ")), "a reason a line"
    return dict(pasted["models"]["person"])


def compared(axis: str, speeds: dict[str, float]) -> list[Row]:
    return [
        replace(make_row(axis, value, fps), group=f"compare {axis}")
        for value, fps in speeds.items()
    ]


def test_sparse_requests_are_best_waited_for() -> None:
    advice = advise(["person"], [configured_row(100.0)], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency", "call": "sync"}
    assert advice is not None
    assert "20 requests/s are wanted, 20 % of the 100" in advice.yaml


def test_half_of_the_capacity_is_not_sparse() -> None:
    advice = advise(["person"], [configured_row(100.0)], [], Demand(50.0, streams=4))
    assert "call" not in settings_of(advice)


def test_a_thread_that_would_be_busy_is_not_held_up() -> None:
    slow = configured_row(100.0, cpu_ms_per_frame=30.0)
    advice = advise(["person"], [slow], [], Demand(20.0, streams=1))
    assert settings_of(advice) == {"hint": "latency"}


def test_a_call_that_failed_is_not_advised() -> None:
    failed = replace(make_row("call", "sync", 0.0), error="refused", rounds=0)
    advice = advise(["person"], [configured_row(100.0), failed], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency"}


def test_files_that_are_read_as_fast_as_they_go_take_the_fastest() -> None:
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "batched": 120.0})]
    advice = advise(["person"], rows, [], FLAT_OUT)
    assert settings_of(advice) == {"mode": "batched"}
    assert advice is not None
    assert "120 frames/s (118 to 122) against 100 with shared" in advice.yaml


def test_the_plainer_of_two_that_are_equally_fast_is_taken() -> None:
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "independent": 102.0})]
    assert settings_of(advise(["person"], rows, [], FLAT_OUT)) == {"mode": "shared"}


def test_what_is_faster_in_some_rounds_only_is_not_preferred() -> None:
    shared, batched = compared("mode", {"shared": 100.0, "batched": 120.0})
    rows = [configured_row(), replace(shared, fps_high=121.0), batched]
    assert settings_of(advise(["person"], rows, [], FLAT_OUT)) == {"mode": "shared"}


def test_the_knees_give_the_numbers() -> None:
    rows = [
        configured_row(),
        *compared("mode", {"shared": 100.0, "batched": 150.0}),
        make_row("requests", 3, 100.0),
        make_row("batch", 4, 150.0),
    ]
    knees = [Knee("requests", "requests 3", "it stops"), Knee("batch", "batch 4", "it doubles")]
    settings = settings_of(advise(["person"], rows, knees, FLAT_OUT))
    assert settings == {"mode": "batched", "requests": 3, "batch": {"size": 4}}


def test_a_batch_is_not_advised_where_batching_does_not_pay() -> None:
    rows = [configured_row(), make_row("batch", 4, 100.0)]
    settings = settings_of(advise(["person"], rows, [Knee("batch", "batch 4", "so")], FLAT_OUT))
    assert "batch" not in settings


def test_what_was_found_for_a_goal_wins() -> None:
    goal = Goal("p95=100ms", is_met=True, row="x", settings={"hint": "latency"}, why="it does")
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "batched": 150.0})]
    assert settings_of(advise(["person"], rows, [], FLAT_OUT, goal)) == {"hint": "latency"}


def test_a_goals_lines_say_what_the_others_of_their_key_gave() -> None:
    sync = {"hint": "latency", "call": "sync"}
    rows = [
        configured_row(),
        replace(make_row("", "", 50.0), group="goal", settings=sync),
        replace(make_row("", "", 60.0, 90.0), group="goal", settings={**sync, "call": "async"}),
    ]
    goal = Goal("p95=50ms", is_met=True, row="latency sync", settings=sync, why="it does")
    advice = advise(["person"], rows, [], FLAT_OUT, goal)
    assert settings_of(advice) == sync
    assert advice is not None
    hint, call = advice.yaml.splitlines()[2:]
    assert hint.endswith("# 50.0 frames/s, p95 40 ms")
    assert call.endswith("# 50.0 frames/s, p95 40 ms; async: 60.0 frames/s, p95 90 ms")


def test_nothing_is_advised_without_a_measurement() -> None:
    failed = replace(configured_row(), error="no model", rounds=0)
    assert advise(["person"], [failed], [], FLAT_OUT) is None


def test_a_configuration_alone_is_left_as_it_is() -> None:
    advice = advise(["person"], [configured_row()], [], FLAT_OUT)
    assert settings_of(advice) == {"requests": "auto"}


def test_names_of_models_are_quoted_where_yaml_needs_it() -> None:
    names = ["person", "a: b", "yes", "7", 'quo"te', "ümlaut"]
    advice = advise(names, [configured_row()], [], FLAT_OUT)
    assert advice is not None
    assert list(yaml.safe_load(advice.yaml)["models"]) == names
