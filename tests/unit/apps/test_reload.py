from __future__ import annotations

from typing import Any

import pytest

from vidpipe.apps.reload import (
    Change,
    applicable,
    change_between,
    fixed_keys,
    kept_switches,
    switched,
)
from vidpipe.config.load import load_config_mapping
from vidpipe.config.schema import Config


def config(*streams: dict[str, Any] | str, **keys: Any) -> Config:
    """Return a configuration of streams, each by its id or its keys."""
    whole = [{"id": one} if isinstance(one, str) else one for one in streams]
    return load_config_mapping(
        {
            "version": 1,
            "models": {"a": {"path": "a.xml"}, "b": {"path": "b.xml"}},
            "defaults": {"model": "a", "source": "synthetic:blank"},
            "streams": whole,
            **keys,
        }
    )


def test_the_same_configuration_changes_nothing() -> None:
    change = change_between(config("gate", "dock"), config("gate", "dock"))
    assert change == Change(unchanged=("gate", "dock"))
    assert change.is_empty


def test_the_order_in_the_file_is_no_change_of_a_stream() -> None:
    assert change_between(config("gate", "dock"), config("dock", "gate")).is_empty


def test_streams_are_added_removed_and_changed_one_by_one() -> None:
    old = config("gate", "dock", "yard", "hall")
    new = config("roof", "gate", {"id": "dock", "weight": 2}, "hall")
    change = change_between(old, new)
    assert change.streams() == {
        "added": ["roof"],
        "removed": ["yard"],
        "changed": ["dock"],
        "unchanged": ["gate", "hall"],
    }
    assert str(change) == "added roof; removed yard; changed dock; 2 streams unchanged"


@pytest.mark.parametrize(
    "keys",
    [
        {"source": "synthetic:people"},
        {"detect_fps": 5},
        {"name": "The gate"},
        {"lane": {"size": 4}},
        {"connect": {"password": "another"}},
        {"outputs": [{"type": "jsonl", "path": "out/{stream}.jsonl"}]},
        {"model": "b"},
        {"enabled": False},
    ],
)
def test_any_key_of_a_stream_is_a_change_of_it_alone(keys: dict[str, Any]) -> None:
    change = change_between(config("gate", "dock"), config("gate", {"id": "dock", **keys}))
    assert (change.changed, change.unchanged) == (("dock",), ("gate",))


def test_a_default_changes_the_streams_that_take_it() -> None:
    old = config("gate", {"id": "dock", "weight": 3})
    defaults = {"model": "a", "source": "synthetic:blank", "weight": 2}
    new = config("gate", {"id": "dock", "weight": 3}, defaults=defaults)
    assert change_between(old, new).changed == ("gate",)


MODELS = {"a": {"path": "a.xml", "confidence": 0.7}, "b": {"path": "b.xml"}}


def test_a_model_that_is_another_changes_its_streams() -> None:
    old = config("gate", {"id": "dock", "model": "b"})
    change = change_between(old, config("gate", {"id": "dock", "model": "b"}, models=MODELS))
    assert (change.models, change.changed, change.unchanged) == (("a",), ("gate",), ("dock",))


def test_a_model_whose_files_are_others_is_another() -> None:
    old = config("gate", {"id": "dock", "model": "b"})
    change = change_between(old, old, stale={"b"})
    assert (change.models, change.changed) == (("b",), ("dock",))


def test_a_model_that_nobody_uses_changes_nothing() -> None:
    old = config({"id": "gate", "model": "b"}, {"id": "dock", "enabled": False})
    new = config({"id": "gate", "model": "b"}, {"id": "dock", "enabled": False}, models=MODELS)
    assert change_between(old, new).is_empty
    assert change_between(old, old, stale={"a"}).is_empty


def test_what_needs_a_restart_is_said_and_kept() -> None:
    old = config("gate", server={"port": 1}, telemetry={"log_file": "a.log"})
    new = config("gate", "dock", server={"port": 2}, telemetry={"log_file": "b.log"}, workers=2)
    assert tuple(fixed_keys(old, new)) == ("server.port", "telemetry.log_file", "workers")
    kept = applicable(old, new)
    assert (kept.server, kept.telemetry, kept.workers) == (old.server, old.telemetry, old.workers)
    assert [stream.id for stream in kept.streams] == ["gate", "dock"]
    assert tuple(fixed_keys(old, kept)) == ()
    assert tuple(fixed_keys(old, config("gate"))) == ("server", "telemetry.log_file")


def test_switches_are_laid_over_the_file() -> None:
    written = config("gate", {"id": "dock", "enabled": False})
    wanted = switched(written, {"gate": False, "dock": True, "gone": True})
    assert [stream.enabled for stream in wanted.streams] == [False, True]
    assert switched(written, {}) == written


def test_a_switch_holds_until_the_file_itself_says_otherwise() -> None:
    off = config("gate", "dock", "yard")
    switches = {"gate": False, "dock": False, "yard": False}
    again = config("gate", {"id": "dock", "enabled": False})
    assert kept_switches(switches, off, again) == {"gate": False}
