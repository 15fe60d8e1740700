from __future__ import annotations

import os
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from tests.builders import make_detections, make_frame, make_picture, make_result, make_source
from tests.fakes import FakeClock
from vidpipe.errors import SinkError
from vidpipe.outputs import video
from vidpipe.outputs.annotate import Annotator
from vidpipe.outputs.fonts import FontShelf
from vidpipe.outputs.glyphs import Typesetter
from vidpipe.outputs.palette import color_of
from vidpipe.outputs.video import VideoOptions, VideoSink
from vidpipe.pixels import picture_from_bgr
from vidpipe.types import FrameResult, Picture, Verdict

TYPESETTER = Typesetter(FontShelf([]))
FILE = make_source(time_base=Fraction(1, 12_800))
LIVE = make_source(is_live=True, time_base=Fraction(1, 90_000))


def sink_to(template: Path | str, stream: str = "gate", **options: object) -> VideoSink:
    return VideoSink(
        replace(VideoOptions(str(template)), **options),  # type: ignore[arg-type]  # a test's short form
        Annotator(TYPESETTER),
        stream=stream,
        clock=FakeClock(),
        wall_clock=lambda: datetime(2026, 11, 30, 5, tzinfo=UTC),
    )


def result(number: int, *, is_live: bool = False, picture: Picture | None = None) -> FrameResult:
    frame = make_frame(
        number,
        captured_at=number / 25,
        source=LIVE if is_live else FILE,
        picture=picture or make_picture(320, 240),
    )
    return make_result(frame=frame)


def times_of(path: str) -> list[float]:
    with av.open(path) as container:
        base = container.streams.video[0].time_base
        assert base is not None
        return [float(p.pts * base) for p in container.demux(video=0) if p.pts is not None]


def test_every_frame_is_written_at_its_own_time(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "a" / "{stream}.mp4")
    times = [0.08, 0.12, 0.16, 0.5, 0.54, 2.0]
    for number, pts_s in enumerate(times):
        frame = make_frame(number, pts_s=pts_s, source=FILE)
        sink.write(make_result(frame=frame))
    paths = sink.close()
    assert paths == [str(tmp_path / "a" / "gate.mp4")]
    assert times_of(paths[0]) == pytest.approx(times, abs=1e-9)


@pytest.mark.realdata
@pytest.mark.skipif("VIDPIPE_TEST_DATA" not in os.environ, reason="VIDPIPE_TEST_DATA is not set")
def test_a_real_clip_keeps_its_timestamps_and_its_looks(tmp_path: Path) -> None:
    clip = Path(os.environ["VIDPIPE_TEST_DATA"], "videos", "car-detection.mp4")
    sink = sink_to(tmp_path / "cars.mp4")
    with av.open(str(clip)) as container:
        track = container.streams.video[0]
        assert track.time_base is not None
        source = make_source(time_base=track.time_base)
        times, first = [], None
        for number, decoded in zip(range(100), container.decode(track), strict=False):
            picture = picture_from_bgr(np.asarray(decoded.to_ndarray(format="bgr24"), np.uint8))
            first = picture if first is None else first
            times.append(float((decoded.pts or 0) * track.time_base))
            frame = make_frame(number, pts_s=times[-1], source=source, picture=picture)
            sink.write(make_result(frame=frame))
    path = sink.close()[0]
    assert times_of(path) == pytest.approx(times, abs=1e-9)
    assert first is not None
    with av.open(path) as container:
        luma = next(container.decode(video=0)).to_ndarray()[: first.y.shape[0]]
    assert np.square(luma.astype(float) - first.y).mean() < 65.0  # 30 dB


