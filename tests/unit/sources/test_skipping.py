from __future__ import annotations

import pytest

from vidpipe.sources.skipping import DecodeMode, DecodePlan, PacketGate

M = DecodeMode


def admitted(gate: PacketGate, keys: set[int], count: int, *, rate_fps: float = 25.0) -> list[int]:
    """Return which of so many packets are let through."""
    return [n for n in range(count) if gate.admits(n / rate_fps, is_key=n in keys)]


def test_a_live_stream_begins_with_its_first_key_frame() -> None:
    gate = PacketGate(DecodePlan(), awaits_key=True)
    assert admitted(gate, {10}, 20) == list(range(10, 20))


def test_a_recording_begins_with_what_it_begins_with() -> None:
    assert admitted(PacketGate(DecodePlan(), awaits_key=False), set(), 5) == list(range(5))


def test_a_stream_that_has_no_key_frames_is_decoded_all_the_same() -> None:
    found = admitted(PacketGate(DecodePlan(), awaits_key=True), set(), 500)
    assert found == list(range(375, 500))


def test_a_broken_key_frame_is_none_and_what_is_broken_is_left_out() -> None:
    gate = PacketGate(DecodePlan(), awaits_key=True)
    assert not gate.admits(0.0, is_key=True, is_corrupt=True)
    assert not gate.admits(0.1, is_key=False)
    assert gate.admits(0.2, is_key=True)
    assert not gate.admits(0.3, is_key=False, is_corrupt=True)
    assert gate.admits(0.4, is_key=False)


def test_key_frames_alone() -> None:
    gate = PacketGate(DecodePlan(M.KEY), awaits_key=True)
    assert admitted(gate, {5, 30, 55}, 60) == [5, 30, 55]


def test_auto_learns_that_key_frames_are_enough() -> None:
    gate = PacketGate(DecodePlan(M.AUTO, 1.0), awaits_key=True)
    found = admitted(gate, set(range(0, 200, 25)), 200)
    assert gate.mode is M.KEY
    assert found == [*range(75), 75, 100, 125, 150, 175]


def test_auto_decodes_all_where_key_frames_are_too_rare() -> None:
    gate = PacketGate(DecodePlan(M.AUTO, 5.0), awaits_key=True)
    assert admitted(gate, set(range(0, 500, 25)), 500) == list(range(500))
    assert gate.mode is M.ALL


def test_auto_decodes_all_while_somebody_watches() -> None:
    watching = False
    gate = PacketGate(DecodePlan(M.AUTO, 1.0, lambda: watching), awaits_key=True)
    admitted(gate, set(range(0, 101, 25)), 101)
    assert gate.mode is M.KEY
    watching = True
    assert [n for n in range(101, 150) if gate.admits(n / 25, is_key=n % 25 == 0)] == [
        *range(125, 150)
    ]
    watching = False
    assert [n for n in range(150, 200) if gate.admits(n / 25, is_key=n % 25 == 0)] == [150, 175]


def test_auto_goes_back_to_all_when_a_camera_makes_its_groups_longer() -> None:
    gate = PacketGate(DecodePlan(M.AUTO, 1.0), awaits_key=True)
    admitted(gate, set(range(0, 101, 25)), 101)
    assert gate.mode is M.KEY
    later = [n for n in range(101, 600) if gate.admits(n / 25, is_key=n % 250 == 0)]
    assert later == list(range(250, 600))


@pytest.mark.parametrize("plan", [DecodePlan(M.AUTO), DecodePlan(M.ALL, 1.0)])
def test_without_a_rate_auto_is_all(plan: DecodePlan) -> None:
    gate = PacketGate(plan, awaits_key=False)
    assert len(admitted(gate, set(range(0, 500, 25)), 500)) == 500
