from __future__ import annotations

import pytest

from tests.builders import make_frame
from vidpipe.scheduling.lanes import Lane, LanePolicy
from vidpipe.types import DropCause, Frame, Overflow


class Losses:
    """Counts what a lane says that it lost."""

    def __init__(self) -> None:
        self.by_cause: dict[DropCause, int] = {}

    def __call__(self, cause: DropCause, frames: int) -> None:
        assert frames > 0
        self.by_cause[cause] = self.by_cause.get(cause, 0) + frames


def make_lane(
    size: int = 2, overflow: Overflow = Overflow.DROP_OLDEST, max_age_s: float | None = None
) -> tuple[Lane, Losses]:
    losses = Losses()
    return Lane(LanePolicy(size, overflow, max_age_s), losses), losses


def taken(lane: Lane, now_s: float = 0.0) -> list[int]:
    frames: list[Frame] = []
    while (frame := lane.take(now_s)) is not None:
        frames.append(frame)
    return [frame.number for frame in frames]


def test_a_lane_that_keeps_up_gives_every_frame_in_order() -> None:
    lane, losses = make_lane(size=3)
    for number in range(3):
        lane.put(make_frame(number))
    assert len(lane) == 3
    assert taken(lane) == [0, 1, 2]
    assert losses.by_cause == {}


def test_a_lane_that_is_behind_gives_its_newest_and_drops_the_rest() -> None:
    lane, losses = make_lane(size=2)
    for number in range(5):
        lane.put(make_frame(number))
    assert taken(lane) == [4]
    assert losses.by_cause == {DropCause.LANE: 4}


def test_a_lane_that_has_caught_up_gives_every_frame_again() -> None:
    lane, losses = make_lane(size=2)
    for number in range(3):
        lane.put(make_frame(number))
    assert taken(lane) == [2]
    for number in (3, 4):
        lane.put(make_frame(number))
    assert taken(lane) == [3, 4]
    assert losses.by_cause == {DropCause.LANE: 2}


def test_a_lane_whose_backlog_went_stale_is_not_behind_any_more() -> None:
    lane, losses = make_lane(size=2, max_age_s=1.0)
    for number in range(3):
        lane.put(make_frame(number, captured_at=0.0))
    assert lane.take(5.0) is None
    for number in (3, 4):
        lane.put(make_frame(number, captured_at=5.0))
    assert taken(lane, 5.0) == [3, 4]
    assert losses.by_cause == {DropCause.LANE: 1, DropCause.AGE: 2}


def test_stale_frames_give_way_to_fresh_ones() -> None:
    lane, losses = make_lane(size=4, max_age_s=0.5)
    for number, captured_at in enumerate([0.0, 0.4, 0.5, 1.0]):
        lane.put(make_frame(number, captured_at=captured_at))
    assert taken(lane, 1.0) == [2, 3]  # one that is just as old as allowed still goes
    assert losses.by_cause == {DropCause.AGE: 2}


def test_frames_of_files_never_grow_stale() -> None:
    lane, losses = make_lane(overflow=Overflow.BLOCK)
    lane.put(make_frame(0, captured_at=0.0))
    assert taken(lane, 1e9) == [0]
    assert losses.by_cause == {}


def test_only_a_full_blocking_lane_makes_its_producer_wait() -> None:
    blocking, _ = make_lane(size=1, overflow=Overflow.BLOCK)
    dropping, _ = make_lane(size=1)
    assert not blocking.must_wait
    for lane in (blocking, dropping):
        lane.put(make_frame(0))
    assert blocking.must_wait
    assert not dropping.must_wait
    blocking.take(0.0)
    assert not blocking.must_wait


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_is_discarded_is_counted_under_its_cause(count: int) -> None:
    lane, losses = make_lane()
    for number in range(count):
        lane.put(make_frame(number))
    lane.discard(DropCause.STOP)
    assert len(lane) == 0
    assert losses.by_cause == ({DropCause.STOP: count} if count else {})


def test_a_lane_never_holds_more_than_its_size() -> None:
    lane, losses = make_lane(size=3)
    for number in range(100):
        lane.put(make_frame(number))
        assert len(lane) <= 3
    assert sum(losses.by_cause.values()) + len(lane) == 100
