from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import av
import pytest

from tests.coded import START, packets_of, stored_in, write_clip
from tests.fakes import FakeClock
from vidpipe.errors import SinkError
from vidpipe.outputs import record
from vidpipe.outputs.record import RecordOptions, RecordSink
from vidpipe.packets import EncodedPacket, Opening, TrackKind

ROOT = Path(__file__).parents[3]
Packets = Sequence[tuple[Opening, EncodedPacket]]


def sink_to(template: Path, segment_s: float | None = None) -> RecordSink:
    options = RecordOptions(str(template), segment_s)
    return RecordSink(options, stream="gate", clock=FakeClock(), wall_clock=lambda: START)


def recorded(template: Path, *packets: Packets, segment_s: float | None = None) -> list[Path]:
    sink = sink_to(template, segment_s)
    for part in packets:
        for opening, packet in part:
            sink.write(opening, packet)
    return [Path(path) for path in sink.close()]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "mov", "m4v"])
@pytest.mark.parametrize("b_frames", [0, 2])
def test_every_packet_of_the_source_is_in_the_recording_as_it_came(
    tmp_path: Path, suffix: str, b_frames: int
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", b_frames=b_frames)
    (path,) = recorded(tmp_path / f"{{stream}}-{{start}}.{suffix}", packets_of(clip))
    assert path.name == f"gate-20261130T050958Z.{suffix}"
    wanted, got = stored_in(clip), stored_in(path)
    assert got.data == wanted.data
    assert got.decoded == wanted.decoded == 100
    shift_s = got.times_s["video"][0] - wanted.times_s["video"][0]
    for kind in ("video", "audio"):
        moved = [seconds + shift_s for seconds in wanted.times_s[kind]]
        assert got.times_s[kind] == pytest.approx(moved, abs=0.001)  # Matroska's own unit
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_a_broadcast_with_headers_on_its_audio_is_recorded(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.ts", container_format="mpegts")
    (path,) = recorded(tmp_path / "x.mp4", packets_of(clip))
    got = stored_in(path)
    assert got.decoded == 100
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(audio=0)) >= 90


@pytest.mark.parametrize(("suffix", "kinds"), [("mp4", ["video"]), ("mov", ["video", "audio"])])
def test_audio_that_the_container_does_not_hold_is_left_out_and_said_once(
    tmp_path: Path, log_lines: list[str], suffix: str, kinds: list[str]
) -> None:
    clip = write_clip(tmp_path / "clip.mov", audio="pcm_alaw")
    paths = recorded(tmp_path / f"{{n}}.{suffix}", packets_of(clip), segment_s=1)
    assert len(paths) == 4
    assert [list(stored_in(path).kinds) for path in paths] == [kinds] * 4
    assert sum("pcm_alaw" in line and "left out" in line for line in log_lines) == (len(kinds) == 1)


def test_a_new_file_begins_with_the_first_key_frame_behind_a_boundary_of_the_clock(
    tmp_path: Path,
) -> None:
    # from 05:09:58.5 on, a key frame a second: the first one behind 05:10:00 comes at :00.5
    clip = write_clip(tmp_path / "clip.mp4", frames=200)
    packets = packets_of(clip, start=START + timedelta(seconds=0.3))
    paths = recorded(tmp_path / "{start}.mp4", packets, segment_s=5)
    names = ["20261130T050958Z.mp4", "20261130T051000Z.mp4", "20261130T051005Z.mp4"]
    assert [path.name for path in paths] == names
    found = [stored_in(path) for path in paths]
    assert [len(one.data["video"]) for one in found] == [50, 125, 25]
    for kind, wanted in stored_in(clip).data.items():
        assert [data for one in found for data in one.data[kind]] == wanted
    for one in found:
        assert one.first_is_key
        assert one.decoded == len(one.data["video"])
        assert one.times_s["video"][0] == pytest.approx(0, abs=0.03)


def test_a_recorded_source_is_cut_in_its_own_time(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", audio=None)
    paths = recorded(tmp_path / "{n}.mkv", packets_of(clip, is_live=False), segment_s=2)
    assert [len(stored_in(path).data["video"]) for path in paths] == [50, 50]


def test_nothing_before_the_first_key_frame_is_recorded(tmp_path: Path) -> None:
    packets = packets_of(write_clip(tmp_path / "clip.mp4"))
    (path,) = recorded(tmp_path / "x.mp4", packets[5:])
    got = stored_in(path)
    assert got.first_is_key
    assert got.decoded == 75
    assert recorded(tmp_path / "y.mp4", packets[5:20]) == []
    assert not (tmp_path / "y.mp4").exists()


def test_a_camera_that_comes_back_the_same_goes_on_in_the_file(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", audio=None)
    first = packets_of(clip)
    second = packets_of(clip, arrived_at=107.0, start=START + timedelta(seconds=7))
    (path,) = recorded(tmp_path / "{n}.mp4", first[:60], second[10:])
    got = stored_in(path)
    assert got.decoded == 60 + 75  # from its next key frame on
    times = got.times_s["video"]
    assert all(later > earlier for earlier, later in pairwise(times))
    # the last came at 102.36, the first key frame after that at 108
    assert times[60] - times[59] == pytest.approx(5.64, abs=0.01)


@pytest.mark.parametrize(("size_wh", "away_s"), [((96, 64), 1.0), ((64, 48), 600.0)])
def test_another_size_or_a_long_absence_begins_a_new_file(
    tmp_path: Path, size_wh: tuple[int, int], away_s: float
) -> None:
    first = packets_of(write_clip(tmp_path / "a.mp4"))
    other = write_clip(tmp_path / "b.mp4", size_wh=size_wh)
    second = packets_of(other, arrived_at=104.0 + away_s)
    paths = recorded(tmp_path / "{n}.mp4", first, second)
    assert [stored_in(path).decoded for path in paths] == [100, 100]


def test_times_that_jump_or_are_missing_are_mended(tmp_path: Path) -> None:
    packets = packets_of(write_clip(tmp_path / "clip.mp4", audio=None))
    broken = []
    for number, (opening, packet) in enumerate(packets):
        assert packet.dts is not None
        assert packet.pts is not None
        if number < 2:
            changed = replace(packet, pts=None, dts=None)
        elif number < 50:
            changed = packet
        elif number < 75:  # the clock was set, and set back
            changed = replace(packet, pts=packet.pts + 10**9, dts=packet.dts + 10**9)
        else:
            changed = replace(packet, pts=packet.pts - 10**6, dts=packet.dts - 10**6)
        broken.append((opening, changed))
    (path,) = recorded(tmp_path / "x.mp4", broken)
    got = stored_in(path)
    assert got.decoded == 100
    steps = [later - earlier for earlier, later in pairwise(got.times_s["video"])]
    assert steps == pytest.approx([0.04] * 99, abs=0.002)


def test_a_file_that_can_not_be_written_is_left_and_another_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = packets_of(write_clip(tmp_path / "clip.mp4", audio=None))
    sink = sink_to(tmp_path / "out" / "{n}.mp4")
    (tmp_path / "out").touch()
    with pytest.raises(SinkError, match=r"stream gate.*can't be opened"):
        sink.write(*packets[0])
    (tmp_path / "out").unlink()
    for item in packets[1:]:
        sink.write(*item)
    (path,) = sink.close()
    assert stored_in(path).decoded == 75
    assert sink.close() == []


def test_a_codec_that_no_mp4_holds_is_refused_with_what_to_do(tmp_path: Path) -> None:
    ((opening, packet), *_) = packets_of(write_clip(tmp_path / "clip.mp4", audio=None))
    shelf = av.open(str(tmp_path / "y.mkv"), "w")
    template = shelf.add_stream("libvpx", rate=25)
    track = replace(opening.tracks[0], codec="vp8", template=template)
    other = Opening(opening.opened_at, (track,), is_live=True)
    with pytest.raises(SinkError, match=r"doesn't hold vp8 video: .*\.mkv"):
        sink_to(tmp_path / "x.mp4").write(other, packet)
    assert not list(tmp_path.glob("x*"))


def test_a_live_file_does_not_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "MOST_FRAMES_IN_A_LIVE_FILE", 40)
    paths = recorded(tmp_path / "{n}.mp4", packets_of(write_clip(tmp_path / "clip.mp4")))
    assert [stored_in(path).decoded for path in paths] == [50, 50]


WRITER = """
import os, signal, sys
from pathlib import Path
from tests.coded import packets_of
from tests.unit.outputs.test_record import sink_to

sink = sink_to(Path(sys.argv[2]))
for opening, packet in packets_of(Path(sys.argv[1])):
    sink.write(opening, packet)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "mov"])
@pytest.mark.parametrize("audio", ["aac", None])
def test_a_recording_that_is_killed_can_be_played_up_to_the_last_seconds(
    tmp_path: Path, suffix: str, audio: str | None
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=250, audio=audio)
    command = [sys.executable, "-c", WRITER, str(clip), str(tmp_path / f"x.{suffix}")]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == -signal.SIGKILL
    (path,) = tmp_path.glob("x*")
    assert path.name == f"x.partial.{suffix}"
    wanted, got = stored_in(clip), stored_in(path)
    assert got.decoded >= 200
    assert got.data["video"] == wanted.data["video"][: len(got.data["video"])]


def test_tracks_are_told_apart(tmp_path: Path) -> None:
    clips = [
        write_clip(tmp_path / "a.mp4"),
        write_clip(tmp_path / "b.mp4", frames=50),
        write_clip(tmp_path / "c.mp4", size_wh=(96, 64)),
        write_clip(tmp_path / "d.mp4", audio=None),
    ]
    first, same, larger, silent = (packets_of(clip)[0][0] for clip in clips)
    assert first.tracks == same.tracks
    assert first.tracks not in (larger.tracks, silent.tracks)
    assert [track.kind for track in first.tracks] == [TrackKind.VIDEO, TrackKind.AUDIO]
