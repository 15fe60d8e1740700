"""What lies ahead is told for what is left, and for what is to be saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from vidpipe.apps.batch.discover import InputFile
from vidpipe.apps.batch.kinds import Kind
from vidpipe.apps.batch.sampling import Sampling
from vidpipe.apps.batch.survey import survey
from vidpipe.types import SourceInfo, SourceKind

ALL = Sampling()


def files(folder: Path) -> list[InputFile]:
    for name in ("a.mp4", "b.mp4"):
        (folder / name).write_bytes(b"x" * 1_000_000)
    return [InputFile(folder / name, name, Kind.VIDEO, folder) for name in ("a.mp4", "b.mp4")]


def header(_: Path) -> SourceInfo:
    return SourceInfo(
        SourceKind.FILE,
        is_live=False,
        codec="h264",
        width=640,
        height=360,
        rate_fps=25.0,
        frame_count=1000,
        duration_s=40.0,
    )


def test_a_video_takes_the_disk_that_it_took_before(tmp_path: Path) -> None:
    found = survey(files(tmp_path), read=header)
    lines = found.forecast([], set(), ALL)
    assert lines.frames == 2000
    assert 100_000 < lines.room_bytes < 2_000_000
    assert found.forecast(["video"], set(), ALL).room_bytes == lines.room_bytes + 2_000_000
    assert found.forecast(["csv"], set(), ALL).room_bytes > lines.room_bytes


def test_what_is_done_is_not_ahead(tmp_path: Path) -> None:
    found = survey(files(tmp_path), read=header)
    left = found.forecast(["video"], {"a.mp4", "of another run.mp4"}, ALL)
    assert (left.frames, left.done) == (1000, 1)
    assert 1_000_000 < left.room_bytes < 2_000_000


@pytest.mark.parametrize(
    ("sampling", "frames"),
    [
        (Sampling(every=10), 200),
        (Sampling(fps=5.0), 400),
        (Sampling(fps=100.0), 2000),
        (Sampling(start_s=10.0, end_s=30.0), 1000),
        (Sampling(start_s=100.0), 0),
    ],
)
def test_a_sample_takes_less(tmp_path: Path, sampling: Sampling, frames: int) -> None:
    found = survey(files(tmp_path), read=header)
    assert found.forecast([], set(), sampling).frames == pytest.approx(frames)
