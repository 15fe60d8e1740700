from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.builders import make_detections, make_frame, make_result, make_source
from vidpipe.analytics.events import CameraWatch, DetectionWatch, EventPolicy, Scribe
from vidpipe.events import Event, EventKind
from vidpipe.types import CaptureReport, Detections, FrameResult, StreamState, Verdict

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
BOX = (1.0, 2.0, 30.0, 40.0)


def scribe() -> Scribe:
    ids = iter(range(1000))
    return Scribe("gate", "Front gate", lambda: f"id-{next(ids)}", lambda: NOON)


def watch(quiet_s: float = 30.0, *classes: str) -> DetectionWatch:
    return DetectionWatch(EventPolicy(quiet_s, frozenset(classes) or None), scribe())


def seen_at(second: float, *labels: str) -> FrameResult:
    found = make_detections(*[BOX] * len(labels))
    found = Detections(found.boxes_xyxy, found.scores, found.class_ids, labels)
    return make_result(detections=found, frame=make_frame(int(second * 25), pts_s=second))


def frames_of(events: list[Event]) -> list[tuple[str | None, float | None]]:
    return [(event.label, event.pts_s) for event in events]


def test_the_first_detection_is_an_event_with_all_that_is_known() -> None:
    (event,) = watch().see(seen_at(2.0, "person"))
    assert event.score == pytest.approx(0.9)
    assert event == Event(
        id="id-0",
        time=NOON,
        kind=EventKind.DETECTION,
        stream="gate",
        name="Front gate",
        label="person",
        score=event.score,
        box_xyxy=BOX,
        size_wh=(64, 48),
        frame=50,
        pts_s=2.0,
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([0, 1, 2, 29.9], [0]),
        ([0, 29.96, 59.92], [0]),  # each sight begins the quiet anew
        ([0, 30, 60], [0, 30, 60]),
        ([0, 10, 39, 69, 70], [0, 69]),
    ],
)
def test_a_class_is_news_again_after_the_quiet(seconds: list[float], expected: list[float]) -> None:
    policy = watch()
    events = [event for second in seconds for event in policy.see(seen_at(second, "person"))]
    assert [event.pts_s for event in events] == expected


def test_without_a_quiet_every_sight_is_an_event() -> None:
    policy = watch(0.0)
    assert sum(len(policy.see(seen_at(n / 25, "person"))) for n in range(25)) == 25


def test_classes_have_each_its_own_quiet_and_one_event_a_frame_by_the_surest() -> None:
    policy = watch()
    assert frames_of(policy.see(seen_at(0, "person", "dog", "person"))) == [
        ("person", 0),
        ("dog", 0),
    ]
    assert frames_of(policy.see(seen_at(5, "cat", "person"))) == [("cat", 5)]
    (event,) = policy.see(seen_at(40, "dog", "dog"))
    assert event.score == pytest.approx(0.9)


def test_only_the_chosen_classes_make_events() -> None:
    policy = watch(30.0, "dog")
    assert policy.see(seen_at(0, "person")) == []
    assert frames_of(policy.see(seen_at(1, "person", "dog"))) == [("dog", 1)]


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
def test_frames_that_the_model_did_not_answer_say_nothing(verdict: Verdict) -> None:
    policy = watch()
    passed = make_result(detections=make_detections(BOX), verdict=verdict)
    assert policy.see(passed) == []
    assert len(policy.see(seen_at(1, "person"))) == 1


def test_a_live_stream_is_timed_by_arrival_and_keeps_its_moment() -> None:
    policy = watch()
    source = make_source(is_live=True)
    arrived = datetime(2026, 11, 30, 5, tzinfo=UTC)

    def sight(captured_at: float, pts_s: float | None) -> list[Event]:
        frame = make_frame(pts_s=pts_s, captured_at=captured_at, time=arrived, source=source)
        return policy.see(make_result(detections=make_detections(BOX), frame=frame))

    (event,) = sight(100.0, 5.0)
    assert event.time == arrived
    assert sight(110.0, 90_000.0) == []  # the camera's clock has jumped
    assert len(sight(140.0, None)) == 1


def test_a_recording_without_timestamps_is_timed_by_its_declared_rate() -> None:
    policy = watch(2.0)
    found = [
        number
        for number in range(0, 101, 50)
        for _ in policy.see(
            make_result(
                detections=make_detections(BOX),
                frame=make_frame(number, pts_s=None, source=make_source(rate_fps=25)),
            )
        )
    ]
    assert found == [0, 50, 100]


def report(state: StreamState, error: str | None = None) -> CaptureReport:
    return CaptureReport(state, error or "", has_been_up=True, error=error, info=None)


CONNECTING = report(StreamState.CONNECTING)
LIVE = report(StreamState.LIVE)
GONE = report(StreamState.BACKING_OFF, "the camera is gone")
RETRY = report(StreamState.CONNECTING, "the camera is gone")
ENDED = report(StreamState.ENDED)
UP, DOWN = EventKind.CAMERA_UP, EventKind.CAMERA_DOWN


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([CONNECTING, LIVE, LIVE], [UP]),
        ([CONNECTING, GONE, RETRY, GONE, RETRY], [DOWN]),
        ([CONNECTING, GONE, RETRY, LIVE], [DOWN, UP]),
        ([LIVE, GONE, RETRY, LIVE, GONE], [UP, DOWN, UP, DOWN]),
        ([LIVE, RETRY], [UP, DOWN]),  # the look in between came too late
        ([LIVE, report(StreamState.FAILED, "the password was refused")], [UP, DOWN]),
        ([LIVE, ENDED], [UP]),
        ([CONNECTING, ENDED], []),
    ],
)
def test_a_camera_s_ups_and_downs_are_told_once_each(
    reports: list[CaptureReport], expected: list[EventKind]
) -> None:
    camera = CameraWatch(scribe())
    events = [event for one in reports if (event := camera.look(one)) is not None]
    assert [event.kind for event in events] == expected
    assert all(event.detail for event in events if event.kind is DOWN)
    assert all((event.stream, event.name) == ("gate", "Front gate") for event in events)


def test_events_have_ids_of_their_own() -> None:
    one = Scribe("gate", "Gate")
    ids = {one.note(EventKind.DISK_LOW, "2 GB are free").id for _ in range(100)}
    assert len(ids) == 100
    assert one.note(EventKind.DISK_OK).time.tzinfo is UTC
