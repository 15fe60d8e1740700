from __future__ import annotations

from fractions import Fraction

import pytest

from tests.coded import START
from vidpipe.outputs.packetclock import PacketClock, Stand
from vidpipe.packets import EncodedPacket, Opening, Track, TrackKind

TRACKS = (
    Track(TrackKind.VIDEO, "h264", Fraction(1, 100)),
    Track(TrackKind.AUDIO, "aac", Fraction(1, 1000)),
)


def opening(*, is_live: bool = True) -> Opening:
    return Opening(0.0, TRACKS, is_live)


def place(
    clock: PacketClock,
    at: Opening,
    dts: int | None,
    arrived_at: float,
    *,
    pts: int | None = None,
    track: int = 0,
) -> Stand | None:
    packet = EncodedPacket(track, b"x", pts, dts, 0, False, arrived_at, START)  # noqa: FBT003
    return clock.place(at, packet)


def places_s(clock: PacketClock, at: Opening, *steps: tuple[int | None, float]) -> list[float]:
    stands = [place(clock, at, dts, arrived_at) for dts, arrived_at in steps]
    return [float(stand.dts_s) for stand in stands if stand is not None]


def test_the_sources_own_steps_are_kept_and_begin_at_zero() -> None:
    steps: list[tuple[int | None, float]] = [(9000, 5.0), (9004, 5.3), (9007, 5.31), (9012, 5.32)]
    assert places_s(PacketClock(), opening(), *steps) == [0.0, 0.04, 0.07, 0.12]


def test_the_first_picture_is_shown_at_zero_and_decoded_before() -> None:
    clock, at = PacketClock(), opening(is_live=False)
    assert place(clock, at, 100, 0.0, pts=108) == Stand(Fraction(0), Fraction(-8, 100))
    assert place(clock, at, 104, 0.0, pts=104) == Stand(Fraction(-4, 100), Fraction(-4, 100))


@pytest.mark.parametrize("jump", [10**7, -(10**7)])
def test_a_clock_that_was_set_goes_on_by_the_arrivals(jump: int) -> None:
    clock = PacketClock()
    steps: list[tuple[int | None, float]] = [
        (0, 50.0),
        (4, 50.04),
        (8 + jump, 50.08),
        (12 + jump, 50.12),
    ]
    assert places_s(clock, opening(), *steps) == pytest.approx([0.0, 0.04, 0.08, 0.12], abs=0.001)
    assert clock.mended_count == 1


def test_a_new_opening_goes_on_by_the_arrivals() -> None:
    clock = PacketClock()
    assert places_s(clock, opening(), (500, 10.0), (504, 10.04)) == [0.0, 0.04]
    assert places_s(clock, opening(), (0, 17.04), (4, 17.08)) == pytest.approx([7.04, 7.08])


def test_a_recorded_source_that_begins_again_goes_on_at_once() -> None:
    clock = PacketClock()
    assert places_s(clock, opening(is_live=False), (0, 1.0), (4, 1.0)) == [0.0, 0.04]
    again = opening(is_live=False)
    assert places_s(clock, again, (0, 99.0), (4, 99.0)) == pytest.approx([0.08, 0.12])


def test_packets_without_times_are_placed_by_their_arrival() -> None:
    clock = PacketClock()
    steps: list[tuple[int | None, float]] = [(None, 3.0), (None, 3.04), (700, 3.08), (704, 3.2)]
    assert places_s(clock, opening(), *steps) == pytest.approx([0.0, 0.04, 0.08, 0.12])


def test_decoding_times_always_grow() -> None:
    clock = PacketClock()
    placed = places_s(clock, opening(), (0, 1.0), (8, 1.1), (4, 1.1), (4, 1.1), (12, 1.2))
    assert placed == pytest.approx([0.0, 0.08, 0.09, 0.10, 0.12])
    assert clock.mended_count == 2


def test_audio_goes_with_its_video_and_has_no_place_without() -> None:
    clock, at = PacketClock(), opening()
    assert place(clock, at, 90_000, 1.0, track=1) is None
    assert place(clock, at, 9000, 1.0) is not None
    stand = place(clock, at, 90_020, 1.0, track=1)
    assert stand == Stand(Fraction(20, 1000), Fraction(20, 1000))
    assert place(clock, at, 500_000, 1.0, track=1) is None  # another clock
    assert place(clock, at, None, 1.0, track=1) is None
