from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import av
import numpy as np
import pytest

from tests.clips import ClipSpec, cut, damage, write_clip, write_sound
from vidpipe.errors import SourceCause, SourceError
from vidpipe.interfaces import Reader
from vidpipe.pixels import bgr_from_picture
from vidpipe.sources.addresses import open_file, open_network
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.decodeshare import DecodeShare
from vidpipe.sources.skipping import DecodePlan
from vidpipe.types import Decoded, SourceInfo

LARGE = ClipSpec(frames=100, size_wh=(160, 120))
FAST_VP8 = {"deadline": "realtime", "cpu-used": "8"}
REAL = os.environ.get("VIDPIPE_TEST_DATA", "")
REAL_CLIPS = Path(REAL, "videos")
needs_data = pytest.mark.skipif(not REAL, reason="VIDPIPE_TEST_DATA is not set")


def read_all(path: Path) -> tuple[list[Decoded], SourceError | None, SourceInfo]:
    reader = open_file(path)
    frames: list[Decoded] = []
    error = None
    try:
        while (decoded := reader.read()) is not None:
            frames.append(decoded)
    except SourceError as exc:
        error = exc
    finally:
        reader.close()
    return frames, error, reader.info


def open_files() -> list[str]:
    """Return the paths that this process holds open."""
    links = Path("/proc/self/fd").iterdir()
    return [str(link.readlink()) for link in links if link.is_symlink()]


def read_to_the_end(reader: Reader) -> int:
    count = 0
    while reader.read() is not None:
        count += 1
    return count


def open_error(path: Path) -> SourceError:
    with pytest.raises(SourceError) as caught:
        open_file(path)
    return caught.value


def container_times(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return [frame.time for frame in container.decode(stream)]


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("clip.mp4", LARGE),
        ("clip.mov", LARGE),
        ("clip.mkv", LARGE),
        ("clip.ts", LARGE),
        ("clip.flv", LARGE),
        ("clip.avi", ClipSpec(frames=100, codec="mpeg4")),
        ("b-frames.avi", ClipSpec(frames=100, codec="mpeg4", encoder={"bf": "2"})),
        ("clip.webm", ClipSpec(frames=100, codec="libvpx", encoder=FAST_VP8)),
        ("hevc.mp4", ClipSpec(100, codec="libx265", encoder={"x265-params": "log-level=none"})),
        ("interlaced.ts", ClipSpec(100, encoder={"x264-params": "interlaced=1"})),
        ("open-gop.ts", ClipSpec(100, encoder={"x264-params": "open-gop=1:keyint=20:bframes=3"})),
        ("fragmented.mp4", ClipSpec(100, container={"movflags": "frag_keyframe+empty_moov"})),
        ("sound.mkv", ClipSpec(frames=100, with_sound=5.0)),
        ("sound.mp4", ClipSpec(frames=100, with_sound=5.0)),
        ("short-sound.mkv", ClipSpec(frames=100, with_sound=-2.0)),
        ("live.mkv", ClipSpec(frames=100, container={"live": "1"})),
    ],
)
def test_an_intact_file_gives_every_frame_at_its_containers_time(
    tmp_path: Path, name: str, spec: ClipSpec
) -> None:
    path = write_clip(tmp_path / name, spec)
    frames, error, _ = read_all(path)
    assert error is None
    assert [frame.pts_s for frame in frames] == pytest.approx(container_times(path), abs=1e-9)
    assert len(frames) == 100


