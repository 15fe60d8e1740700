"""What is advised, and that the block can be pasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import yaml

from tests.bench_rows import configured_row, make_row
from vidpipe.apps.bench.advice import Demand, advise
from vidpipe.apps.bench.points import CALLS, MODES
from vidpipe.apps.bench.rows import Advice, Goal, Knee, Row, Value
from vidpipe.config.load import load_config_mapping
from vidpipe.config.model import ModelConfig, schedule_fault

FLAT_OUT = Demand(None, streams=4)


def model(**keys: object) -> ModelConfig:
    return ModelConfig.model_validate({"zoo": "person-detection-0200", **keys})


PERSON = {"person": model()}


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
    advice = advise(PERSON, [configured_row(100.0)], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency", "call": "sync"}
    assert advice is not None
    assert "20 requests/s are wanted, 20 % of the 100" in advice.yaml


def test_half_of_the_capacity_is_not_sparse() -> None:
    advice = advise(PERSON, [configured_row(100.0)], [], Demand(50.0, streams=4))
    assert "call" not in settings_of(advice)


def test_a_thread_that_would_be_busy_is_not_held_up() -> None:
    slow = configured_row(100.0, cpu_ms_per_frame=30.0)
    advice = advise(PERSON, [slow], [], Demand(20.0, streams=1))
    assert settings_of(advice) == {"hint": "latency"}


def test_a_call_that_failed_is_not_advised() -> None:
    failed = replace(make_row("call", "sync", 0.0), error="refused", rounds=0)
    advice = advise(PERSON, [configured_row(100.0), failed], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency"}


def test_files_that_are_read_as_fast_as_they_go_take_the_fastest() -> None:
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "batched": 120.0})]
    advice = advise(PERSON, rows, [], FLAT_OUT)
    assert settings_of(advice) == {"mode": "batched"}
    assert advice is not None
    assert "120 frames/s (118 to 122) against 100 with shared" in advice.yaml


def test_the_plainer_of_two_that_are_equally_fast_is_taken() -> None:
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "independent": 102.0})]
    assert settings_of(advise(PERSON, rows, [], FLAT_OUT)) == {"mode": "shared"}


def test_what_is_faster_in_some_rounds_only_is_not_preferred() -> None:
    shared, batched = compared("mode", {"shared": 100.0, "batched": 120.0})
    rows = [configured_row(), replace(shared, fps_high=121.0), batched]
    assert settings_of(advise(PERSON, rows, [], FLAT_OUT)) == {"mode": "shared"}


def test_the_knees_give_the_numbers() -> None:
    rows = [
        configured_row(),
        *compared("mode", {"shared": 100.0, "batched": 150.0}),
        make_row("requests", 3, 100.0),
        make_row("batch", 4, 150.0),
    ]
    knees = [Knee("requests", "requests 3", "it stops"), Knee("batch", "batch 4", "it doubles")]
    settings = settings_of(advise(PERSON, rows, knees, FLAT_OUT))
    assert settings == {"mode": "batched", "requests": 3, "batch": {"size": 4}}


def test_a_batch_is_not_advised_where_batching_does_not_pay() -> None:
    rows = [configured_row(), make_row("batch", 4, 100.0)]
    settings = settings_of(advise(PERSON, rows, [Knee("batch", "batch 4", "so")], FLAT_OUT))
    assert "batch" not in settings


def test_what_was_found_for_a_goal_wins() -> None:
    goal = Goal("p95=100ms", is_met=True, row="x", settings={"hint": "latency"}, why="it does")
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "batched": 150.0})]
    assert settings_of(advise(PERSON, rows, [], FLAT_OUT, goal)) == {"hint": "latency"}


def test_a_goals_lines_say_what_the_others_of_their_key_gave() -> None:
    sync = {"hint": "latency", "call": "sync"}
    rows = [
        configured_row(),
        replace(make_row("", "", 50.0), group="goal", settings=sync),
        replace(make_row("", "", 60.0, 90.0), group="goal", settings={**sync, "call": "async"}),
    ]
    goal = Goal("p95=50ms", is_met=True, row="latency sync", settings=sync, why="it does")
    advice = advise(PERSON, rows, [], FLAT_OUT, goal)
    assert settings_of(advice) == sync
    assert advice is not None
    hint, call = advice.yaml.splitlines()[2:]
    assert hint.endswith("# 50.0 frames/s, p95 40 ms")
    assert call.endswith("# 50.0 frames/s, p95 40 ms; async: 60.0 frames/s, p95 90 ms")


def test_nothing_is_advised_without_a_measurement() -> None:
    failed = replace(configured_row(), error="no model", rounds=0)
    assert advise(PERSON, [failed], [], FLAT_OUT) is None


def test_a_configuration_alone_is_left_as_it_is() -> None:
    advice = advise(PERSON, [configured_row()], [], FLAT_OUT)
    assert settings_of(advice) == {"requests": "auto"}


def test_names_of_models_are_quoted_where_yaml_needs_it() -> None:
    names = ["person", "a: b", "yes", "7", 'quo"te', "ümlaut"]
    advice = advise(dict.fromkeys(names, model()), [configured_row()], [], FLAT_OUT)
    assert advice is not None
    assert list(yaml.safe_load(advice.yaml)["models"]) == names


SCHEDULES = [
    (hint, call, mode)
    for hint in ("throughput", "latency", "cumulative_throughput", "adaptive")
    for call in CALLS
    for mode in MODES
]
KNEE = [Knee("batch", "batch 4", "it doubles")]


def paste(configured: Mapping[str, object], pasted: Mapping[str, object]) -> ModelConfig:
    """Return the model as it loads once the advice has been pasted."""
    document = {
        "version": 1,
        "models": {"person": {"zoo": "person-detection-0200", **configured, **pasted}},
        "streams": [{"id": "a", "source": "synthetic:people"}],
    }
    return load_config_mapping(document).models["person"]


@pytest.mark.parametrize(
    "configured", [s for s in SCHEDULES if not schedule_fault(s[1], s[0], s[2])]
)
def test_every_advice_loads_beside_what_is_configured(
    configured: tuple[str, str, str],
) -> None:
    keys = dict(zip(("hint", "call", "mode"), configured, strict=True))
    seen: list[dict[str, object]] = []
    for hint, call, mode in SCHEDULES:
        rows = [
            configured_row(),
            *compared("hint", {"throughput": 99.0, hint: 130.0}),
            *compared("call", {"async": 98.0, call: 120.0}),
            *compared("mode", {"shared": 97.0, mode: 140.0}),
            make_row("batch", 4, 135.0),
        ]
        for shown in (rows, rows[:1], rows[:-3], [rows[0], rows[-1]]):
            for demand in (FLAT_OUT, Demand(20.0, streams=4)):
                advice = advise({"person": model(**keys)}, shown, KNEE, demand)
                if (pasted := settings_of(advice)) not in seen:
                    seen.append(pasted)
    for pasted in seen:
        loaded = paste(keys, pasted)
        assert {
            key: getattr(loaded, key) for key in pasted if key in keys
        }.items() <= pasted.items()


def test_of_two_choices_that_exclude_each_other_the_faster_is_kept() -> None:
    for adaptive, batched in ((130.0, 120.0), (120.0, 130.0)):
        rows = [
            configured_row(),
            *compared("hint", {"throughput": 100.0, "adaptive": adaptive}),
            *compared("mode", {"shared": 100.0, "batched": batched}),
        ]
        kept = {"hint": "adaptive"} if adaptive > batched else {"mode": "batched"}
        assert settings_of(advise(PERSON, rows, [], FLAT_OUT)) == kept


def test_waiting_for_each_request_ends_a_configured_batching_and_says_why() -> None:
    models = {"person": model(mode="batched")}
    advice = advise(models, [configured_row(100.0)], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency", "call": "sync", "mode": "shared"}
    assert advice is not None
    assert "a batch gathers the frames of several streams" in advice.yaml


def test_batching_stays_where_the_shared_mode_failed() -> None:
    failed = replace(make_row("mode", "shared", 0.0), error="refused", rounds=0)
    models = {"person": model(mode="batched")}
    advice = advise(models, [configured_row(100.0), failed], [], Demand(20.0, streams=4))
    assert settings_of(advice) == {"hint": "latency"}


def test_lines_suit_all_models_together() -> None:
    rows = [configured_row(), *compared("mode", {"shared": 100.0, "batched": 120.0})]
    models = {"person": model(), "car": model(call="sync")}
    assert settings_of(advise(models, rows, [], FLAT_OUT)) == {"requests": "auto"}


def test_the_knee_of_batches_reaches_a_configuration_that_batches() -> None:
    models = {"person": model(mode="batched", batch={"size": 16, "timeout_ms": 7.5})}
    rows = [configured_row(), make_row("batch", 4, 100.0)]
    settings = settings_of(advise(models, rows, KNEE, FLAT_OUT))
    assert settings == {"batch": {"size": 4, "timeout_ms": 7.5}}


def test_a_knee_that_is_surely_faster_than_the_configuration_turns_batching_on() -> None:
    advice = advise(PERSON, [configured_row(), make_row("batch", 4, 120.0)], KNEE, FLAT_OUT)
    assert settings_of(advice) == {"mode": "batched", "batch": {"size": 4}}
    assert advice is not None
    assert "120 frames/s (118 to 122) at batch 4 against 100 as configured" in advice.yaml


@pytest.mark.parametrize(
    "row", [make_row("batch", 4, 103.0), make_row("batch", 4, 110.0, fps_low=101.0)]
)
def test_a_knee_within_the_spread_turns_no_batching_on(row: Row) -> None:
    assert settings_of(advise(PERSON, [configured_row(), row], KNEE, FLAT_OUT)) == {
        "requests": "auto"
    }


def test_a_knee_does_not_turn_on_what_another_mode_beats() -> None:
    modes = compared("mode", {"shared": 100.0, "independent": 150.0})
    rows = [configured_row(), *modes, make_row("batch", 4, 120.0)]
    assert settings_of(advise(PERSON, rows, KNEE, FLAT_OUT)) == {"mode": "independent"}


def test_a_knee_does_not_turn_on_what_a_configured_call_excludes() -> None:
    models = {"person": model(call="sync")}
    rows = [configured_row(), make_row("batch", 4, 120.0)]
    assert settings_of(advise(models, rows, KNEE, FLAT_OUT)) == {"requests": "auto"}


def test_a_goal_that_is_not_met_is_said_at_the_head() -> None:
    settings: dict[str, Value] = {"mode": "batched", "batch.size": 2}
    goal = Goal("p95=1ms", is_met=False, row="x", settings=settings, why="none of 9")
    advice = advise(PERSON, [configured_row()], [], FLAT_OUT, goal)
    assert settings_of(advice) == {"mode": "batched", "batch": {"size": 2}}
    assert advice is not None
    assert advice.yaml.startswith("# nearest to the goal p95=1ms, which is not met\nmodels:\n")
    assert advice.caveat == "nearest to the goal p95=1ms, which is not met"
    met = advise(PERSON, [configured_row()], [], FLAT_OUT, replace(goal, is_met=True))
    assert met is not None
    assert (met.yaml.splitlines()[0], met.caveat) == ("models:", "")


def test_a_single_round_is_said_to_be_unsure() -> None:
    rows = [
        configured_row(rounds=1),
        *(replace(row, rounds=1) for row in compared("mode", {"shared": 100.0, "batched": 120.0})),
        make_row("batch", 4, 140.0, rounds=1),
        make_row("requests", 3, 100.0, rounds=1),
    ]
    knees = [*KNEE, Knee("requests", "requests 3", "it stops")]
    advice = advise(PERSON, rows, knees, FLAT_OUT)
    assert settings_of(advice) == {"mode": "batched", "batch": {"size": 4}, "requests": 3}
    assert advice is not None
    assert advice.yaml.count("(one round: unsure)") == 3
    without = advise(PERSON, rows[:3], [], FLAT_OUT)
    assert without is not None
    assert "120 frames/s (one round: unsure) against 100 with shared" in without.yaml
