"""Live video as a reader gives it: whole pictures only, as few of them as are wanted."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.clips import ClipSpec, write_clip
from tests.feeds import hls_camera, mjpeg_camera
from tests.peers import (
    Behaviour,
    babbling,
    closing,
    giving,
    peer,
    redirecting,
    resetting,
    silent,
    trickling,
)
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.sources.addresses import open_file, open_network
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.paced import PacedReader
from vidpipe.sources.skipping import DecodeMode, DecodePlan
from vidpipe.types import Decoded

LIMITS = VideoLimits(open_timeout_s=1.0, read_timeout_s=1.0)


def rest(reader: Reader) -> list[Decoded]:
    """Read to the end, which of a live source is an error."""
    found: list[Decoded] = []
    try:
        while (decoded := reader.read()) is not None:
            found.append(decoded)
    except SourceError:
        assert reader.info.is_live
    reader.close()
    return found


def times(found: list[Decoded]) -> list[float]:
    return [round(decoded.pts_s or 0.0, 3) for decoded in found]


def begun_late(tmp_path: Path) -> Path:
    """Return a broadcast that begins in the middle of a group of pictures."""
    encoder = {"g": "20", "bf": "0", "sc_threshold": "0"}
    clip = write_clip(tmp_path / "a.ts", ClipSpec(frames=60, encoder=encoder))
    data = clip.read_bytes()
    cut = tmp_path / "cut.ts"
    cut.write_bytes(data[: 188 * 3] + data[len(data) // 188 // 5 * 188 :])
    return cut


def test_a_live_stream_begins_with_its_first_key_frame(tmp_path: Path) -> None:
    cut = begun_late(tmp_path)
    whole = times(rest(open_file(tmp_path / "a.ts")))
    reader = open_file(cut, is_live=True)
    found = times(rest(reader))
    assert found in (whole[20:], whole[20:-1])
    assert reader.vitals.skipped > 0


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [("libx264", ".mp4"), ("libx264", ".ts"), ("libx265", ".mkv"), ("mpeg4", ".mp4")],
)
def test_key_frames_alone_are_the_pictures_that_they_are(
    codec: str, suffix: str, tmp_path: Path
) -> None:
    quiet = {"x265-params": "log-level=none:keyint=10:min-keyint=10:scenecut=0"}
    encoder = {"g": "10", "bf": "2", "sc_threshold": "0"} | (quiet if "265" in codec else {})
    clip = write_clip(tmp_path / f"a{suffix}", ClipSpec(frames=40, codec=codec, encoder=encoder))
    whole = {decoded.pts_s: decoded for decoded in rest(open_file(clip))}
    reader = open_file(clip, limits=VideoLimits(plan=DecodePlan(DecodeMode.KEY)))
    keys = rest(reader)
    assert 4 <= len(keys) < 10
    for key in keys:
        assert np.array_equal(key.picture.y, whole[key.pts_s].picture.y)
    assert reader.vitals.skipped == 40 - len(keys)


def test_auto_comes_down_to_key_frames_where_they_are_enough(tmp_path: Path) -> None:
    clip = write_clip(
        tmp_path / "a.mp4", ClipSpec(frames=100, encoder={"g": "10", "sc_threshold": "0"})
    )
    plan = DecodePlan(DecodeMode.AUTO, rate_fps=2.0)
    found = times(rest(open_file(clip, limits=VideoLimits(plan=plan))))
    assert found[:30] == [round(n * 0.04, 3) for n in range(30)]
    assert found[-6:] == [1.6, 2.0, 2.4, 2.8, 3.2, 3.6]
    eager = DecodePlan(DecodeMode.AUTO, rate_fps=5.0)
    assert len(rest(open_file(clip, limits=VideoLimits(plan=eager)))) == 100


def test_pictures_that_no_other_needs_can_be_left_out(tmp_path: Path) -> None:
    encoder = {"g": "20", "bf": "1", "b_strategy": "0", "sc_threshold": "0"}
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=40, encoder=encoder))
    plan = DecodePlan(DecodeMode.REFERENCE)
    found = rest(open_file(clip, limits=VideoLimits(plan=plan)))
    assert 18 <= len(found) <= 24


def test_mjpeg_over_http_is_a_live_source_without_timestamps() -> None:
    with mjpeg_camera(frames=20) as url:
        reader = open_network(url, limits=LIMITS)
        found = rest(reader)
    assert (reader.info.codec, reader.info.width, reader.info.height) == ("mjpeg", 96, 64)
    assert len(found) == 20
    assert {decoded.pts_s for decoded in found} == {None}


def test_a_live_playlist_is_a_live_source_that_goes_on(tmp_path: Path) -> None:
    with hls_camera(tmp_path) as url:
        reader = open_network(url, limits=VideoLimits(5.0, 5.0))
        assert isinstance(reader, PacedReader)
        found = [reader.read() for _ in range(80)]  # more than the first playlist names
        reader.close()
    assert reader.info.is_live
    clock = [decoded.pts_s for decoded in found if decoded is not None]
    assert len(clock) == 80
    assert np.allclose(np.diff(np.array(clock, float)), 0.04, atol=0.002)


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
@pytest.mark.parametrize(
    "behave",
    [
        silent,
        trickling,
        babbling,
        closing,
        resetting,
        redirecting,
        giving(b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 10", b""),
        giving(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\n\r\n", b"\x47" + bytes(187)),
    ],
)
def test_whatever_a_peer_does_an_open_fails_in_time_and_tells_no_secret(
    behave: Behaviour, scheme: str
) -> None:
    with peer(behave) as port:
        started_at = time.monotonic()
        with pytest.raises(SourceError) as caught:
            open_network(f"{scheme}://bob:secret@127.0.0.1:{port}/x", limits=LIMITS)
        took_s = time.monotonic() - started_at
    assert took_s < 10.0  # by far less than the thirty seconds that FFmpeg waits by itself
    assert "secret" not in str(caught.value)
    if behave in (silent, trickling):
        assert caught.value.cause is SourceCause.TIMEOUT
