"""A run whose configuration is changed while it goes on: in a program, and as a service."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.command import Finished, ended, started
from tests.graphs import saved, ssd_rows
from tests.reloads import LOSSLESS, frames, rewrite, stream
from tests.rtsp import has_rtsp_server, rtsp_server
from tests.threads import running as on_thread
from tests.threads import wait_until
from vidpipe.apps.fleet import Fleet
from vidpipe.apps.lives import Life
from vidpipe.apps.messages import Answer, Turn
from vidpipe.apps.pipeline import Pipeline
from vidpipe.apps.reload import change_between
from vidpipe.apps.share import shares
from vidpipe.apps.topology import numa_nodes
from vidpipe.config.load import load_config
from vidpipe.errors import ConfigError, ModelError, UsageError
from vidpipe.server.control import Control, UnknownStreamError
from vidpipe.types import FrameResult, SinkRequest, StreamState

ENDLESS = "synthetic:blank?size=64x64"
PATIENCE_S = 60.0
FLEET_PATIENCE_S = 150.0

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return saved(ssd_rows([[0, 1, 0.9, 0.25, 0.25, 0.5, 0.75]]), tmp_path)


def document(model: Path, *names: str, **keys: Any) -> dict[str, Any]:
    """Return a configuration of cameras that lose nothing."""
    return {
        "models": {"tiny": {"path": str(model)}},
        "defaults": {"realtime": True, "lane": LOSSLESS},
        "streams": [stream(name, ENDLESS) for name in names],
        **keys,
    }


@dataclass(slots=True)
class Witness:
    """Sees every result of every stream, and when it came."""

    seen: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def sink(self, request: SinkRequest) -> WitnessSink:
        return WitnessSink(self.seen.setdefault(request.stream, []))

    def numbers(self, name: str) -> list[int]:
        return [number for number, _ in self.seen.get(name, [])]

    def longest_pause_s(self, name: str, since_s: float) -> float:
        times = [at for _, at in self.seen[name] if at >= since_s]
        return max(b - a for a, b in pairwise(times))

    def wait_for_more(self, *names: str, count: int = 10) -> None:
        wanted = {name: len(self.seen.get(name, [])) + count for name in names}
        wait_until(
            lambda: all(len(self.seen.get(n, [])) >= c for n, c in wanted.items()),
            f"more of {names}",
            PATIENCE_S,
        )


@dataclass(slots=True)
class WitnessSink:
    """One stream's."""

    seen: list[tuple[int, float]]
    needs_picture: bool = False

    def write(self, result: FrameResult) -> None:
        self.seen.append((result.frame.number, time.monotonic()))

    def close(self) -> list[str]:
        return []


@contextmanager
def running(path: Path, witness: Witness) -> Iterator[Pipeline]:
    pipeline = Pipeline(path, sinks=[witness.sink])
    pipeline.start(with_results=False)
    try:
        yield pipeline
    finally:
        pipeline.close()


def balances(pipeline: Pipeline | Fleet) -> bool:
    return all(
        one.captured == one.processed + one.passed + sum(one.dropped.values()) + one.in_flight
        for one in pipeline.stats().values()
    )


def test_eight_run_on_while_others_come_change_and_go(tmp_path: Path, model: Path) -> None:
    untouched = [f"cam{n}" for n in range(8)]
    first = document(model, *untouched, "changed", "removed")
    path = rewrite(tmp_path / "c.yml", first)
    witness = Witness()
    with running(path, witness) as pipeline:
        witness.wait_for_more(*untouched, "changed", "removed")
        counted = pipeline.stats()["changed"].processed
        began_at = time.monotonic()
        second = document(model, *untouched, "changed", "new1", "new2")
        second["streams"][8] |= {"source": f"{ENDLESS}&seconds=7000", "weight": 2}
        rewrite(path, second)
        outcome = pipeline.reload()
        witness.wait_for_more(*untouched, "changed", "new1", "new2", count=30)
        assert outcome == {
            "added": ["new1", "new2"],
            "removed": ["removed"],
            "changed": ["changed"],
            "unchanged": untouched,
        }
        assert list(pipeline.titles()) == [*untouched, "changed", "new1", "new2"]
        assert pipeline.stats().keys() == pipeline.reports().keys() == pipeline.titles().keys()
        assert pipeline.stats()["changed"].processed > counted, "its counters go on"
        assert balances(pipeline)
        paths = [unit.pool for unit in pipeline.changes.engine.pools]
        assert len(paths) == 1, "the model was kept"
    for name in (*untouched, "removed", "new1", "new2"):
        numbers = witness.numbers(name)
        assert numbers == list(range(len(numbers))), name
    for name in untouched:
        assert witness.longest_pause_s(name, began_at) < 0.5, name
    changed = witness.numbers("changed")
    assert changed == sorted(set(changed)), "numbers go on, and none comes twice"
    assert (pipeline.exit_code, pipeline.lost, pipeline.failures) == (0, [], [])


