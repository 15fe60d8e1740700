from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import ClipSpec, write_clip
from tests.fakes import FakeClock
from vidpipe.sources.addresses import open_file
from vidpipe.sources.paced import PacedReader


def read_at(path: Path, clock: FakeClock, longest_wait_s: float = 1.0) -> list[float]:
    """Return when each picture is returned."""
    reader = PacedReader(open_file(path), longest_wait_s, clock=clock, sleep=clock.advance)
    found = []
    while reader.read() is not None:
        found.append(clock.now_s)
    reader.close()
    return found


def test_pictures_come_at_their_own_pace(tmp_path: Path, clock: FakeClock) -> None:
    found = read_at(write_clip(tmp_path / "a.mp4", ClipSpec(frames=5)), clock)
    assert found == pytest.approx([0, 0.04, 0.08, 0.12, 0.16])


def test_a_gap_in_the_timestamps_is_not_sat_out(tmp_path: Path, clock: FakeClock) -> None:
    clip = write_clip(tmp_path / "a.mp4", ClipSpec(frames=3, pts=lambda n: n * 5000))
    assert read_at(clip, clock, 0.5) == pytest.approx([0, 0.5, 1.0])
