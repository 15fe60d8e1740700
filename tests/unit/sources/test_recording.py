"""Samples of network sources: their own packets in a file that vidpipe reads again."""

from __future__ import annotations

from pathlib import Path

import av
import pytest

from tests.clips import ClipSpec, write_clip
from tests.file_server import serving_files
from tests.rtsp import has_rtsp_server, rtsp_server
from vidpipe.errors import SourceCause, SourceError
from vidpipe.sources.addresses import open_file
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.recording import SUFFIX, record_sample
from vidpipe.types import Decoded

LIMITS = VideoLimits(open_timeout_s=5.0, read_timeout_s=2.0)
needs_server = pytest.mark.skipif(
    not has_rtsp_server(), reason="the system's python3 has no GStreamer RTSP server"
)


def frames_of(path: Path) -> list[Decoded]:
    """Read a file to its end, which must be whole."""
    reader = open_file(path)
    frames = []
    while (frame := reader.read()) is not None:
        frames.append(frame)
    reader.close()
    return frames


def packets_of(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


@pytest.mark.parametrize(
    "spec",
    [
        ClipSpec(frames=50),
        ClipSpec(frames=50, encoder={"bf": "2"}, with_sound=0.5),
        ClipSpec(frames=50, codec="mpeg4"),
    ],
)
def test_a_short_source_is_copied_whole(tmp_path: Path, spec: ClipSpec) -> None:
    clip = write_clip(tmp_path / "clip.mp4", spec)
    sample = tmp_path / f"sample{SUFFIX}"
    with serving_files() as server:
        server.files["/clip.mp4"] = clip.read_bytes()
        count = record_sample(f"{server.url}/clip.mp4", sample, 60.0, limits=LIMITS)
    assert count == 50
    assert packets_of(sample) == packets_of(clip)
    copied, original = frames_of(sample), frames_of(clip)
    assert len(copied) == len(original) == 50
    for one, other in zip(copied, original, strict=True):
        assert (one.picture.y == other.picture.y).all()


def test_a_long_source_is_copied_for_so_many_seconds_of_it(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", ClipSpec(frames=100))
    sample = tmp_path / f"sample{SUFFIX}"
    with serving_files() as server:
        server.files["/clip.mp4"] = clip.read_bytes()
        count = record_sample(f"{server.url}/clip.mp4", sample, 2.0, limits=LIMITS)
    assert count == pytest.approx(50, abs=3)
    times = [frame.pts_s for frame in frames_of(sample)]
    assert times[0] == pytest.approx(0.0, abs=0.1)


def test_a_source_that_is_not_there_is_said_to_be_without_its_password(tmp_path: Path) -> None:
    with serving_files() as server:
        url = server.url.replace("http://", "http://bob:geheim@")
        with pytest.raises(SourceError) as caught:
            record_sample(f"{url}/none.mp4", tmp_path / f"x{SUFFIX}", 1.0, limits=LIMITS)
    assert caught.value.cause is SourceCause.NOT_FOUND
    assert "geheim" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@needs_server
@pytest.mark.rtsp
def test_a_camera_is_copied_from_a_key_frame_on_and_can_be_played_again(tmp_path: Path) -> None:
    sample = tmp_path / f"sample{SUFFIX}"
    with rtsp_server() as server:
        record_sample(server.url(), sample, 1.0, limits=LIMITS)
    frames = frames_of(sample)
    assert 15 <= len(frames) <= 50
    assert frames[0].picture.size_wh == (320, 240)
    times = [frame.pts_s for frame in frames if frame.pts_s is not None]
    assert times == sorted(set(times))


@needs_server
@pytest.mark.rtsp
def test_a_camera_that_dies_leaves_what_it_has_sent(tmp_path: Path) -> None:
    sample = tmp_path / f"sample{SUFFIX}"
    with rtsp_server() as server:
        ticks = iter(range(1000))

        def clock() -> float:
            if next(ticks) == 20:
                server.kill()
            return 0.0

        count = record_sample(server.url(), sample, 60.0, limits=LIMITS, clock=clock)
    assert count >= 15
    assert len(frames_of(sample)) == count
