from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import ClipSpec, cut, write_clip
from vidpipe.sources.completeness import Promise, Tally, is_file_cut, loss


@pytest.mark.parametrize(
    ("promise", "tally"),
    [
        (Promise(), Tally(packets=5, pictures=5)),
        (Promise(packets=5), Tally(packets=5, pictures=5)),
        (Promise(packets=5), Tally(packets=6, pictures=6)),
        (Promise(packets=10), Tally(packets=10, pictures=5)),  # two fields, one picture
        (Promise(end_s=10.0), Tally(pictures=5, end_s=9.2)),  # not clear enough
        (Promise(end_s=10.0, is_cut=False), Tally(pictures=5, end_s=1.0)),  # a wrong duration
        (Promise(end_s=10.0, is_cut=True), Tally(pictures=5, end_s=9.98)),  # cut in its index
    ],
)
def test_a_whole_file_has_lost_nothing(promise: Promise, tally: Tally) -> None:
    assert loss(promise, tally, 0.04) is None


@pytest.mark.parametrize(
    ("promise", "tally", "words"),
    [
        (
            Promise(packets=377),
            Tally(packets=201, pictures=201, damaged_packets=3),
            "the container promises 377 frames, 201 could be read; 3 packets damaged",
        ),
        (
            Promise(frames=795, end_s=79.5, is_cut=True),
            Tally(pictures=391, end_s=39.1),
            "the container promises 79.50 s (795 frames), it ends after 39.10 s "
            "(391 frames could be read)",
        ),
        (
            Promise(end_s=10.0),
            Tally(pictures=1, end_s=8.9),
            "the container promises 10.00 s, it ends after 8.90 s (1 frame could be read)",
        ),
        (Promise(end_s=10.0, is_cut=True), Tally(pictures=9, end_s=9.96), "it ends after 9.96"),
        (
            Promise(),
            Tally(pictures=7, damaged_packets=1, damaged_pictures=2),
            "7 frames could be read; 1 packet damaged; 2 pictures damaged",
        ),
        (Promise(), Tally(pictures=7, broke_off="I/O error"), "reading broke off: I/O error"),
    ],
)
def test_the_message_says_what_was_lost(promise: Promise, tally: Tally, words: str) -> None:
    assert words in (loss(promise, tally, 0.04) or "")


def test_at_a_low_rate_a_second_is_less_than_a_picture() -> None:
    assert loss(Promise(end_s=100.0), Tally(pictures=9, end_s=91.0), 5.0) is None
    assert loss(Promise(end_s=100.0), Tally(pictures=8, end_s=89.0), 5.0) is not None


@pytest.mark.parametrize("suffix", ["mkv", "avi"])
def test_a_cut_file_is_shorter_than_its_header_says(tmp_path: Path, suffix: str) -> None:
    whole = write_clip(tmp_path / f"clip.{suffix}")
    assert is_file_cut(whole) is False
    assert is_file_cut(cut(whole, 0.7)) is True


def test_other_files_say_nothing_of_their_length(tmp_path: Path) -> None:
    assert is_file_cut(write_clip(tmp_path / "clip.ts")) is None
    assert is_file_cut(tmp_path / "missing.mkv") is None


@pytest.mark.parametrize("data", [b"", b"RIFF", b"\x1a\x45\xdf\xa3", b"\x1a\x45\xdf\xa3\x00ab"])
def test_a_stump_says_nothing_or_is_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "stump"
    path.write_bytes(data)
    assert not is_file_cut(path)


def test_a_recording_that_was_not_closed_promises_no_length(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "live.mkv", ClipSpec(container={"live": "1"}))
    assert is_file_cut(path) is None
    riff = tmp_path / "live.avi"
    riff.write_bytes(b"RIFF\x00\x00\x00\x00AVI ")
    assert is_file_cut(riff) is None
