from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import make_picture, make_source
from vidpipe.sources.stamping import Stamps
from vidpipe.types import Decoded

LIVE = make_source(is_live=True)


def test_a_live_stream_goes_on_behind_the_last_connection_whatever_its_camera_says() -> None:
    first = Stamps(LIVE, None, 0.0)
    times = [
        first.stamp(Decoded(make_picture(), pts_s), n, n * 0.04).pts_s
        for n, pts_s in enumerate([700.0, 700.04, 12.0])
    ]
    again = Stamps(LIVE, first.next_pts_s, 5.0)
    times.append(again.stamp(Decoded(make_picture(), 3.0), 3, 5.0).pts_s)
    assert times == pytest.approx([700.0, 700.04, 700.08, 700.12])


def test_a_file_that_is_played_again_keeps_its_time_though_its_beginning_is_passed_over() -> None:
    again = Stamps(make_source(), 20.0, 0.0)
    again.pass_over(50)
    found = again.stamp(Decoded(make_picture(), 2.0), 50, 0.0)
    assert found.media_s == pytest.approx(20.0 + 50 * again.frame_s)


def test_a_live_source_without_any_timestamps_has_none() -> None:
    stamps = Stamps(replace(LIVE, time_base=None), None, 0.0)
    assert stamps.stamp(Decoded(make_picture(), None), 0, 1.0).pts_s is None


def test_a_jump_in_a_recording_is_its_own() -> None:
    stamps = Stamps(make_source(), None, 0.0)
    found = [stamps.stamp(Decoded(make_picture(), t), n, 0.0).pts_s for n, t in enumerate([9, 2])]
    assert found == [9, 2]
