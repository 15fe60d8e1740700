from __future__ import annotations

import pytest

from tests.fakes import FakeClock
from tests.overviews import FakeOverview, busy_meter, make_pool, make_report
from vidpipe.runtime.durations import Stage
from vidpipe.runtime.meters import StreamMeter
from vidpipe.telemetry.board import StatusBoard
from vidpipe.telemetry.recent import Recent
from vidpipe.types import DropCause, StreamState


def count(meter: StreamMeter, frames: int, age_s: float = 0.02) -> None:
    """Have a stream get through so many frames."""
    for _ in range(frames):
        meter.count_captured()
        meter.count_processed(age_s, 2)


def test_a_look_is_about_the_time_since_the_last() -> None:
    overview = FakeOverview(meters={"gate": busy_meter(100)})
    board = StatusBoard(overview, 10.0)
    count(overview.meters["gate"], 50)
    overview.meters["gate"].count_captured()
    overview.meters["gate"].count_dropped(DropCause.LANE)
    overview.meters["gate"].count_error("inference")
    overview.stage_meters.record(Stage.INFER, 0.01)
    (row,) = board.view(12.0).rows
    assert (row.fps_in, row.fps_out, row.lost, row.failed) == (25.5, 25.0, 1, 1)
    assert (row.title, row.depth, row.age.count, row.stats.captured) == ("GATE", 1, 50, 151)
    view = board.view(14.0)
    assert (view.rows[0].fps_in, view.rows[0].lost, view.rows[0].age.count) == (0.0, 0, 0)
    assert view.stages == {}
    assert set(board.whole_run(16.0).stages) == {Stage.INFER}


def test_over_the_whole_run_a_stream_counts_for_as_long_as_it_ran(clock: FakeClock) -> None:
    meter = StreamMeter(_clock=clock)
    overview = FakeOverview(meters={"gate": meter, "dock": StreamMeter()})
    overview.states["dock"] = make_report(StreamState.CONNECTING)
    board = StatusBoard(overview, 0.0)
    clock.advance(3.0)
    for _ in range(50):
        meter.count_captured()
        clock.advance(0.04)
        meter.count_processed(0.04, 0)
    clock.advance(100.0)
    gate, dock = board.whole_run(clock.now_s).rows
    assert gate.fps_out == pytest.approx(25.0)
    assert gate.fps_in == pytest.approx(25.0)
    assert dock.fps_out == 0.0


def test_what_a_stop_throws_away_is_no_trouble() -> None:
    overview = FakeOverview()
    board = StatusBoard(overview, 0.0)
    overview.meters["gate"].count_captured()
    overview.meters["gate"].count_dropped(DropCause.STOP)
    assert board.view(1.0).rows[0].lost == 0


def test_batches_are_those_of_the_interval_and_requests_those_of_now() -> None:
    overview = FakeOverview(pool_reports=[make_pool(batches=9, batched_frames=9, batch_places=72)])
    board = StatusBoard(overview, 0.0)
    overview.pool_reports = [make_pool(batches=10, batched_frames=15, batch_places=80)]
    (pool,) = board.view(1.0).pools
    assert (pool.batches, pool.batched_frames, pool.batch_places) == (1, 6, 8)
    assert pool.requests["running"] == 3


def test_streams_and_pools_may_come_and_go() -> None:
    overview = FakeOverview()
    board = StatusBoard(overview, 0.0)
    overview.meters = {"dock": busy_meter(10)}
    overview.states = {"dock": make_report()}
    overview.pool_reports = [make_pool("face")]
    view = board.view(2.0)
    assert [(row.stream, row.fps_in) for row in view.rows] == [("dock", 5.0)]
    assert [pool.name for pool in view.pools] == ["face"]


def test_a_stream_without_a_report_is_left_out() -> None:
    overview = FakeOverview()
    board = StatusBoard(overview, 0.0)
    overview.states = {}
    assert board.view(1.0).rows == ()


def test_two_looks_at_the_same_moment_divide_by_nothing() -> None:
    overview = FakeOverview()
    board = StatusBoard(overview, 5.0)
    assert board.view(5.0).rows[0].fps_in == 0.0


def test_the_window_slides_with_the_samples(clock: FakeClock) -> None:
    overview = FakeOverview()
    recent = Recent(clock)
    recent.sample()
    assert recent.view() is None
    recent.show(overview)
    for second in range(20):
        count(overview.meters["gate"], 10 if second < 10 else 30)
        clock.advance(1.0)
        recent.sample()
    view = recent.view()
    assert view is not None
    assert view.seconds == pytest.approx(5.0)
    assert view.rows[0].fps_out == pytest.approx(30.0)
    again = recent.view()
    assert again is not None
    assert again.rows[0].fps_out == view.rows[0].fps_out