@pytest.mark.rtsp
@pytest.mark.skipif(not has_rtsp_server(), reason="needs GStreamer's RTSP server")
def test_cameras_that_are_not_touched_keep_their_connections(tmp_path: Path, model: Path) -> None:
    untouched = [f"cam{n}" for n in range(8)]
    witness = Witness()
    with rtsp_server() as server:

        def cameras(*names: str) -> dict[str, Any]:
            streams = [{"id": name, "source": server.url()} for name in names]
            defaults = {"lane": LOSSLESS}
            return {"models": {"tiny": {"path": str(model)}}, "defaults": defaults} | {
                "streams": streams
            }

        path = rewrite(tmp_path / "c.yml", cameras(*untouched, "changed", "removed"))
        with running(path, witness) as pipeline:
            witness.wait_for_more(*untouched, "changed", "removed")
            second = cameras(*untouched, "changed", "new1", "new2")
            second["streams"][8]["detect_fps"] = 5
            rewrite(path, second)
            pipeline.reload()
            witness.wait_for_more(*untouched, "new1", "new2", count=30)
            stats = pipeline.stats()
            assert [stats[name].reconnects for name in untouched] == [0] * 8
            assert [sum(stats[name].dropped.values()) for name in untouched] == [0] * 8
            assert balances(pipeline)
        for name in untouched:
            numbers = witness.numbers(name)
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), name
        assert pipeline.exit_code == 0


def test_a_bad_file_is_refused_with_all_its_faults(tmp_path: Path, model: Path) -> None:
    path = rewrite(tmp_path / "c.yml", document(model, "gate"))
    witness = Witness()
    with running(path, witness) as pipeline:
        witness.wait_for_more("gate")
        for broken, lines in (
            ("version: 1\nmodels: {tiny: {path: x}}\nstreams: [{id: gate}]\nwrong: 1\n", 2),
            ("version: [\n", 1),
        ):
            path.write_text(broken)
            with pytest.raises(ConfigError) as refused:
                pipeline.reload()
            assert len(refused.value.faults) == lines
            assert all(fault.place.startswith(str(path)) for fault in refused.value.faults)
        path.unlink()
        with pytest.raises(ConfigError, match="no such file"):
            pipeline.reload()
        rewrite(path, document(tmp_path / "none.xml", "gate", "dock"))
        with pytest.raises(ModelError, match=r"none\.xml"):
            pipeline.reload()
        assert list(pipeline.stats()) == ["gate"]
        witness.wait_for_more("gate")
        rewrite(path, document(model, "gate", "dock"))
        assert pipeline.reload()["added"] == ["dock"]
        witness.wait_for_more("gate", "dock")
    assert witness.numbers("gate") == list(range(len(witness.numbers("gate"))))


def test_a_model_that_changes_is_compiled_first_and_the_old_one_released(
    tmp_path: Path, model: Path
) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("zero\none\n")
    tiny: dict[str, Any] = {"path": str(model), "labels": str(labels)}
    models = {"tiny": tiny, "other": {"path": str(model)}}
    first = document(model, "gate", "dock", models=models)
    first["streams"][0]["model"] = "tiny"
    first["streams"][1]["model"] = "other"
    path = rewrite(tmp_path / "c.yml", first)
    witness = Witness()
    with running(path, witness) as pipeline:
        witness.wait_for_more("gate", "dock")
        before = {unit.model: unit.pool for unit in pipeline.changes.engine.pools}
        models["tiny"] = {**tiny, "confidence": 0.8}
        rewrite(path, first)
        assert pipeline.reload()["changed"] == ["gate"]
        witness.wait_for_more("gate", "dock")
        after = {unit.model: unit.pool for unit in pipeline.changes.engine.pools}
        assert after["other"] is before["other"]
        assert after["tiny"] is not before["tiny"]
        labels.write_text("zero\nperson\n")
        assert pipeline.reload()["changed"] == ["gate"], "its labels are others"
        first["streams"].pop(0)
        rewrite(path, first)
        assert pipeline.reload()["removed"] == ["gate"]
        assert [unit.model for unit in pipeline.changes.engine.pools] == ["other"]
        assert list(pipeline.models(compares=False)) == ["other"]
        witness.wait_for_more("dock")
    assert witness.numbers("dock") == list(range(len(witness.numbers("dock"))))
    assert pipeline.exit_code == 0


