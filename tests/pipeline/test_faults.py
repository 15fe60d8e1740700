"""Faults inside a whole pipeline: each harms one stream, or one frame."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes import RecordingSink
from tests.graphs import saved, ssd_rows
from tests.threads import wait_until
from vidpipe.apps import sinks as output_sinks
from vidpipe.apps.build import build_engine
from vidpipe.apps.engine import Engine
from vidpipe.config.load import load_config
from vidpipe.errors import SinkError
from vidpipe.interfaces import Sink

Sinks = dict[str, RecordingSink]


@contextmanager
def engine_of(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    sinks: Sinks,
    *,
    source: str = "synthetic:people?size=160x120&frames=200",
    stop_s: float = 10.0,
) -> Iterator[Engine]:
    """Run a stream a sink, each with that sink as its output."""
    model = saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), folder)
    streams = "\n".join(f"  - {{id: {name}, source: '{source}'}}" for name in sinks)
    config = folder / "config.yml"
    config.write_text(
        f"version: 1\nmodels: {{tiny: {{path: {model}}}}}\n"
        "defaults: {outputs: [{type: video, path: 'out/{stream}.mp4'}]}\n"
        f"streams:\n{streams}\n"
    )
    monkeypatch.setattr(output_sinks, "_sink", lambda stream, *_, is_live: sinks[stream.id])
    engine = build_engine(load_config(config))
    engine.start()
    try:
        yield engine
    finally:
        engine.stop(stop_s)


def counts_add_up(engine: Engine) -> bool:
    """Say whether every captured frame is accounted for, in every stream."""
    stats = [unit.meter.snapshot() for unit in engine.streams]
    return all(
        one.captured == one.processed + one.passed + sum(one.dropped.values()) + one.in_flight
        for one in stats
    )


def test_a_sink_that_blocks_stops_no_other_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    sinks = {"held": RecordingSink(gate=gate), "free": RecordingSink(), "also": RecordingSink()}
    with engine_of(tmp_path, monkeypatch, sinks) as engine:
        assert sinks["free"].is_closed.wait(30)
        assert sinks["also"].is_closed.wait(30)
        held = next(unit for unit in engine.streams if unit.stream == "held")
        assert sinks["held"].numbers == []
        assert held.meter.snapshot().captured < 40  # lane, window and the capture's own hand
        assert counts_add_up(engine)
        gate.set()
        assert sinks["held"].is_closed.wait(30)
    assert [sink.numbers for sink in sinks.values()] == [list(range(200))] * 3
    assert engine.exit_code == 0
    assert all(unit.meter.snapshot().in_flight == 0 for unit in engine.streams)


def test_a_sink_that_raises_fails_once_and_harms_no_other_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks = {"bad": RecordingSink(error=SinkError("the disk is full")), "good": RecordingSink()}
    with engine_of(tmp_path, monkeypatch, sinks) as engine:
        wait_until(lambda: engine.outcome.is_done, "the end of both", 30)
    assert sinks["good"].numbers == list(range(200))
    assert [failure.error for failure in engine.outcome.failures] == ["the disk is full"]
    assert engine.exit_code == 1
    assert engine.lost == []
    assert all(unit.meter.snapshot().in_flight == 0 for unit in engine.streams)


def test_the_deadline_of_a_stop_names_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    sinks = {"held": RecordingSink(gate=gate), "free": RecordingSink()}
    endless = "synthetic:people?size=160x120"
    with engine_of(tmp_path, monkeypatch, sinks, source=endless, stop_s=0.5) as engine:
        wait_until(lambda: len(sinks["free"].results) > 50, "some frames", 30)
    try:
        assert engine.exit_code == 3
        assert any(text.startswith("stream held: ") for text in engine.lost)
        assert not any("free" in text for text in engine.lost)
        assert sinks["free"].is_closed.is_set()
        assert counts_add_up(engine)
        assert all(unit.meter.snapshot().in_flight == 0 for unit in engine.streams)
        assert engine.is_held
    finally:
        gate.set()
        assert sinks["held"].is_closed.wait(10)


def test_a_hurried_stop_does_not_wait_for_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    sinks = {"held": RecordingSink(gate=gate)}
    endless = "synthetic:people?size=160x120"
    hurry: list[Callable[[], None]] = []
    with engine_of(tmp_path, monkeypatch, sinks, source=endless, stop_s=600) as engine:
        wait_until(lambda: engine.streams[0].meter.snapshot().processed > 0, "a result", 30)
        hurry.append(engine.hurry)
        timer = threading.Timer(0.3, hurry[0])
        timer.start()
    timer.join()
    gate.set()
    assert engine.exit_code == 3
    assert sinks["held"].is_closed.wait(10)


def test_a_sink_satisfies_its_protocol() -> None:
    sink: Sink = RecordingSink()
    assert sink.needs_picture
