from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clips import ClipSpec, cut, write_clip
from vidpipe.sources.truncation import is_file_cut

FRAGMENTED = ClipSpec(50, encoder={"g": "10"}, container={"movflags": "frag_keyframe+empty_moov"})
CLIPS = {
    "clip.mkv": ClipSpec(),
    "clip.avi": ClipSpec(),
    "clip.mp4": FRAGMENTED,
    "clip.flv": ClipSpec(),
    "clip.gif": ClipSpec(codec="gif", pix_fmt="rgb8"),
    "clip.ts": ClipSpec(),
    "clip.m2ts": ClipSpec(container={"mpegts_m2ts_mode": "1"}),
}


@pytest.mark.parametrize("name", CLIPS)
def test_a_whole_file_is_not_cut(tmp_path: Path, name: str) -> None:
    assert not is_file_cut(write_clip(tmp_path / name, CLIPS[name]))


@pytest.mark.parametrize("name", CLIPS)
def test_a_file_that_is_cut_anywhere_breaks_off(tmp_path: Path, name: str) -> None:
    whole = write_clip(tmp_path / name, CLIPS[name])
    size = whole.stat().st_size
    shares = [(size * part // 100 // 188 * 188 + 61) / size for part in range(50, 98, 3)]
    assert [share for share in shares if not is_file_cut(cut(whole, share))] == []


def test_a_cut_in_the_header_of_a_fragment_counts(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "clip.mp4", FRAGMENTED)
    data = whole.read_bytes()
    for behind in (1, 7, 8, 20):
        part = tmp_path / "part.mp4"
        part.write_bytes(data[: data.rindex(b"moof") - 4 + behind])
        assert is_file_cut(part) is True
    part.write_bytes(data[: data.rindex(b"moof") - 4])
    assert is_file_cut(part) is False


def test_files_that_may_end_anywhere_say_nothing(tmp_path: Path) -> None:
    assert is_file_cut(write_clip(tmp_path / "clip.264")) is None
    assert is_file_cut(tmp_path / "missing.mkv") is None


def test_an_index_has_more_to_say_than_the_size(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "clip.mp4", ClipSpec(container={"movflags": "faststart"}))
    assert is_file_cut(cut(whole, 0.7)) is None


def test_a_pipe_is_not_touched(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert is_file_cut(pipe) is None  # opening it would wait for a writer


def test_a_jpeg_ends_with_its_mark_and_not_with_that_of_its_preview(tmp_path: Path) -> None:
    picture = ClipSpec(1, codec="mjpeg", pix_fmt="yuvj420p", container={"update": "1"})
    whole = write_clip(tmp_path / "clip.jpg", picture)
    data = whole.read_bytes()
    assert not is_file_cut(whole)
    preview = b"\xff\xe1" + (len(data) + 2).to_bytes(2, "big") + data
    whole.write_bytes(data[:2] + preview + data[2:] + b"a film that a phone has added")
    assert not is_file_cut(whole)
    for missing in (1, 2, 40, len(data) // 2, len(data) - 10):
        whole.write_bytes((data[:2] + preview + data[2:])[:-missing])
        assert is_file_cut(whole) is True


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF",
        b"\x1a\x45\xdf\xa3",
        b"\x1a\x45\xdf\xa3\x00ab",
        b"FLV\x01",
        b"\x00\x00\x00\x08ftyp",
        b"\x00\x00\x00\x00ftyp",
        b"\x00\x00\x00\x01ftyp\x00",
        b"G",
    ],
)
def test_a_stump_says_nothing_or_is_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "stump"
    path.write_bytes(data)
    assert not is_file_cut(path)