def test_another_order_of_the_streams_is_taken_up_and_touches_none(
    tmp_path: Path, model: Path
) -> None:
    path = rewrite(tmp_path / "c.yml", document(model, "a", "b", "c"))
    witness = Witness()
    with running(path, witness) as pipeline:
        witness.wait_for_more("a", "b", "c")
        assert list(pipeline.titles()) == ["a", "b", "c"]
        rewrite(path, document(model, "c", "a", "b"))
        assert set(pipeline.reload()["unchanged"]) == {"a", "b", "c"}
        assert list(pipeline.titles()) == ["c", "a", "b"]
        witness.wait_for_more("a", "b", "c")
    for name in ("a", "b", "c"):
        numbers = witness.numbers(name)
        assert numbers == list(range(len(numbers)))


def test_streams_are_disabled_enabled_and_restarted(tmp_path: Path, model: Path) -> None:
    first = document(model, "gate", "dock", "off")
    first["streams"][2]["enabled"] = False
    path = rewrite(tmp_path / "c.yml", first)
    witness = Witness()
    with running(path, witness) as pipeline:
        control: Control = pipeline
        witness.wait_for_more("gate", "dock")
        assert pipeline.reports()["off"].state is StreamState.DISABLED
        assert "off" not in witness.seen

        control.enable("off")
        witness.wait_for_more("off")
        control.disable("gate")
        report, stats = pipeline.reports()["gate"], pipeline.stats()["gate"]
        assert report.state is StreamState.DISABLED
        assert stats.in_flight == 0
        assert stats.processed == len(witness.seen["gate"])
        with pytest.raises(UsageError, match="gate is disabled"):
            control.restart("gate")
        control.disable("gate")
        # What was done by hand stays so, while the file says nothing else than before.
        first["streams"][1]["weight"] = 3
        rewrite(path, first)
        assert control.reload()["changed"] == ["dock"]
        assert pipeline.reports()["gate"].state is StreamState.DISABLED
        assert len(witness.seen["gate"]) == stats.processed

        control.enable("gate")
        witness.wait_for_more("gate")
        control.restart("dock")
        witness.wait_for_more("dock", "off")
        assert pipeline.stats()["gate"].processed > stats.processed
        assert balances(pipeline)
        for change in (control.enable, control.disable, control.restart):
            with pytest.raises(UnknownStreamError, match="no stream nobody"):
                change("nobody")
    assert (pipeline.exit_code, pipeline.lost) == (0, [])


def test_a_run_whose_streams_are_all_disabled_waits(tmp_path: Path, model: Path) -> None:
    path = rewrite(tmp_path / "c.yml", document(model, "gate"))
    with Pipeline(path) as pipeline:
        results = iter(pipeline)
        next(results)
        pipeline.disable("gate")
        assert not pipeline.wait(0.1)
        assert not pipeline.is_done
        pipeline.enable("gate")
        numbers = [next(results).frame.number for _ in range(20)]
        assert numbers == sorted(numbers)
        pipeline.disable("gate")
        pipeline.stop()
        assert pipeline.wait(10)
        assert list(results)[5:] == [], "what nobody had taken yet"
    with pytest.raises(UsageError, match="isn't running"):
        pipeline.enable("gate")


def test_what_came_from_no_file_can_not_be_read_again(tmp_path: Path, model: Path) -> None:
    whole = {"version": 1, **document(model, "gate")}
    with Pipeline(whole) as pipeline, pytest.raises(UsageError, match="no file"):
        pipeline.reload()


def test_a_stop_in_the_middle_of_a_change_lets_the_change_be(tmp_path: Path, model: Path) -> None:
    path = rewrite(tmp_path / "c.yml", document(model, "gate"))
    witness = Witness()
    with running(path, witness) as pipeline:
        witness.wait_for_more("gate")
        second = document(model, "gate", "dock")
        second["models"]["tiny"]["confidence"] = 0.6
        wanted = load_config(rewrite(path, second))
        change = change_between(pipeline.config, wanted)
        ready = pipeline.changes.prepare(wanted, change)  # its model is compiled by now
        pipeline.close()
        with pytest.raises(UsageError, match="being stopped"):
            pipeline.changes.take_up(ready, wanted)
        assert list(pipeline.stats()) == ["gate"]
    assert (pipeline.exit_code, pipeline.lost) == (0, [])


