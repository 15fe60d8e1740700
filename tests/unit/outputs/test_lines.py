from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from tests.builders import make_detections, make_frame, make_picture, make_result
from vidpipe.outputs.lines import line_from_result
from vidpipe.types import NO_PICTURE, Detections, Verdict


def parsed(line: bytes) -> dict[str, Any]:
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    found: dict[str, Any] = json.loads(line)
    return found


def test_keys_and_their_order_are_the_contract() -> None:
    time = datetime(2026, 11, 30, 5, 0, 0, 123456, tzinfo=UTC)
    frame = replace(make_frame(123, picture=make_picture(192, 108)), time=time)
    line = line_from_result(make_result(0, make_detections((1, 2, 30.456, 40)), frame=frame))
    assert line.decode() == (
        '{"stream": "gate", "frame": 123, "pts": 4.92, "time": "2026-11-30T05:00:00.123Z", '
        '"width": 192, "height": 108, "detections": [{"label": "person", "class_id": 0, '
        '"score": 0.9, "box": [1.0, 2.0, 30.46, 40.0], "track_id": null}], "error": null}\n'
    )


def test_the_size_is_the_frames_even_where_the_pixels_are_gone() -> None:
    frame = replace(make_frame(picture=make_picture(64, 48)), picture=NO_PICTURE)
    found = parsed(line_from_result(make_result(0, make_detections((0, 0, 99, 99)), frame=frame)))
    assert (found["width"], found["height"]) == (64, 48)
    assert found["detections"][0]["box"] == [0, 0, 64, 48]


def test_a_failed_frame_has_its_error_and_no_detections() -> None:
    found = parsed(
        line_from_result(
            make_result(0, make_detections((0, 0, 9, 9)), verdict=Verdict.FAILED, error="no answer")
        )
    )
    assert found["error"] == "no answer"
    assert found["detections"] == []


def test_an_error_tells_no_password() -> None:
    line = line_from_result(
        make_result(0, verdict=Verdict.FAILED, error="lost rtsp://user:hunter2@camera/1")
    )
    assert b"hunter2" not in line


@pytest.mark.parametrize("pts", [None, float("nan"), float("inf")])
def test_a_missing_timestamp_is_null(pts: float | None) -> None:
    assert parsed(line_from_result(make_result(frame=make_frame(pts_s=pts))))["pts"] is None


def test_timestamps_are_rounded_to_microseconds() -> None:
    line = line_from_result(make_result(frame=make_frame(pts_s=1 / 3)))
    assert b'"pts": 0.333333,' in line


def test_time_is_utc_with_milliseconds() -> None:
    time = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    found = parsed(line_from_result(make_result(frame=make_frame(time=time))))
    assert found["time"] == "2026-01-01T00:00:00.000Z"


def test_scores_fall() -> None:
    base = make_detections((0, 0, 1, 1), (0, 0, 2, 2), (0, 0, 3, 3))
    mixed = replace(base, scores=np.array([0.1, 0.9, 0.5], np.float32))
    found = parsed(line_from_result(make_result(0, mixed)))["detections"]
    assert [item["score"] for item in found] == [0.9, 0.5, 0.1]
    assert [item["box"][2] for item in found] == [2, 3, 1]


def test_what_is_no_number_never_reaches_the_file() -> None:
    broken = Detections(
        boxes_xyxy=np.array([[np.nan, -5, np.inf, 1e30]], np.float32),
        scores=np.array([np.nan], np.float32),
        class_ids=np.array([3], np.int32),
        labels=("x",),
        track_ids=(9,),
    )
    line = line_from_result(make_result(0, broken))
    assert b"NaN" not in line
    assert b"Infinity" not in line
    assert b"-0.0" not in line
    found = parsed(line)["detections"][0]
    assert found == {
        "label": "x", "class_id": 3, "score": 0.0, "box": [0, 0, 64, 48], "track_id": 9,
    }  # fmt: skip


@pytest.mark.parametrize("label", ["人物", "a\nb", 'quo"te', "\u2028x\u2029\x85", "\udc80", "🚗"])
def test_any_label_keeps_a_line_one_line_and_comes_back_whole(label: str) -> None:
    line = line_from_result(make_result(0, make_detections((0, 0, 9, 9), label=label)))
    assert len(line.decode("utf-8").splitlines()) == 1
    assert parsed(line)["detections"][0]["label"] == label


def test_text_of_any_script_stays_readable() -> None:
    line = line_from_result(make_result(0, make_detections((0, 0, 9, 9), label="人物")))
    assert "人物" in line.decode()
