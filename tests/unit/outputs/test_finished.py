from __future__ import annotations

from pathlib import Path

from vidpipe.outputs.finished import REMEMBERED, FinishedFiles


def test_each_file_is_told_as_it_is_finished(log_lines: list[str]) -> None:
    finished = FinishedFiles("video", "gate")
    finished.add(Path("out/gate-1.mp4"))
    assert log_lines == ["INFO {'stream': 'gate'} video written: out/gate-1.mp4"]
    finished.add(Path("out/gate-2.mp4"))
    assert len(log_lines) == 2
    assert finished.take() == ["out/gate-1.mp4", "out/gate-2.mp4"]
    assert finished.take() == []
    assert len(log_lines) == 2


def test_of_very_many_the_last_ones_are_known() -> None:
    finished = FinishedFiles("video", "gate")
    for n in range(REMEMBERED + 5):
        finished.add(f"{n}.mp4")
    assert finished.take() == [f"{n}.mp4" for n in range(5, REMEMBERED + 5)]
