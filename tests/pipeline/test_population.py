"""Streams that come and go in a running engine, whatever the schedule; the others don't notice."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders import make_source
from tests.fakes import FakeReader, RecordingSink, decoded
from tests.graphs import batchable, saved
from tests.threads import wait_until
from vidpipe.apps.build import build_engine
from vidpipe.apps.engine import Engine
from vidpipe.apps.units import Ending, Rest
from vidpipe.config.load import load_config_mapping
from vidpipe.config.schema import Config
from vidpipe.config.stream import StreamConfig
from vidpipe.errors import ConfigError, UsageError
from vidpipe.interfaces import Reader
from vidpipe.outputs.fanout import SinkLane
from vidpipe.types import Overflow, StreamState

ENDLESS = "synthetic:blank?size=64x64"
WHOLE = {"size": 1000, "overflow": "block", "max_age_ms": 3_600_000}
"""A lane that loses nothing, however late a frame is."""

SCHEDULES: list[dict[str, Any]] = [
    {},
    {"requests": 1},
    {"call": "sync"},
    {"mode": "independent"},
    {"mode": "independent", "call": "sync"},
    {"mode": "batched", "batch": {"size": 4, "timeout_ms": 5}},
    {"hint": "adaptive"},
]


def config(folder: Path, *streams: str, **model: Any) -> Config:
    """Return a configuration of streams that play in real time and lose nothing."""
    path = saved(batchable(), folder)
    return load_config_mapping(
        {
            "version": 1,
            "models": {"tiny": {"path": str(path), **model}},
            "defaults": {"source": ENDLESS, "realtime": True, "lane": WHOLE},
            "streams": [{"id": name} for name in streams],
        }
    )


def lane(sink: RecordingSink, size: int = 4) -> SinkLane:
    return SinkLane("own", sink, size, Overflow.BLOCK)


@contextmanager
def running(whole: Config, sinks: dict[str, RecordingSink]) -> Iterator[Engine]:
    """Run a configuration, each stream with a sink."""
    engine = build_engine(whole.model_copy(update={"streams": ()}))
    for stream in whole.streams:
        sinks[stream.id] = RecordingSink()
        engine.add(stream, [lane(sinks[stream.id])])
    engine.start()
    try:
        yield engine
    finally:
        engine.stop(10)


def has_no_gap(sink: RecordingSink) -> bool:
    numbers = sink.numbers
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def balances(engine: Engine) -> bool:
    stats = [row.meter.snapshot() for row in engine.population.rows.values()]
    return all(
        one.captured == one.processed + one.passed + sum(one.dropped.values()) + one.in_flight
        and one.in_flight >= 0
        for one in stats
    )


def some_results(sink: RecordingSink, count: int = 5) -> None:
    already = len(sink.results)
    wait_until(lambda: len(sink.results) >= already + count, "some results", 30)


@pytest.mark.parametrize("model", SCHEDULES, ids=str)
def test_streams_come_and_go_and_the_others_miss_nothing(
    tmp_path: Path, model: dict[str, Any]
) -> None:
    whole = config(tmp_path, "gate", "dock", "yard", **model)
    sinks: dict[str, RecordingSink] = {}
    with running(whole, sinks) as engine:
        for sink in sinks.values():
            some_results(sink)
        new = {name: RecordingSink() for name in ("hall", "roof")}
        for name, sink in new.items():
            engine.add(whole.streams[0].model_copy(update={"id": name}), [lane(sink)])
        for sink in new.values():
            some_results(sink)
        ending = engine.remove("dock", 10)
        assert (ending.lost, ending.failures) == ((), [])
        assert sinks["dock"].is_closed.is_set()
        assert ending.stats.in_flight == 0
        assert ending.stats.processed == len(sinks["dock"].results)
        again = RecordingSink()
        engine.add(whole.streams[1], [lane(again)])
        for name in ("gate", "yard"):
            some_results(sinks[name])
        some_results(again)
        assert balances(engine)
        assert engine.outcome.failures == []
        assert {unit.stream for unit in engine.streams} == {"gate", "yard", "hall", "roof", "dock"}
    for sink in (*sinks.values(), *new.values(), again):
        assert has_no_gap(sink)
    assert again.numbers[0] == 0, "it was forgotten, and is another one"
    assert (engine.exit_code, engine.lost) == (0, [])
    assert not engine.is_held


@pytest.mark.parametrize("model", SCHEDULES, ids=str)
def test_an_engine_without_streams_takes_one_after_the_other(
    tmp_path: Path, model: dict[str, Any]
) -> None:
    whole = config(tmp_path, "gate", **model)
    file = whole.streams[0].model_copy(update={"source": f"{ENDLESS}&frames=7", "realtime": False})
    ended: queue.SimpleQueue[Ending] = queue.SimpleQueue()
    engine = build_engine(whole.model_copy(update={"streams": ()}))
    engine.start()
    try:
        for number in range(12):
            sink = RecordingSink()
            engine.add(file.model_copy(update={"id": f"s{number % 3}"}), [lane(sink)], ended.put)
            ending = ended.get(timeout=30)
            assert ending.report.state is StreamState.ENDED
            assert (ending.stats.processed, ending.stats.in_flight) == (7, 0)
            assert sink.numbers == list(range(7))
            assert engine.remove(ending.stream, 10).stats.processed == 7
        assert engine.streams == []
    finally:
        engine.stop(10)
    assert engine.exit_code == 0


def test_a_file_that_is_not_there_is_told_with_its_end(tmp_path: Path) -> None:
    whole = config(tmp_path, "gate")
    ended: queue.SimpleQueue[Ending] = queue.SimpleQueue()
    sinks: dict[str, RecordingSink] = {}
    with running(whole, sinks) as engine:
        lost = whole.streams[0].model_copy(update={"id": "lost", "source": "nowhere.mp4"})
        engine.add(lost, [lane(RecordingSink())], ended.put)
        ending = ended.get(timeout=30)
        assert [failure.part for failure in ending.failures] == ["source"]
        assert "nowhere.mp4" in ending.failures[0].error
        assert engine.exit_code == 1
        engine.remove("lost", 10)
        assert engine.exit_code == 0, "what is gone has failed no more"


def test_a_stream_that_can_not_end_is_ended_by_force_and_named(
    tmp_path: Path, log_lines: list[str]
) -> None:
    gate = threading.Event()
    whole = config(tmp_path, "gate", "dock")
    sinks: dict[str, RecordingSink] = {}
    held = RecordingSink(gate=gate)
    with running(whole, sinks) as engine:
        engine.add(whole.streams[0].model_copy(update={"id": "held"}), [lane(held)])
        unit = engine.population.unit("held")
        assert unit is not None
        wait_until(lambda: unit.meter.snapshot().in_flight > 4, "its sink is full", 30)
        ending = engine.remove("held", 0.5)
        assert any("results for own" in loss for loss in ending.lost)
        assert any("held" in line and "ended by force" in line for line in log_lines)
        # Its frames have come back, so another one of its name can begin beside the stuck sink.
        again = RecordingSink()
        engine.add(whole.streams[0].model_copy(update={"id": "held"}), [lane(again)])
        some_results(again)
        gate.set()
        assert held.is_closed.wait(10)
        some_results(again)
        some_results(sinks["dock"])
        assert balances(engine)
    assert has_no_gap(again)
    assert all(has_no_gap(sink) for sink in sinks.values())
    assert engine.exit_code == 0


def test_a_stream_that_rests_is_listed_and_goes_on_counting(tmp_path: Path) -> None:
    whole = config(tmp_path, "gate", "dock")
    sinks: dict[str, RecordingSink] = {}
    with running(whole, sinks) as engine:
        some_results(sinks["gate"])
        (ending,) = engine.population.remove(["gate"], 10, keeps=True)
        row = engine.population.rows["gate"]
        assert isinstance(row, Rest)
        assert row.report.state is StreamState.DISABLED
        again = RecordingSink()
        engine.add(whole.streams[0], [lane(again)])
        some_results(again)
        unit = engine.population.unit("gate")
        assert unit is not None
        assert unit.meter.snapshot().processed > ending.stats.processed
        assert balances(engine)
    assert again.numbers[0] == ending.stats.captured, "frames are numbered on"
    assert again.results[0].frame.epoch == 1
    assert has_no_gap(again)


def test_what_can_not_be_added_or_removed_is_refused(tmp_path: Path) -> None:
    whole = config(tmp_path, "gate")
    with running(whole, {}) as engine:
        with pytest.raises(UsageError, match="there is a stream gate already"):
            engine.add(whole.streams[0])
        with pytest.raises(UsageError, match="there is no stream dock"):
            engine.remove("dock", 1)
        other: StreamConfig = whole.streams[0].model_copy(update={"id": "x", "model": "none"})
        with pytest.raises(ConfigError, match="no model is called 'none'"):
            engine.add(other)
    with pytest.raises(UsageError, match="being stopped"):
        engine.remove("gate", 1)


def test_a_stop_waits_for_no_stream_that_is_being_removed(tmp_path: Path) -> None:
    gate = threading.Event()
    whole = config(tmp_path, "gate")
    held = RecordingSink(gate=gate)
    engine = build_engine(whole.model_copy(update={"streams": ()}))
    engine.add(whole.streams[0], [lane(held)])
    engine.start()
    refused: list[UsageError] = []

    def remove() -> None:
        try:
            engine.remove("gate", 600)
        except UsageError as exc:
            refused.append(exc)

    wait_until(lambda: engine.streams[0].meter.snapshot().in_flight > 4, "a full sink", 30)
    remover = threading.Thread(target=remove)
    remover.start()
    timer = threading.Timer(1.0, gate.set)
    timer.start()
    engine.stop(20)
    remover.join(10)
    timer.join()
    assert len(refused) == 1
    assert engine.lost == [], "it was the stop that ended it, in order"
    assert held.is_closed.is_set()


def test_a_stream_whose_open_hangs_is_removed_at_once_and_may_come_again(tmp_path: Path) -> None:
    gate = threading.Event()
    whole = config(tmp_path, "gate")
    hung = whole.streams[0].model_copy(update={"id": "hung"})
    late = FakeReader(decoded(50), make_source())

    def open_late() -> Reader:
        gate.wait()
        return late

    sinks: dict[str, RecordingSink] = {}
    with running(whole, sinks) as engine:
        engine.add(hung, open_reader=open_late)
        some_results(sinks["gate"])
        began_at = time.monotonic()
        ending = engine.remove("hung", 10)
        assert time.monotonic() - began_at < 2
        assert (ending.lost, ending.stats.captured) == ((), 0)
        again = RecordingSink()
        engine.add(hung, [lane(again)])
        some_results(again)
        gate.set()
        wait_until(lambda: late.is_closed, "the open has come back", 10)
        some_results(again)
        assert balances(engine)
    assert has_no_gap(again)
    assert all(result.frame.size_wh == (64, 64) for result in again.results)
    assert not engine.is_held
