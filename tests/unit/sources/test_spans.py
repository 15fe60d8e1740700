"""A file that is divided at its key frames gives the same pictures as the file in one piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import av
import pytest

from tests.clips import ClipSpec, cut, write_clip, write_sound
from vidpipe.errors import SourceError
from vidpipe.sources.addresses import open_file
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.keyframes import KeyFrames, find_key_frames, span_between
from vidpipe.sources.spans import Span

B_FRAMES = {"bf": "3", "b_strategy": "0", "g": "12", "keyint_min": "12", "sc_threshold": "0"}
OPEN_GOP = {**B_FRAMES, "x264-params": "open-gop=1:b-pyramid=2:ref=4:log-level=none"}
CLOSED = {**B_FRAMES, "x264-params": "open-gop=0:log-level=none"}
SPEC = ClipSpec(frames=60, encoder=CLOSED)

Shown = tuple[float | None, str]


def pictures(path: Path, span: Span | None = None, threads: int = 1) -> Iterator[Shown]:
    """Yield the time and a hash of every picture."""
    reader = open_file(path, limits=VideoLimits(span=span, thread_count=threads))
    try:
        while (decoded := reader.read()) is not None:
            picture = decoded.picture
            digest = hashlib.sha256()
            for plane in (picture.y, picture.u, picture.v):
                digest.update(plane.tobytes())
            yield decoded.pts_s, digest.hexdigest()
    finally:
        reader.close()


def in_parts(path: Path, found: KeyFrames) -> list[list[Shown]]:
    """Return the pictures of each part, when a file is divided wherever it can be."""
    bounds = [None, *found.keys, None]
    return [list(pictures(path, span_between(start, end))) for start, end in pairwise(bounds)]


def irregular(number: int) -> int:
    """Return a timestamp in milliseconds of a clip whose rate varies."""
    return number * 40 + (number % 7) * 3 + (300 if number > 30 else 0)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("closed.mp4", SPEC),
        ("closed.mkv", SPEC),
        ("closed.mov", SPEC),
        ("open.mp4", replace(SPEC, encoder=OPEN_GOP)),
        ("open.mkv", replace(SPEC, encoder=OPEN_GOP)),
        ("open-hevc.mp4", replace(SPEC, codec="libx265", encoder={
            "x265-params": "keyint=12:min-keyint=12:open-gop=1:bframes=3:log-level=none",
        })),
        ("varying.mp4", replace(SPEC, pts=irregular)),
        ("varying.mkv", replace(SPEC, pts=irregular)),
        ("deep.mp4", replace(SPEC, codec="libx265", pix_fmt="yuv420p10le", encoder={
            "x265-params": "keyint=12:min-keyint=12:open-gop=0:log-level=none",
        })),
        ("heard.mp4", replace(SPEC, with_sound=1.0)),
        ("heard.mkv", replace(SPEC, with_sound=-0.5, is_sound_first=True)),
        ("turned.mp4", replace(SPEC, rotation_ccw_deg=90)),
        ("old.mp4", replace(SPEC, codec="mpeg4", encoder={"g": "12", "bf": "2"})),
        ("intra.mov", replace(SPEC, codec="mjpeg", pix_fmt="yuvj420p", encoder={})),
        ("fragmented.mp4", replace(SPEC, container={"movflags": "frag_keyframe+empty_moov"})),
        ("vp9.webm", replace(SPEC, codec="libvpx-vp9", frames=40, encoder={
            "g": "12", "deadline": "realtime", "cpu-used": "8",
        })),
    ],
)  # fmt: skip
def test_parts_are_the_whole(tmp_path: Path, name: str, spec: ClipSpec) -> None:
    path = write_clip(tmp_path / name, spec)
    whole = list(pictures(path))
    found = find_key_frames(path)
    assert found.reason == ""
    assert len(found.keys) >= 2
    assert found.frames == len(whole) == spec.frames

    parts = in_parts(path, found)

    assert [shown for part in parts for shown in part] == whole
    starts = [0, *(key.frames_before for key in found.keys)]
    assert [sum(map(len, parts[:index])) for index in range(len(parts))] == starts
    for key, part in zip(found.keys, parts[1:], strict=True):
        assert part[0][0] == key.seconds
        assert whole[key.frames_before - 1][0] == key.seconds_before


def test_decoder_threads_change_nothing(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", replace(SPEC, encoder=OPEN_GOP))
    key = find_key_frames(path).keys[1]
    span = span_between(key, None)
    assert list(pictures(path, span, threads=4)) == list(pictures(path, span))


def test_an_edit_list_that_hides_the_beginning_is_kept_to(tmp_path: Path) -> None:
    source = write_clip(tmp_path / "source.mp4", SPEC)
    path = tmp_path / "edited.mp4"
    # Copied from between two key frames: the player is told to show nothing before.
    with av.open(str(source)) as read, av.open(str(path), "w") as out:
        stream = out.add_stream_from_template(read.streams.video[0])
        for packet in read.demux(read.streams.video[0]):
            if packet.dts is not None and packet.pts is not None:
                shift = 18 * round(1 / (25 * float(packet.time_base or 1)))
                packet.pts -= shift
                packet.dts -= shift
                packet.stream = stream
                out.mux(packet)
    whole = list(pictures(path))
    found = find_key_frames(path)
    if not found.reason:
        assert [shown for part in in_parts(path, found) for shown in part] == whole


@pytest.mark.parametrize(
    ("name", "codec"), [("clip.ts", "libx264"), ("clip.avi", "mpeg4"), ("clip.264", "libx264")]
)
def test_formats_without_a_sound_index_are_not_divided(
    tmp_path: Path, name: str, codec: str
) -> None:
    path = write_clip(tmp_path / name, replace(SPEC, codec=codec, encoder={}))
    assert "no index" in find_key_frames(path).reason


def test_a_file_that_is_cut_off_is_not_divided(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mkv", replace(SPEC, size_wh=(320, 240)))
    assert find_key_frames(cut(path, 0.6)).reason


def test_a_short_file_isnt_even_read(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", SPEC)
    assert find_key_frames(path, least_s=10.0).reason == "it is short"


def test_sound_alone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="sound only"):
        find_key_frames(write_sound(tmp_path / "sound.m4a"))


def test_a_part_that_begins_with_no_key_frame_is_damaged(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", SPEC)
    whole = list(pictures(path))
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        ticks = [p.pts for p in container.demux(stream) if p.pts is not None and not p.is_keyframe]
    with pytest.raises(SourceError):
        assert list(pictures(path, Span(ticks[20]))) == whole[20:]


def test_a_key_frame_that_isnt_there_is_an_error(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", SPEC)
    with pytest.raises(SourceError, match="found again"):
        list(pictures(path, Span(12_345)))
