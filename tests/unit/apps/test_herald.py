from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.builders import make_detections, make_result
from tests.config_files import load, one_stream
from tests.hooks import HookServer, serving_hooks
from tests.threads import wait_until
from vidpipe.apps.eventplaces import event_targets
from vidpipe.apps.herald import Herald
from vidpipe.apps.outcome import Outcome
from vidpipe.config.schema import OutboxConfig
from vidpipe.events import EventKind
from vidpipe.runtime.meters import StreamMeter
from vidpipe.types import CaptureReport, StreamState


class FakeCamera:
    is_live = True

    def __init__(self) -> None:
        self.state = StreamState.CONNECTING

    def report(self) -> CaptureReport:
        return CaptureReport(self.state, "gone", has_been_up=True, error="gone", info=None)


def herald_for(server: HookServer, folder: Path) -> tuple[Herald, Outcome]:
    config = load(one_stream(f"outputs: [{{type: webhook, url: '{server.url}'}}]"))
    targets = list(event_targets(config.streams[0], ["webhook"]))
    outcome = Outcome({"gate": 0})
    outbox = OutboxConfig(path=folder / "outbox.db")
    return Herald(targets, None, outbox, outcome, time.monotonic), outcome


def finish(herald: Herald) -> list[str]:
    herald.end()
    wait_until(herald.drained.is_set, "all is delivered")
    return herald.close()


def test_detections_cameras_and_disks_are_made_known(tmp_path: Path, log_lines: list[str]) -> None:
    camera, meter = FakeCamera(), StreamMeter()
    with serving_hooks() as server:
        herald, _ = herald_for(server, tmp_path)
        see = herald.result_watch("gate", "Front gate", meter)
        announce = herald.announcer("gate", "Front gate")
        herald.watch_camera("gate", "Front gate", camera)
        assert see is not None
        herald.start()
        see(make_result(detections=make_detections((1, 2, 3, 4))))
        see(make_result(1, detections=make_detections((1, 2, 3, 4))))
        announce(EventKind.DISK_LOW, "2 GB are free below out, by rtsp://u:pw@h/")
        wait_until(lambda: len(server.posts) == 2, "two events")
        camera.state = StreamState.LIVE
        wait_until(lambda: len(server.posts) == 3, "it is up")
        camera.state = StreamState.BACKING_OFF
        wait_until(lambda: len(server.posts) == 4, "it is down")
        herald.end_watch()
        camera.state = StreamState.LIVE
        assert finish(herald) == []
    assert [post.body["kind"] for post in server.posts] == [
        *("detection", "disk-low", "camera-up", "camera-down"),
    ]
    assert {post.body["name"] for post in server.posts} == {"Front gate"}
    assert server.posts[1].body["detail"] == "2 GB are free below out, by rtsp://***@h/"
    assert len({post.body["id"] for post in server.posts}) == 4
    assert not herald.is_held
    assert any("events: 4 delivered" in line for line in log_lines)


def test_other_streams_make_no_events(tmp_path: Path) -> None:
    with serving_hooks() as server:
        herald, _ = herald_for(server, tmp_path)
        assert herald.result_watch("yard", "Yard", StreamMeter()) is None
        herald.start()
        herald.announcer("yard", "Yard")(EventKind.DISK_LOW, "full")
        finish(herald)
    assert not server.posts


def test_what_is_refused_counts_once_as_a_failure_and_always_as_lost(tmp_path: Path) -> None:
    meter = StreamMeter()
    with serving_hooks() as server:
        server.answers = [410, 410]
        herald, outcome = herald_for(server, tmp_path)
        herald.result_watch("gate", "Gate", meter)
        herald.start()
        for _ in range(2):
            herald.announcer("gate", "Gate")(EventKind.DISK_LOW, "full")
        finish(herald)
    (failure,) = outcome.failures
    assert str(failure) == "gate webhook: events were refused, the first one: HTTP 410 Gone"
    stats = meter.snapshot()
    assert (dict(stats.errors), dict(stats.sink_losses)) == ({"webhook": 2}, {"webhook": 2})


@pytest.mark.parametrize("has_started", [True, False])
def test_it_can_be_ended_twice_and_without_a_start(tmp_path: Path, has_started: bool) -> None:  # noqa: FBT001 - a parameter of the test
    with serving_hooks() as server:
        herald, _ = herald_for(server, tmp_path)
        if has_started:
            herald.start()
        assert finish(herald) == []
        assert herald.close() == []
    assert json.dumps(server.posts) == "[]"


def test_events_go_to_another_place_from_one_moment_to_the_next(tmp_path: Path) -> None:
    with serving_hooks() as first, serving_hooks() as second:
        herald, _ = herald_for(first, tmp_path)
        announce = herald.announcer("gate", "Gate")
        herald.start()
        announce(EventKind.DISK_LOW, "one")
        wait_until(lambda: len(first.posts) == 1, "the first")
        config = load(one_stream(f"outputs: [{{type: webhook, url: '{second.url}'}}]"))
        targets = list(event_targets(config.streams[0], ["webhook"]))
        assert not herald.is_for(targets)
        herald.replace(herald.prepare(targets))
        assert herald.is_for(targets)
        announce(EventKind.DISK_LOW, "two")
        wait_until(lambda: len(second.posts) == 1, "the second")
        assert finish(herald) == []
    assert [post.body["detail"] for post in first.posts] == ["one"]
    assert [post.body["detail"] for post in second.posts] == ["two"]
    assert not herald.is_held


def test_what_a_former_place_has_not_got_waits_for_whoever_has_its_name(tmp_path: Path) -> None:
    with serving_hooks() as first, serving_hooks() as second:
        first.answers = [503] * 100
        herald, _ = herald_for(first, tmp_path)
        announce = herald.announcer("gate", "Gate")
        herald.start()
        for number in range(5):
            announce(EventKind.DISK_LOW, str(number))
        wait_until(lambda: len(first.posts) >= 1, "a try")
        config = load(one_stream(f"outputs: [{{type: webhook, url: '{second.url}'}}]"))
        herald.replace(herald.prepare(list(event_targets(config.streams[0], ["webhook"]))))
        wait_until(lambda: len(second.posts) == 5, "all of them")
        finish(herald)
    assert [post.body["detail"] for post in second.posts] == ["0", "1", "2", "3", "4"]


def test_without_any_place_nothing_is_opened(tmp_path: Path) -> None:
    herald = Herald([], None, OutboxConfig(path=tmp_path / "o.db"), Outcome(), time.monotonic)
    herald.start()
    herald.announcer("gate", "Gate")(EventKind.DISK_LOW, "full")
    assert finish(herald) == []
    assert not list(tmp_path.iterdir())
