from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from tests.coded import PacketList, write_clip
from vidpipe.packets import TrackKind
from vidpipe.sources.addresses import open_file
from vidpipe.sources.declared import VideoLimits
from vidpipe.sources.skipping import DecodeMode, DecodePlan


def read_all(path: Path, limits: VideoLimits) -> int:
    reader = open_file(path, limits=limits)
    count = 0
    while reader.read() is not None:
        count += 1
    reader.close()
    return count


@pytest.mark.parametrize(
    ("mode", "frames"), [(DecodeMode.ALL, 60), (DecodeMode.KEY, 3)], ids=["all", "key"]
)
def test_every_packet_is_handed_over_however_few_are_decoded(
    tmp_path: Path, mode: DecodeMode, frames: int
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 60)
    outlet = PacketList()
    limits = VideoLimits(plan=DecodePlan(mode), packets=outlet)
    assert read_all(clip, limits) == frames
    (opening,) = {opening for opening, _ in outlet.items}
    video, audio = opening.tracks
    assert (video.kind, video.codec, video.size_wh) == (TrackKind.VIDEO, "h264", (64, 48))
    assert (audio.kind, audio.codec, audio.sample_rate) == (TrackKind.AUDIO, "aac", 48_000)
    assert audio.time_base == Fraction(1, 48_000)
    assert not opening.is_live
    with av.open(str(clip)) as container:
        wanted = [
            (packet.stream.index, bytes(packet), packet.pts, packet.dts, packet.is_keyframe)
            for packet in container.demux()
            if packet.size
        ]
    got = [
        (packet.track, packet.data, packet.pts, packet.dts, packet.is_key)
        for _, packet in outlet.items
    ]
    assert sorted(got) == sorted(wanted)


def test_a_reader_without_an_outlet_reads_no_sound(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 10)
    assert read_all(clip, VideoLimits()) == 10


def test_each_opening_is_told_from_the_last(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 10)
    outlet = PacketList()
    for _ in range(2):
        read_all(clip, VideoLimits(packets=outlet))
    first, second = dict.fromkeys(opening for opening, _ in outlet.items)
    assert first.opened_at < second.opened_at
    assert first.tracks == second.tracks