def test_no_frame_leaves_no_file(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4")
    assert sink.close() == []
    assert sink.close() == []
    assert list(tmp_path.iterdir()) == []


def test_boxes_are_in_the_video(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4")
    plain = result(0)
    sink.write(FrameResult(plain.frame, make_detections((100, 100, 200, 200))))
    with av.open(sink.close()[0]) as container:
        bgr = next(container.decode(video=0)).to_ndarray(format="bgr24")
    assert np.abs(bgr[150, 100].astype(int) - color_of("person")).max() < 60
    assert np.abs(bgr[150, 150].astype(int) - 130).max() < 12


def test_passed_and_failed_frames_are_in_the_video_too(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4")
    for number, verdict in enumerate(Verdict):
        error = "no answer" if verdict is Verdict.FAILED else None
        sink.write(replace(result(number), verdict=verdict, error=error))
    assert len(times_of(sink.close()[0])) == 3


def test_an_odd_size_is_padded_and_a_scaled_one_fitted(tmp_path: Path) -> None:
    sizes = []
    for options in ({}, {"scale": 0.5}, {"fit_wh": (160, 160)}):
        sink = sink_to(tmp_path / "{stream}.mp4", **options)
        sink.write(result(0, picture=make_picture(321, 241)))
        with av.open(sink.close()[0]) as container:
            stream = container.streams.video[0]
            sizes.append((stream.width, stream.height))
    assert sizes == [(322, 242), (160, 120), (160, 120)]


def test_a_rotated_picture_is_upright_in_the_file(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4")
    sink.write(result(0, picture=make_picture(320, 240, rotation_deg=90)))
    with av.open(sink.close()[0]) as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height) == (240, 320)


def test_a_new_size_starts_a_new_file(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "{stream}-{n}.mp4")
    for number in range(6):
        sink.write(result(number, picture=make_picture(320 if number < 4 else 160, 240)))
    paths = sink.close()
    assert [Path(path).name for path in paths] == ["gate-1.mp4", "gate-2.mp4"]
    assert [len(times_of(path)) for path in paths] == [4, 2]
    assert times_of(paths[1])[0] == 0


@pytest.mark.parametrize("is_live", [False, True])
def test_segments_start_at_zero_with_a_key_frame_and_lose_nothing(
    tmp_path: Path,
    is_live: bool,  # noqa: FBT001 - a test's parameter
) -> None:
    sink = sink_to(tmp_path / "{stream}-{n}.mp4", segment_s=2.0)
    for number in range(125):
        sink.write(result(number, is_live=is_live))
    paths = sink.close()
    assert [len(times_of(path)) for path in paths] == [50, 50, 25]
    for path in paths:
        assert times_of(path)[0] == 0
        with av.open(path) as container:
            assert next(container.demux(video=0)).is_keyframe


def test_a_segment_is_named_after_its_own_first_frame(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "{start}.mp4", segment_s=1.0)
    for number in range(50):
        frame = result(number).frame
        moment = datetime(2026, 11, 30, 5, 0, number // 25, tzinfo=UTC)
        sink.write(make_result(frame=replace(frame, time=moment)))
    names = [Path(path).name for path in sink.close()]
    assert names == ["20261130T050000Z.mp4", "20261130T050001Z.mp4"]


def test_a_live_stream_is_cut_at_the_boundaries_of_the_clock(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "{start}.mp4", segment_s=600.0)
    for number in range(40):
        frame = result(number, is_live=True).frame
        moment = datetime(2026, 11, 30, 5, 9, 59, tzinfo=UTC) + timedelta(seconds=number / 25)
        sink.write(make_result(frame=replace(frame, time=moment)))
    paths = sink.close()
    assert [Path(path).name for path in paths] == ["20261130T050959Z.mp4", "20261130T051000Z.mp4"]
    assert [len(times_of(path)) for path in paths] == [25, 15]


def test_a_live_stream_starts_at_zero(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4")
    for number in range(1000, 1010):
        sink.write(result(number, is_live=True))
    assert times_of(sink.close()[0]) == pytest.approx([n / 25 for n in range(10)], abs=1e-4)


def test_max_fps_thins_by_time(tmp_path: Path) -> None:
    sink = sink_to(tmp_path / "gate.mp4", max_fps=5.0)
    for number in range(100):
        sink.write(result(number))
    times = times_of(sink.close()[0])
    assert len(times) == 20
    assert max(b - a for a, b in pairwise(times)) < 0.25


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "gate.mp4").write_text("old")
    sink = sink_to(tmp_path / "gate.mp4")
    sink.write(result(0))
    assert [Path(path).name for path in sink.close()] == ["gate-2.mp4"]
    assert (tmp_path / "gate.mp4").read_text() == "old"


def test_two_streams_with_one_name_both_keep_their_video(tmp_path: Path) -> None:
    found: list[str] = []

    def write(count: int) -> None:
        sink = sink_to(tmp_path / "same.mp4")
        for number in range(count):
            sink.write(result(number))
        found.extend(sink.close())

    threads = [threading.Thread(target=write, args=(count,)) for count in (5, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(times_of(path)) for path in found) == [5, 9]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["same-2.mp4", "same.mp4"]


@pytest.mark.parametrize(("is_live", "counts"), [(True, [10, 10, 5]), (False, [25])])
def test_only_a_live_file_has_a_last_frame(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_live: bool,  # noqa: FBT001 - a test's parameter
    counts: list[int],
) -> None:
    monkeypatch.setattr(video, "MOST_FRAMES_IN_A_LIVE_FILE", 10)
    sink = sink_to(tmp_path / "gate.mp4")
    for number in range(25):
        sink.write(result(number, is_live=is_live))
    assert [len(times_of(path)) for path in sink.close()] == counts


def test_a_folder_that_can_not_be_made_fails_once_and_names_the_stream(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sink = sink_to(tmp_path / "file" / "gate.mp4")
    with pytest.raises(SinkError, match="stream gate"):
        sink.write(result(0))
    sink.write(result(1))
    assert sink.close() == []


def test_finished_segments_stay_when_a_later_one_fails(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sink = sink_to(folder / "{n}" / "gate.mp4", segment_s=1.0)
    for number in range(25):
        sink.write(result(number))
    (folder / "2").touch()
    with pytest.raises(SinkError):
        sink.write(result(25))
    assert sink.close() == [str(folder / "1" / "gate.mp4")]
    assert len(times_of(str(folder / "1" / "gate.mp4"))) == 25


def test_the_file_is_synced_about_once_a_second(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fdatasync", synced.append)
    sink = VideoSink(
        VideoOptions(str(tmp_path / "gate.mp4")), Annotator(TYPESETTER), stream="gate", clock=clock
    )
    for number in range(100):
        sink.write(result(number))
        clock.advance(0.04)
    sink.close()
    assert len(synced) == 3