# ---- Several processes -----------------------------------------------------------------------


def test_workers_take_up_their_shares_of_a_change(tmp_path: Path, model: Path) -> None:
    out = {name: tmp_path / "out" / f"{name}.jsonl" for name in ("a", "b", "c", "d", "e")}

    def cameras(*names: str) -> dict[str, Any]:
        whole = document(model, *names, workers=2)
        for one in whole["streams"]:
            one["outputs"][0]["path"] = str(out[one["id"]])
        return whole

    def grow(*names: str) -> None:
        wanted = {name: len(frames(out[name])) + 10 for name in names}
        wait_until(
            lambda: all(len(frames(out[n])) >= count for n, count in wanted.items()),
            f"more of {names}",
            FLEET_PATIENCE_S,
        )

    path = rewrite(tmp_path / "c.yml", cameras("a", "b", "c", "d"))
    config = load_config(path)
    fleet = Fleet(config, shares(config, numa_nodes()), lambda: load_config(path))
    try:
        fleet.start()
        grow("a", "b", "c", "d")
        second = cameras("a", "b", "c", "e")
        second["streams"][2]["weight"] = 2
        rewrite(path, second)
        outcome = fleet.reload()
        grow("a", "b", "c", "e")
        assert outcome["unchanged"] == ["a", "b"]
        assert (outcome["added"], outcome["removed"], outcome["changed"]) == (["e"], ["d"], ["c"])
        assert list(fleet.stats()) == ["a", "b", "c", "e"]

        rewrite(path, cameras("a", "b", "c", "e") | {"models": {"tiny": {"path": "none.xml"}}})
        with pytest.raises(ModelError, match=r"none\.xml"):
            fleet.reload()
        grow("a", "b", "c", "e")

        fleet.disable("a")
        wait_until(
            lambda: fleet.reports()["a"].state is StreamState.DISABLED, "a is disabled", PATIENCE_S
        )
        count = len(frames(out["a"]))
        grow("b", "c", "e")
        assert len(frames(out["a"])) == count
        fleet.restart("b")
        fleet.enable("a")
        grow("a", "b", "c", "e")
        with pytest.raises(UnknownStreamError):
            fleet.disable("d")
    finally:
        fleet.close()
    assert balances(fleet)
    assert (fleet.exit_code, fleet.lost) == (0, [])
    for name in ("c", "e", "d"):
        numbers = frames(out[name])
        assert numbers == sorted(set(numbers)), name
    assert frames(out["e"]) == list(range(len(frames(out["e"]))))


