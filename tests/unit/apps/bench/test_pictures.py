from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from vidpipe.apps.bench.bare import decode_file, encode
from vidpipe.apps.bench.pictures import endless_reading, neighbours_of, subjects_of
from vidpipe.config.load import load_config_mapping
from vidpipe.config.schema import Config
from vidpipe.errors import UsageError, VidpipeError
from vidpipe.outputs.video import VideoOptions


def make_config(*sources: str) -> Config:
    return load_config_mapping(
        {
            "version": 1,
            "models": {"m": {"zoo": "person-ssdlite"}},
            "streams": [{"id": f"s{n}", "source": source} for n, source in enumerate(sources)],
        }
    )


def test_streams_of_one_source_and_model_are_one_subject(tmp_path: Path) -> None:
    one = str(write_clip(tmp_path / "one.mp4", ClipSpec(frames=30)))
    other = str(write_clip(tmp_path / "other.mp4", ClipSpec(frames=3, size_wh=(32, 32))))
    subjects = subjects_of(make_config(one, other, one))
    assert [(subject.stream.id, subject.weight) for subject in subjects] == [("s0", 2), ("s1", 1)]
    assert [frame.number for frame in subjects[0].frames] == [0, 5, 10, 15, 20, 25]
    assert subjects[1].frames[0].size_wh == (32, 32)


@pytest.mark.parametrize("source", ["clip.mp4", "synthetic:blank?size=64x48&frames=4"])
def test_a_source_is_read_over_and_over(source: str, tmp_path: Path) -> None:
    if source == "clip.mp4":
        source = str(write_clip(tmp_path / source, ClipSpec(frames=4)))
    with closing(endless_reading(make_config(source).streams[0])) as turns:
        assert len(list(islice(turns, 10))) == 10


def test_a_file_is_decoded_over_and_over_without_vidpipe(tmp_path: Path) -> None:
    turns = decode_file(write_clip(tmp_path / "clip.mp4", ClipSpec(frames=4)))
    assert len(list(islice(turns, 10))) == 10


def test_a_file_that_is_no_video_is_named(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    with pytest.raises(UsageError, match=r"clip\.mp4"):
        next(decode_file(tmp_path / "clip.mp4"))
    with pytest.raises(VidpipeError, match=r"clip\.mp4"):
        neighbours_of(make_config(str(tmp_path / "clip.mp4")).streams[0], 2)


def test_pictures_that_follow_one_another_are_encoded_there_and_back(tmp_path: Path) -> None:
    clip = str(write_clip(tmp_path / "clip.mp4", ClipSpec(frames=5, size_wh=(94, 62))))
    pictures, info = neighbours_of(make_config(clip).streams[0], 3)
    assert len(pictures) == 3
    assert info.rate_fps == 25
    for options in (VideoOptions(""), VideoOptions("", scale=0.5)):
        assert len(list(islice(encode(pictures, options, 25.0), 12))) == 12


def test_a_single_picture_can_be_encoded_too(tmp_path: Path) -> None:
    clip = str(write_clip(tmp_path / "clip.mp4", ClipSpec(frames=1)))
    pictures, _ = neighbours_of(make_config(clip).streams[0], 48)
    assert len(list(islice(encode(pictures, VideoOptions(""), 25.0), 5))) == 5
