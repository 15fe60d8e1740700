from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.fakes import FakeClock
from vidpipe.sources.decodeshare import DecodeShare, Member

GROUP_S = 2.0


def lowered(share: DecodeShare, clock: FakeClock, level: float) -> None:
    """Let streams be late until so little is decoded."""
    while share.level() > level:
        clock.advance(2)
        share.note_late()


def crowd(clock: FakeClock) -> DecodeShare:
    """Return what sixteen streams share."""
    share = DecodeShare(clock)
    for _ in range(16):
        share.join(lambda: 0.0)
    return share


class Streams:
    """Streams whose key frames come together, and a model that answers some of what is decoded."""

    def __init__(self, share: DecodeShare, clock: FakeClock, weights: list[float]) -> None:
        self._clock = clock
        self.weights = weights
        self.answers = [0.0] * len(weights)
        self.groups = [0] * len(weights)
        self.members: list[Member] = [
            share.join(lambda n=number: self.answers[n] / weights[n])  # type: ignore[misc]
            for number in range(len(weights))
        ]

    def play(self, groups: int, answers_a_group: float) -> Iterator[list[int]]:
        """Play so many groups of pictures; yield who decoded each."""
        for _ in range(groups):
            chosen = [n for n, one in enumerate(self.members) if one.decodes(GROUP_S)]
            yield chosen
            self._clock.advance(GROUP_S)
            total = sum(self.weights[n] for n in chosen)
            for n in chosen:
                self.groups[n] += 1
                self.answers[n] += answers_a_group * self.weights[n] / total


def test_everything_is_decoded_until_somebody_is_late(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    clock.advance(1000)
    share.note_lag(0.4)
    assert share.level() == 1.0
    streams = Streams(share, clock, [1.0] * 5)
    assert all(chosen == list(range(5)) for chosen in streams.play(20, 10))


def test_many_that_are_late_at_once_count_as_one(clock: FakeClock) -> None:
    share = crowd(clock)
    clock.advance(5)
    for _ in range(16):
        share.note_late()
    assert share.level() == 0.7


def test_less_and_less_is_decoded_but_never_nothing(clock: FakeClock) -> None:
    share = crowd(clock)
    for _ in range(1000):
        clock.advance(2)
        share.note_late()
    assert share.level() == 0.1


def test_where_a_part_is_left_out_a_lag_is_enough_to_leave_out_more(clock: FakeClock) -> None:
    share = crowd(clock)
    lowered(share, clock, 0.7)
    clock.advance(2)
    share.note_lag(0.05)
    assert share.level() == pytest.approx(0.7, rel=0.03)
    share.note_lag(0.2)
    assert share.level() == pytest.approx(0.63, rel=0.03)


def test_lateness_that_lasts_is_answered_again_and_again_however_often_one_asks(
    clock: FakeClock,
) -> None:
    share = crowd(clock)
    levels = []
    for _ in range(400):
        clock.advance(0.05)
        share.note_late()
        levels.append(share.level())
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] < 0.1 + 0.1


def test_more_is_tried_again_after_a_while_up_to_all(clock: FakeClock) -> None:
    share = crowd(clock)
    lowered(share, clock, 0.5)
    found = []
    for _ in range(60):
        clock.advance(1)
        found.append(share.level())
    assert found == sorted(found)
    assert found[0] < 0.55
    assert found[-1] == 1.0


@pytest.mark.parametrize("weights", [[1.0] * 16, [1.0, 2.0, 4.0] * 5 + [1.0]])
def test_answers_are_as_the_weights_though_few_decode_at_once(
    clock: FakeClock, weights: list[float]
) -> None:
    share = DecodeShare(clock)
    streams = Streams(share, clock, weights)
    share._level = 0.4
    for chosen in streams.play(200, 48):
        share._level = 0.4
        assert 1 <= len(chosen) <= 0.4 * 16 + 1
    answers = [count / weight for count, weight in zip(streams.answers, weights, strict=True)]
    assert max(answers) / min(answers) < 1.1


def test_others_that_are_answered_by_a_slower_model_are_not_compared(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    answers = [0.0, 0.0, 0.0, 0.0]
    members = [
        share.join(lambda n=n: answers[n], rivals=n // 2)  # type: ignore[misc]
        for n in range(4)
    ]
    groups = [0] * 4
    rng = random.Random(3)
    for _ in range(200):
        share._level = 0.5
        for n in rng.sample(range(4), 4):
            if members[n].decodes(GROUP_S):
                groups[n] += 1
                answers[n] += 50 if n < 2 else 1
        clock.advance(GROUP_S)
    assert max(groups) < 1.5 * min(groups)


def test_one_that_is_gone_takes_no_place(clock: FakeClock) -> None:
    share = crowd(clock)
    clock.advance(30)
    alone = share.join(lambda: 0.0)
    share._level = 0.1
    found = []
    for _ in range(40):
        clock.advance(GROUP_S)
        share._level = 0.5
        found.append(alone.decodes(GROUP_S))
    assert sum(found) >= 18


def test_one_that_comes_late_begins_level(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    old = Streams(share, clock, [1.0] * 3)
    for _ in old.play(50, 30):
        share._level = 0.67
    late = share.join(lambda: 0.0)
    found = []
    for _ in old.play(20, 30):
        share._level = 0.5
        found.append(late.decodes(GROUP_S))
    assert 5 <= sum(found) <= 20


def test_what_must_be_decoded_is(clock: FakeClock) -> None:
    share = crowd(clock)
    lowered(share, clock, 0.1)
    members = [share.join(lambda: 0.0) for _ in range(8)]
    assert all(member.decodes(GROUP_S, must=True) for member in members)


def test_one_alone_is_never_told_to_rest(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    alone = share.join(lambda: 0.0)
    for _ in range(100):
        clock.advance(GROUP_S)
        share.note_late()
        assert alone.decodes(GROUP_S)