def test_a_worker_that_dies_in_the_middle_of_a_change_holds_nobody_up(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rewrite(tmp_path / "c.yml", document(model, "a", "b", workers=2))
    config = load_config(path)
    asked, ask = threading.Event(), Life.ask

    def noted(life: Life, turn: Turn, timeout_s: float) -> Answer | None:
        asked.set()
        return ask(life, turn, timeout_s)

    monkeypatch.setattr(Life, "ask", noted)
    fleet = Fleet(config, shares(config, numa_nodes()), lambda: load_config(path))
    outcome: list[Mapping[str, Any]] = []
    try:
        fleet.start()
        wait_until(lambda: all(s.processed for s in fleet.stats().values()), "up", PATIENCE_S)
        changed = document(model, "a", "b", workers=2)
        changed["streams"][1]["weight"] = 2
        rewrite(path, changed)
        life = next(k._life for k in fleet._keepers if "b" in k.share.streams)
        assert life is not None
        life.child.process.send_signal(signal.SIGSTOP)  # it can't answer
        with on_thread(lambda: outcome.append(fleet.reload())):
            assert asked.wait(PATIENCE_S)
            life.child.process.kill()
        assert outcome[0]["changed"] == ["b"]
        count = fleet.stats()["b"].processed
        wait_until(lambda: fleet.stats()["b"].processed > count + 10, "back", FLEET_PATIENCE_S)
    finally:
        fleet.close()
    assert fleet.exit_code == 0


# ---- As a service ----------------------------------------------------------------------------


@contextmanager
def service(
    path: Path, *options: str, environ: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a configuration as a service manager does: without any terminal, and with a log."""
    with started("run", path, *options, cwd=path.parent, environ=environ) as process:
        yield process


def lines_of(path: Path) -> Callable[[str], bool]:
    """Return what tells whether the log has a text."""
    log = path.parent / "vidpipe.log"
    return lambda text: log.exists() and re.search(text, log.read_text()) is not None


def stopped(process: subprocess.Popen[str]) -> Finished:
    process.send_signal(signal.SIGTERM)
    return ended(process, PATIENCE_S)


def logged(model: Path, *names: str, **keys: Any) -> dict[str, Any]:
    telemetry = {"log_file": "vidpipe.log", "manifest": "manifest.json"}
    return document(model, *names, telemetry=telemetry, **keys)


def grown(folder: Path, *names: str) -> None:
    outs = [folder / "out" / f"{name}.jsonl" for name in names]
    wanted = [len(frames(out)) + 10 for out in outs]
    wait_until(
        lambda: all(len(frames(o)) >= w for o, w in zip(outs, wanted, strict=True)),
        f"more of {names}",
        PATIENCE_S,
    )


def test_a_service_reads_its_file_again_on_sighup(tmp_path: Path, model: Path) -> None:
    path = rewrite(tmp_path / "c.yml", logged(model, "gate", "dock"))
    says = lines_of(path)
    with service(path) as process:
        grown(tmp_path, "gate", "dock")
        rewrite(path, logged(model, "gate", "yard", server={"port": 0}))
        process.send_signal(signal.SIGHUP)
        grown(tmp_path, "gate", "yard")
        wait_until(lambda: says("read again: added yard; removed dock; 1 stream"), "its word", 10)
        assert says("these keys are taken up at the next start only: server")
        wait_until(
            lambda: (
                list(json.loads((tmp_path / "manifest.json").read_text())["streams"])
                == ["gate", "yard"]
            ),
            "the manifest",
            10,
        )
        path.write_text("version: 1\nmodels: {tiny: {path: x}}\nstreams: [{id: A}]\nmore: 1\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: says("the configuration is refused"), "the refusal", PATIENCE_S)
        wait_until(lambda: says(r"c\.yml:3:16.*\n(.*\n)*.*c\.yml:4:1"), "every fault", 10)
        grown(tmp_path, "gate", "yard")
        done = stopped(process)
    assert done.code == 0, done.err
    numbers = frames(tmp_path / "out" / "gate.jsonl")
    assert numbers == list(range(len(numbers)))
    assert "Traceback" not in done.err


def test_a_watched_file_is_read_again_when_it_changes(tmp_path: Path, model: Path) -> None:
    secrets = tmp_path / "secrets.env"
    secrets.write_text("SECONDS=1111\n")
    first = logged(model, "gate", env_file="secrets.env")
    first["streams"] += [stream("dock", f"{ENDLESS}&seconds=${{SECONDS}}")]
    path = rewrite(tmp_path / "c.yml", first)
    says = lines_of(path)
    with service(path, "--watch") as process:
        grown(tmp_path, "gate", "dock")
        first["streams"] += [stream("yard", ENDLESS)]
        rewrite(path, first)
        grown(tmp_path, "yard")
        wait_until(lambda: says("read again: added yard; 2 streams"), "its word", 10)
        secrets.write_text("SECONDS=22222\n")
        wait_until(
            lambda: says("read again: changed dock; 2 streams"), "the new source", PATIENCE_S
        )
        path.write_text("streams: [\n")
        wait_until(lambda: says("the configuration is refused"), "the refusal", PATIENCE_S)
        grown(tmp_path, "gate", "dock", "yard")
        done = stopped(process)
    assert done.code == 0, done.err
    numbers = frames(tmp_path / "out" / "gate.jsonl")
    assert numbers == list(range(len(numbers)))


def test_the_service_manager_is_told(tmp_path: Path, model: Path) -> None:
    path = rewrite(tmp_path / "c.yml", logged(model, "gate"))
    words: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0)

        def heard(*wanted: str) -> Callable[[], bool]:
            def has_come() -> bool:
                try:
                    while True:
                        words.extend(manager.recv(4096).decode().split("\n"))
                except BlockingIOError:
                    left = iter(words)
                    return all(any(word.startswith(w) for word in left) for w in wanted)

            return has_come

        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "600000"}
        with service(path, environ=environ) as process:
            wait_until(heard("READY=1", "WATCHDOG=1", "WATCHDOG=1"), "ready and alive", PATIENCE_S)
            wait_until(heard("STATUS=1 of 1 streams up"), "the status", PATIENCE_S)
            words.clear()
            process.send_signal(signal.SIGHUP)
            wait_until(
                heard("RELOADING=1", "MONOTONIC_USEC=", "READY=1", "WATCHDOG=1"), "it", PATIENCE_S
            )
            words.clear()
            done = stopped(process)
            assert heard("STOPPING=1")()
    assert done.code == 0, done.err
