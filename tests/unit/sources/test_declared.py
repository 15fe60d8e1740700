from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import av
import pytest

from tests.clips import ClipSpec, write_clip
from vidpipe.sources.declared import (
    declared_rate_fps,
    duration_s_of,
    promise_of,
    recorded_at_of,
    tagged_duration_s,
)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2018-04-19T22:46:00.000000Z", datetime(2018, 4, 19, 22, 46, tzinfo=UTC)),
        ("2018-04-19T22:46:00+02:00", datetime(2018, 4, 19, 20, 46, tzinfo=UTC)),
        ("2018-04-19T22:46:00", None),  # whose time?
        ("1904-01-01T00:00:00Z", None),
        ("1970-01-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        ("0001-01-01T00:00:00+23:00", None),
    ],
)
def test_a_creation_time_is_taken_only_where_it_can_be_true(
    text: str, moment: datetime | None
) -> None:
    assert recorded_at_of({"creation_time": text}) == moment


def test_the_streams_own_time_is_second_choice() -> None:
    moment = datetime(2020, 1, 2, tzinfo=UTC)
    assert recorded_at_of({}, {"creation_time": "2020-01-02T00:00:00Z"}) == moment
    assert recorded_at_of({}, {}) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:01:02.345000000", 62.345), ("01:00:00", 3600.0), ("soon", None), ("1:2", None)],
)
def test_a_tracks_own_duration_is_read(text: str, seconds: float | None) -> None:
    assert tagged_duration_s({"DURATION": text}) == seconds


def test_an_mp4_promises_its_index_and_a_transport_stream_nothing(tmp_path: Path) -> None:
    for name, packets in (("clip.mp4", 10), ("clip.ts", None)):
        path = write_clip(tmp_path / name)
        with av.open(str(path)) as container:
            assert promise_of(container, container.streams.video[0], path).packets == packets


def test_the_rate_and_duration_of_a_clip_are_found(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mkv", ClipSpec(frames=50))
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert declared_rate_fps(stream, is_raw=False) == 25.0
        assert duration_s_of(container, stream) == pytest.approx(2.0)
