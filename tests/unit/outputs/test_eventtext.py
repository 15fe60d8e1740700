from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.postroom import make_event
from vidpipe.events import Event, EventKind
from vidpipe.outputs.eventtext import text_from_event
from vidpipe.runtime.logs import register_secret


def test_a_detection_has_all_keys_in_order() -> None:
    text = text_from_event(make_event(7))
    assert text == (
        '{"id": "event-000007", "time": "2026-11-30T05:00:00.123Z", "kind": "detection", '
        '"stream": "gate", "name": "Front gate", "label": "person", "score": 0.91, '
        '"box": [1.0, 2.0, 30.5, 40.25], "width": 64, "height": 48, "frame": 7, "pts": 0.28, '
        '"detail": null}'
    )


def test_what_an_event_has_not_is_null() -> None:
    moment = datetime(2026, 11, 30, 6, tzinfo=timezone(timedelta(hours=1)))
    event = Event("x", moment, EventKind.CAMERA_DOWN, "gate", "Tor – 門", detail="no answer")
    text = text_from_event(event)
    assert "Tor – 門" in text
    read = json.loads(text)
    assert read["time"] == "2026-11-30T05:00:00.000Z"
    assert read["detail"] == "no answer"
    nothing = ("label", "score", "box", "width", "height", "frame", "pts")
    assert [read[key] for key in nothing] == [None] * 7


def test_numbers_that_are_none_and_boxes_beyond_the_frame_are_mended() -> None:
    infinite, missing = float("inf"), float("nan")
    event = Event(
        id="x",
        time=datetime(2026, 11, 30, tzinfo=UTC),
        kind=EventKind.DETECTION,
        stream="gate",
        name="gate",
        score=missing,
        box_xyxy=(-3.0, missing, 70.0, infinite),
        size_wh=(64, 48),
        pts_s=infinite,
    )
    read = json.loads(text_from_event(event), parse_constant=pytest.fail)
    assert (read["score"], read["pts"]) == (None, None)
    assert read["box"] == [0.0, 0.0, 64, 0.0]


def test_no_secret_gets_into_an_event() -> None:
    register_secret("swordfish")
    event = make_event(detail="rtsp://user:other-word@camera/1 with swordfish is gone")
    text = text_from_event(event)
    assert "swordfish" not in text
    assert "other-word" not in text