@pytest.mark.parametrize(
    ("name", "spec", "share"),
    [
        ("clip.mp4", ClipSpec(100, (160, 120), container={"movflags": "faststart"}), 0.6),
        ("clip.mkv", LARGE, 0.6),
        ("clip.avi", LARGE, 0.6),
        ("clip.flv", LARGE, 0.6),
        ("clip.webm", ClipSpec(100, (160, 120), codec="libvpx", encoder=FAST_VP8), 0.6),
        ("sound.mkv", ClipSpec(100, (160, 120), with_sound=0.0), 0.6),
        ("part.mp4", ClipSpec(100, container={"movflags": "frag_keyframe+empty_moov"}), 0.9),
    ],
)
def test_a_cut_file_gives_what_is_there_and_then_says_what_is_not(
    tmp_path: Path, name: str, spec: ClipSpec, share: float
) -> None:
    frames, error, _ = read_all(cut(write_clip(tmp_path / name, spec), share))
    assert 30 < len(frames) < 100
    assert error is not None
    assert error.cause is SourceCause.INCOMPLETE
    assert "the container promises" in str(error)
    assert f"{len(frames)}" in str(error)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("clip.ts", LARGE),
        ("clip.gif", ClipSpec(100, codec="gif", pix_fmt="rgb8")),
        (
            "part.mp4",
            ClipSpec(100, encoder={"g": "10"}, container={"movflags": "frag_keyframe+empty_moov"}),
        ),
    ],
)
def test_a_file_without_a_promise_still_says_that_it_breaks_off(
    tmp_path: Path, name: str, spec: ClipSpec
) -> None:
    whole = write_clip(tmp_path / name, spec)
    assert read_all(whole)[1] is None
    for percent in range(60, 95, 5):
        frames, error, _ = read_all(cut(whole, percent / 100))
        assert 30 < len(frames) < 100
        assert error is not None, f"{percent} %"
        assert error.cause is SourceCause.INCOMPLETE


def test_a_short_flv_that_is_cut_misses_its_end(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "clip.flv", ClipSpec(30))
    for percent in range(40, 90, 5):
        frames, error, _ = read_all(cut(whole, percent / 100))
        assert 0 < len(frames) < 30
        assert error is not None, f"{percent} %"


@pytest.mark.parametrize("name", ["clip.mp4", "clip.avi", "clip.ts", "clip.264"])
def test_a_damaged_file_is_decoded_to_its_end(tmp_path: Path, name: str) -> None:
    frames, error, _ = read_all(damage(write_clip(tmp_path / name, LARGE), 0.5, 300))
    assert len(frames) > 90
    assert error is not None
    assert error.cause is SourceCause.INCOMPLETE
    assert "damaged" in str(error)


def test_a_damaged_file_that_is_played_like_a_camera_says_so_too(tmp_path: Path) -> None:
    path = damage(write_clip(tmp_path / "clip.mp4", LARGE), 0.5, 40)
    reader = open_file(
        path, limits=VideoLimits(plan=DecodePlan(share=DecodeShare().join(lambda: 0)))
    )
    with pytest.raises(SourceError, match="1 picture damaged"):
        read_to_the_end(reader)
    reader.close()


def test_the_error_at_the_end_stays(tmp_path: Path) -> None:
    reader = open_file(cut(write_clip(tmp_path / "clip.mkv", LARGE), 0.6))
    for _ in range(2):
        with pytest.raises(SourceError, match="incomplete"):
            read_to_the_end(reader)
    reader.close()


def test_a_broadcast_that_begins_between_key_frames_is_whole(tmp_path: Path) -> None:
    spec = ClipSpec(200, (160, 120), encoder={"x264-params": "keyint=20:bframes=3"})
    data = write_clip(tmp_path / "clip.ts", spec).read_bytes()
    part = tmp_path / "part.ts"
    part.write_bytes(data[188 * int(len(data) / 188 * 0.4) :])
    frames, error, _ = read_all(part)
    assert len(frames) > 80
    assert error is None


def test_lost_packets_of_a_broadcast_are_reported(tmp_path: Path) -> None:
    data = write_clip(tmp_path / "clip.ts", ClipSpec(200, (320, 240))).read_bytes()
    gap = 188 * int(len(data) / 188 * 0.5)
    part = tmp_path / "part.ts"
    part.write_bytes(data[:gap] + data[gap + 188 * 5 :])
    frames, error, _ = read_all(part)
    assert len(frames) > 150
    assert error is not None
    assert error.cause is SourceCause.INCOMPLETE


