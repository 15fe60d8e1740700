from __future__ import annotations

import itertools

from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare


def test_everything_is_decoded_until_somebody_is_late(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    clock.advance(1000)
    assert share.share() == 1.0


def test_many_that_are_late_at_once_count_as_one(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    clock.advance(5)
    for _ in range(16):
        share.note_late()
    assert share.share() == 0.9


def test_less_and_less_is_decoded_but_never_nothing(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    for _ in range(1000):
        clock.advance(2)
        share.note_late()
    assert share.share() == 0.1


def test_more_is_tried_again_after_a_while_up_to_all(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    for _ in range(10):
        clock.advance(2)
        share.note_late()
    found = []
    for _ in range(40):
        clock.advance(1)
        found.append(share.share())
    assert found == sorted(found)
    assert found[0] < 0.5
    assert found[-1] == 1.0


def test_members_begin_at_different_places(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    phases = sorted(share.phase() for _ in range(16))
    gaps = [b - a for a, b in itertools.pairwise(phases)]
    assert min(gaps) > 0.5 / 16
    assert all(0 <= phase < 1 for phase in phases)
