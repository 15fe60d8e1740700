from __future__ import annotations

import pytest

from vidpipe.sources.pacing import Pacer


def test_the_first_frame_is_due_at_once_wherever_its_clock_begins() -> None:
    assert Pacer().wait_s(1234.5, 99.0) == 0.0


def test_frames_are_due_at_the_distance_of_their_timestamps() -> None:
    pacer = Pacer()
    pacer.wait_s(10.0, 100.0)
    assert pacer.wait_s(10.5, 100.0) == pytest.approx(0.5)
    assert pacer.wait_s(11.0, 100.8) == pytest.approx(0.2)


def test_a_late_frame_is_told_by_how_much_and_moves_nothing() -> None:
    pacer = Pacer()
    pacer.wait_s(0.0, 0.0)
    assert pacer.wait_s(0.04, 1.0) == pytest.approx(-0.96)
    assert pacer.wait_s(1.04, 1.0) == pytest.approx(0.04)


@pytest.mark.parametrize("pts_s", [500.0, 0.0])
def test_a_cut_in_the_recording_is_not_sat_out(pts_s: float) -> None:
    pacer = Pacer()
    pacer.wait_s(100.0, 0.0)
    assert pacer.wait_s(pts_s, 3.0) == 0.0
    assert pacer.wait_s(pts_s + 0.04, 3.0) == pytest.approx(0.04)


def test_a_pause_in_the_recording_is_kept() -> None:
    pacer = Pacer()
    pacer.wait_s(0.0, 0.0)
    assert pacer.wait_s(9.0, 0.0) == pytest.approx(9.0)


def test_a_small_step_back_does_not_tie_the_clocks_anew() -> None:
    pacer = Pacer()
    pacer.wait_s(0.0, 0.0)
    pacer.wait_s(0.12, 0.12)
    assert pacer.wait_s(0.08, 0.12) == pytest.approx(-0.04)


def test_what_was_passed_over_is_no_cut_however_long_and_takes_its_time() -> None:
    pacer = Pacer()
    pacer.wait_s(0.0, 100.0)
    pacer.pass_over()
    assert pacer.wait_s(16.0, 104.0) == 12.0
    assert pacer.wait_s(40.0, 120.0) == 0.0, "a cut in the recording, as before"