def test_a_wrong_duration_in_a_whole_file_means_nothing(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mkv", ClipSpec(50))
    # Duration (0x4489) is a double of milliseconds: 2000 becomes 2 to the power of 16 times more.
    data = path.read_bytes()
    at = data.index(b"\x44\x89\x88") + 3
    path.write_bytes(data[:at] + b"\x41" + data[at + 1 :].replace(b"DURATION", b"DURATIOX"))
    frames, error, info = read_all(path)
    assert (len(frames), error) == (50, None)
    assert info.duration_s is not None
    assert info.duration_s > 100


def test_an_edit_list_that_leaves_frames_out_breaks_no_promise(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", ClipSpec(50, encoder={"bf": "0"}))
    data = bytearray(path.read_bytes())
    # elst: version and flags, count, duration in 1/1000 s: only the first second is shown.
    at = data.index(b"elst") + 12
    data[at : at + 4] = (1000).to_bytes(4, "big")
    path.write_bytes(data)
    frames, error, _ = read_all(path)
    assert error is None
    assert 24 <= len(frames) <= 50


def test_raw_streams_have_no_timestamps_but_the_rate_of_their_headers(tmp_path: Path) -> None:
    frames, error, info = read_all(write_clip(tmp_path / "clip.264", ClipSpec(30)))
    assert (len(frames), error) == (30, None)
    assert {(frame.pts_s, frame.duration_s) for frame in frames} == {(None, None)}
    assert (info.time_base, info.rate_fps, info.duration_s) == (None, 25.0, None)


def test_a_variable_rate_stays_variable(tmp_path: Path) -> None:
    spec = ClipSpec(10, pts=lambda number: number * number * 10)
    frames, error, _ = read_all(write_clip(tmp_path / "clip.mkv", spec))
    assert error is None
    assert [frame.pts_s for frame in frames] == [n * n / 100 for n in range(10)]


@pytest.mark.parametrize(("counterclockwise", "clockwise"), [(90, 270), (-90, 90), (180, 180)])
def test_rotation_is_told_clockwise(tmp_path: Path, counterclockwise: int, clockwise: int) -> None:
    upright = read_all(write_clip(tmp_path / "a.mp4", ClipSpec(2, (64, 48))))[0][0]
    spec = ClipSpec(2, (64, 48), rotation_ccw_deg=counterclockwise)
    frames, _, info = read_all(write_clip(tmp_path / "b.mp4", spec))
    assert frames[0].picture.rotation_deg == info.rotation_deg == clockwise
    assert (info.width, info.height) == frames[0].picture.size_wh
    turned = np.rot90(bgr_from_picture(upright.picture), counterclockwise // 90)
    assert np.abs(bgr_from_picture(frames[0].picture).astype(int) - turned).max() <= 1


def test_a_phones_portrait_matrix_turns_clockwise(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4")
    data = bytearray(path.read_bytes())
    # tkhd's matrix for a phone held upright: (0 1 0, -1 0 0, 0 0 1), ISO/IEC 14496-12, 8.3.2.
    matrix = (0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000)
    at = data.index(b"tkhd") + 44
    data[at : at + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in matrix)
    path.write_bytes(data)
    frames, _, info = read_all(path)
    assert info.rotation_deg == 90
    assert frames[0].picture.size_wh == (48, 64)


def test_a_size_that_changes_in_the_middle_passes(tmp_path: Path) -> None:
    parts = [
        write_clip(tmp_path / f"{width}.264", ClipSpec(10, (width, 48))).read_bytes()
        for width in (64, 96)
    ]
    path = tmp_path / "clip.264"
    path.write_bytes(b"".join(parts))
    frames, error, info = read_all(path)
    assert error is None
    assert [frame.picture.size_wh[0] for frame in frames] == [64] * 10 + [96] * 10
    assert info.width == 64


def test_broadcasts_that_were_joined_are_whole(tmp_path: Path) -> None:
    spec = ClipSpec(30, encoder={"x264-params": "bframes=3"})
    first = write_clip(tmp_path / "first.ts", spec).read_bytes()
    second = write_clip(tmp_path / "second.ts", ClipSpec(30, (160, 120))).read_bytes()
    joined = tmp_path / "joined.ts"
    joined.write_bytes(first + second + first)
    frames, error, _ = read_all(joined)
    assert [frame.picture.size_wh for frame in frames[29:31]] == [(64, 48), (160, 120)]
    assert len(frames) == 90
    assert error is None


def test_an_odd_size_has_rounded_up_chroma(tmp_path: Path) -> None:
    frames, _, info = read_all(write_clip(tmp_path / "a.mkv", ClipSpec(1, (65, 47), "ffv1")))
    picture = frames[0].picture
    assert (picture.y.shape, picture.u.shape, picture.v.shape) == ((47, 65), (24, 33), (24, 33))
    assert (info.width, info.height) == (65, 47)


def test_the_time_of_recording_is_read(tmp_path: Path) -> None:
    spec = ClipSpec(2, metadata={"creation_time": "2024-05-06T07:08:09Z"})
    for name in ("clip.mp4", "clip.mkv"):
        info = read_all(write_clip(tmp_path / name, spec))[2]
        assert info.recorded_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert read_all(write_clip(tmp_path / "none.mp4", ClipSpec(2)))[2].recorded_at is None


def test_what_a_clip_says_of_itself_is_told(tmp_path: Path) -> None:
    info = read_all(write_clip(tmp_path / "clip.mp4", ClipSpec(50)))[2]
    assert (info.codec, info.rate_fps, info.frame_count, info.duration_s) == ("h264", 25, 50, 2.0)
    assert info.time_base is not None
    assert not info.is_live


@pytest.mark.parametrize(
    "name", ["with space.mp4", "12:30.mp4", "50%03d.mp4", "ünï-日本-قط.mp4", "-x.mp4", "a|b?.mp4"]
)
def test_any_name_can_be_opened(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clip = write_clip(tmp_path / "clip.mp4", ClipSpec(3))
    clip.rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert len(read_all(Path(name))[0]) == 3


def test_a_name_in_no_encoding_can_be_opened(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.mp4"))
    write_clip(tmp_path / "clip.mp4", ClipSpec(3)).rename(odd)
    assert len(read_all(odd)[0]) == 3


def test_files_without_video_are_refused_in_plain_words(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing to see\n" * 50)
    noise = tmp_path / "noise.mp4"
    noise.write_bytes(bytes(range(256)) * 40)
    for path, words in (
        (write_sound(tmp_path / "sound.m4a"), "sound only"),
        (write_sound(tmp_path / "album.mp3", cover=True), "sound only"),
        (text, "text"),
        (noise, "not a video file"),
    ):
        error = open_error(path)
        assert error.cause is SourceCause.FORMAT
        assert words in str(error)
        assert str(path) in str(error)


def test_a_fragment_that_was_cut_hides_no_other(tmp_path: Path) -> None:
    spec = ClipSpec(100, encoder={"g": "10"}, container={"movflags": "frag_keyframe+empty_moov"})
    whole = write_clip(tmp_path / "clip.mp4", spec)
    last_fragment = whole.read_bytes().rindex(b"moof") - 4
    for behind in range(4, 120, 9):
        frames, error, _ = read_all(cut(whole, (last_fragment + behind) / whole.stat().st_size))
        assert len(frames) > 80
        assert error is not None
        assert error.cause is SourceCause.INCOMPLETE


def test_an_unfinished_mp4_is_recognised(tmp_path: Path) -> None:
    error = open_error(cut(write_clip(tmp_path / "clip.mp4", LARGE), 0.6))
    assert error.cause is SourceCause.FORMAT
    assert "without its index" in str(error)


def test_encrypted_and_unknown_codecs_are_refused(tmp_path: Path) -> None:
    key = {"encryption_scheme": "cenc-aes-ctr", "encryption_key": "76" * 16}
    spec = ClipSpec(5, container={**key, "encryption_kid": "a7" * 16})
    assert "locked.mp4 is encrypted" in str(open_error(write_clip(tmp_path / "locked.mp4", spec)))
    path = write_clip(tmp_path / "clip.mp4")
    path.write_bytes(path.read_bytes().replace(b"avc1", b"zzzz").replace(b"avcC", b"zzzC"))
    error = open_error(path)
    assert error.cause is SourceCause.FORMAT
    assert "codec" in str(error)


def test_several_threads_decode_the_same_pictures(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", LARGE)
    many = open_file(path, limits=VideoLimits(thread_count=3))
    one = open_file(path)
    for _ in range(100):
        left, right = many.read(), one.read()
        assert left is not None
        assert right is not None
        assert left.pts_s == right.pts_s
        assert np.array_equal(left.picture.y, right.picture.y)
    assert many.read() is None
    many.close()
    one.close()


def test_pictures_stay_valid_after_close(tmp_path: Path) -> None:
    reader = open_file(write_clip(tmp_path / "clip.mp4"))
    decoded = reader.read()
    assert decoded is not None
    before = decoded.picture.y.copy()
    reader.close()
    reader.close()
    assert np.array_equal(decoded.picture.y, before)
    with pytest.raises(SourceError, match="closed"):
        reader.read()


def test_closing_gives_the_file_back(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4")
    reader = open_file(path)
    assert str(path) in open_files()
    reader.close()
    assert str(path) not in open_files()


def test_a_pipe_that_a_camera_program_writes_to_ends_in_a_loss(tmp_path: Path) -> None:
    data = write_clip(tmp_path / "clip.ts").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    reader = open_file(pipe, is_live=True)
    for _ in range(10):
        assert reader.read() is not None
    with pytest.raises(SourceError) as caught:
        reader.read()
    assert caught.value.cause is SourceCause.LOST
    reader.close()
    writer.join()


def test_a_recording_that_comes_through_a_pipe_is_read_once(tmp_path: Path) -> None:
    data = write_clip(tmp_path / "clip.ts").read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    frames, error, _ = read_all(pipe)
    writer.join()
    assert len(frames) == 10
    assert error is None


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SourceError) as caught:
        open_file(pipe, limits=VideoLimits(open_timeout_s=0.2))
    assert caught.value.cause is SourceCause.TIMEOUT
    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))  # lets the abandoned thread go


def test_nothing_of_ffmpegs_reaches_standard_error() -> None:
    script = (
        "from vidpipe.errors import SourceError\n"
        "from vidpipe.sources.addresses import open_network\n"
        "import sys\n"
        "for url in sys.argv[1:]:\n"
        "    try:\n"
        "        open_network(url)\n"
        "    except SourceError as exc:\n"
        "        sys.stdout.write(f'{exc}\\n')\n"
    )
    urls = [f"{scheme}://bob:s3cret@127.0.0.1:9/x" for scheme in ("rtsp", "http", "rtmp")]
    run = subprocess.run(
        [sys.executable, "-c", script, *urls], check=True, capture_output=True, text=True
    )
    assert run.stderr == ""
    assert len(run.stdout.splitlines()) == 3
    assert "s3cret" not in run.stdout


def test_a_traceback_holds_no_password() -> None:
    script = (
        "from vidpipe.sources.addresses import open_network\n"
        "open_network('rtsp://bob:s3cret@127.0.0.1:9/x')\n"
    )
    run = subprocess.run(
        [sys.executable, "-"], input=script, check=False, capture_output=True, text=True
    )
    assert "SourceError" in run.stderr
    assert "s3cret" not in run.stderr


def test_an_unknown_scheme_is_a_matter_of_format() -> None:
    with pytest.raises(SourceError) as caught:
        open_network("nothing://127.0.0.1/x")
    assert caught.value.cause is SourceCause.FORMAT


@needs_data
@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "count", "rate_fps"),
    [
        ("car-detection.mp4", 377, 12.5),
        ("one-by-one-person-detection.mp4", 1394, 10.0),
        ("udacity_test_video.mp4", 38, 25.0),
        ("people-detection.264", 596, 12.0),
    ],
)
def test_real_clips_are_read_whole(name: str, count: int, rate_fps: float) -> None:
    frames, error, info = read_all(REAL_CLIPS / name)
    assert (len(frames), error) == (count, None)
    assert info.rate_fps == rate_fps
    has_times = not name.endswith(".264")
    assert all((frame.pts_s is not None) == has_times for frame in frames)


@needs_data
@pytest.mark.realdata
def test_a_real_clip_that_was_cut_is_reported(tmp_path: Path) -> None:
    data = (REAL_CLIPS / "car-detection.mp4").read_bytes()
    part = tmp_path / "car.mp4"
    part.write_bytes(data[:2_000_000])
    frames, error, _ = read_all(part)
    assert len(frames) == 268
    assert "promises 377 frames, 268 could be read" in str(error)


@pytest.mark.parametrize("thread_count", [1, 2, 4])
@pytest.mark.parametrize("name", ["first.mp4", "first.mkv"])
@pytest.mark.parametrize("b_frames", ["0", "2"])
def test_the_last_pictures_are_read_where_the_sound_comes_first(
    tmp_path: Path, name: str, b_frames: str, thread_count: int
) -> None:
    spec = ClipSpec(frames=30, encoder={"bf": b_frames}, with_sound=0.1, is_sound_first=True)
    path = write_clip(tmp_path / name, spec)
    reader = open_file(path, limits=VideoLimits(thread_count=thread_count))
    assert read_to_the_end(reader) == 30
    reader.close()
