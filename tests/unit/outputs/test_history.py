from __future__ import annotations

from datetime import UTC, datetime

from tests.builders import make_detections, make_frame, make_result
from tests.fakes import FakeClock
from vidpipe.outputs.history import History
from vidpipe.shots import Second
from vidpipe.types import FrameResult, Verdict

EPOCH_S = 1_800_000_000.0


def at(clock: FakeClock, persons: int, verdict: Verdict = Verdict.DETECTED) -> FrameResult:
    boxes = make_detections(*[(0.0, 0.0, 9.0, 9.0)] * persons)
    return make_result(detections=boxes, frame=make_frame(captured_at=clock()), verdict=verdict)


def history(clock: FakeClock) -> History:
    return History(clock, lambda: EPOCH_S + clock())


def test_a_second_has_the_most_that_was_seen_at_once(clock: FakeClock) -> None:
    one = history(clock)
    for persons in (1, 3, 2):
        one.note(at(clock, persons))
        clock.advance(0.1)
    clock.advance(1.0)
    one.note(at(clock, 0))
    found = one.seconds()
    assert [second.counts for second in found] == [{"person": 3}, {}]
    assert (found[1].time - found[0].time).total_seconds() == 1


def test_it_never_holds_more_than_a_minute(clock: FakeClock) -> None:
    one = history(clock)
    for _ in range(1000):
        one.note(at(clock, 1))
        clock.advance(0.5)
    assert 59 <= len(one.seconds()) <= 60
    clock.advance(30)
    assert 29 <= len(one.seconds()) <= 31
    clock.advance(1000)
    assert one.seconds() == []


def test_the_last_few_seconds_are_those_that_saw_a_frame(clock: FakeClock) -> None:
    one = history(clock)
    for persons in (1, 2, 3):
        one.note(at(clock, persons))
        clock.advance(10)
    assert [second.counts for second in one.seconds(2)] == [{"person": 2}, {"person": 3}]
    assert one.seconds(2) == one.seconds()[-2:]
    assert one.seconds(100) == one.seconds()
    clock.advance(45)
    assert [second.counts for second in one.seconds(2)] == [{"person": 3}]


def test_a_clock_that_is_set_back_begins_a_new_minute(clock: FakeClock) -> None:
    set_back_s = 0.0
    one = History(clock, lambda: EPOCH_S + clock() - set_back_s)
    one.note(at(clock, 5))
    clock.advance(1)
    set_back_s = 86_400.0
    one.note(at(clock, 1))
    clock.advance(1)
    one.note(at(clock, 2))
    assert [second.counts for second in one.seconds()] == [{"person": 1}, {"person": 2}]


def test_frames_that_were_not_answered_are_no_seconds_but_are_the_newest(clock: FakeClock) -> None:
    one = history(clock)
    assert one.glance() is None
    one.note(at(clock, 2))
    clock.advance(5)
    one.note(at(clock, 2, Verdict.PASSED))
    assert len(one.seconds()) == 1
    glance = one.glance()
    assert glance is not None
    assert glance.captured_at == clock()
    assert glance.counts == {"person": 2}
    assert glance.size_wh == (64, 48)
    assert glance.time == datetime.fromtimestamp(EPOCH_S + clock(), UTC)


def test_what_another_process_noted_may_come_in_parts(clock: FakeClock) -> None:
    one = history(clock)
    clock.advance(2)
    first, second = (datetime.fromtimestamp(EPOCH_S + n, UTC) for n in (1, 2))
    one.merge([Second(first, {"person": 1})], None)
    one.merge([Second(first, {"person": 1, "car": 2}), Second(second, {"person": 4})], None)
    one.merge([Second(second, {"person": 3})], None)
    assert one.seconds() == [
        Second(first, {"person": 1, "car": 2}),
        Second(second, {"person": 4}),
    ]
