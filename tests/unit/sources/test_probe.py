from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.builders import make_picture, make_source
from tests.clips import ClipSpec, cut, write_clip
from tests.fakes import FakeClock
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.sources.addresses import open_file
from vidpipe.sources.probe import probe
from vidpipe.types import Decoded, SourceInfo


class LiveCamera:
    """Sends a burst at once, then pictures at its rate, by a clock that it moves itself."""

    def __init__(self, clock: FakeClock, *, burst: int, rate_fps: float) -> None:
        self.clock, self.burst, self.rate_fps = clock, burst, rate_fps
        self.is_closed = False

    @property
    def info(self) -> SourceInfo:
        return make_source(is_live=True, rate_fps=None)

    def read(self) -> Decoded:
        if self.burst:
            self.burst -= 1
        else:
            self.clock.advance(1 / self.rate_fps)
        return Decoded(make_picture(), None)

    def close(self) -> None:
        self.is_closed = True


def test_a_recorded_file_is_measured_by_its_timestamps(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", ClipSpec(60, rotation_ccw_deg=90))
    report = probe(lambda: open_file(path))
    assert report.info is not None
    assert report.info.codec == "h264"
    assert report.size_wh == (48, 64)
    assert report.measured_fps == pytest.approx(25.0)
    assert report.first_frame_s is not None
    assert (report.cause, report.message) == (None, "")


def test_a_live_camera_is_measured_by_arrival_without_its_burst(clock: FakeClock) -> None:
    camera = LiveCamera(clock, burst=40, rate_fps=12.5)
    report = probe(lambda: camera, measure_s=2.0, clock=clock)
    assert report.measured_fps == pytest.approx(12.5)
    assert camera.is_closed


def test_a_raw_stream_has_no_measured_rate(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.264", ClipSpec(30))
    report = probe(lambda: open_file(path), measure_s=60.0)
    assert report.measured_fps is None
    assert report.frame_count == 30


def test_a_failed_open_is_a_report() -> None:
    report = probe(lambda: open_file(Path("no.mp4")))
    assert report.cause is SourceCause.NOT_FOUND
    assert "no.mp4" in report.message
    assert report.info is None


def test_a_failure_while_reading_is_reported_beside_what_was_seen(tmp_path: Path) -> None:
    path = cut(write_clip(tmp_path / "clip.mkv", ClipSpec(40, (160, 120))), 0.6)
    report = probe(lambda: open_file(path), measure_s=60.0)
    assert report.cause is SourceCause.INCOMPLETE
    assert report.frame_count > 5
    assert report.measured_fps == pytest.approx(25.0)


def test_a_source_that_hangs_is_given_up_at_the_limit() -> None:
    lets_go = threading.Event()

    def hang() -> Reader:
        lets_go.wait(10.0)
        raise SourceError("late", SourceCause.LOST)

    report = probe(hang, limit_s=0.05)
    assert report.cause is SourceCause.TIMEOUT
    lets_go.set()
