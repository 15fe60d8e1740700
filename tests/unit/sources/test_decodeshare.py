from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import dataclass, field

import pytest

from tests.fakes import FakeClock
from vidpipe.scheduling.fairness import FairShare
from vidpipe.sources.decodeshare import DecodeShare, Member
from vidpipe.sources.leaping import Leap

RATE_FPS = 25
GROUP_S = 2.0


def crowd(clock: FakeClock, count: int = 16) -> tuple[DecodeShare, list[Member]]:
    """Return what so many streams share, and them."""
    share = DecodeShare(clock)
    return share, [share.join(lambda: 0) for _ in range(count)]


def lowered(share: DecodeShare, clock: FakeClock, level: float) -> None:
    """Let streams be late until so little is decoded."""
    while share._level.part > level:
        clock.advance(2)
        share.note_late()


def test_everything_is_decoded_until_somebody_is_late(clock: FakeClock) -> None:
    share, members = crowd(clock)
    for _ in range(100):
        clock.advance(GROUP_S)
        share.note_lag(0.4)
        assert all(one.begins() and one.goes_on() for one in members)


def test_no_more_decode_at_once_than_there_are_places_for(clock: FakeClock) -> None:
    share, members = crowd(clock)
    lowered(share, clock, 0.5)
    assert 0 < sum(one.begins() for one in members) <= 0.5 * 16 + 1


def test_one_that_has_had_less_takes_the_place_of_one_that_has_had_more(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    answers = [0, 0, 0, 0]
    members = [share.join(lambda n=n: answers[n]) for n in range(4)]  # type: ignore[misc]
    lowered(share, clock, 0.35)
    assert members[0].begins()
    answers[:] = 300, 200, 0, 100
    clock.advance(1)
    assert members[0].goes_on(), "nobody else is at it"
    assert members[3].begins()
    assert members[2].begins()
    assert not members[0].goes_on()
    assert members[2].goes_on()


def test_others_that_are_answered_by_a_slower_model_are_not_compared(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    answers = [0, 0, 0, 0]
    members = [
        share.join(lambda n=n: answers[n], rivals=n // 2)  # type: ignore[misc]
        for n in range(4)
    ]
    lowered(share, clock, 0.5)
    groups = [0] * 4
    rng = random.Random(3)
    for _ in range(200):
        share._level.part = 0.5
        clock.advance(GROUP_S)
        for n in rng.sample(range(4), 4):
            if members[n].begins():
                groups[n] += 1
                answers[n] += 50 if n < 2 else 1
    assert max(groups) < 1.5 * min(groups)


def test_one_that_is_gone_takes_no_place(clock: FakeClock) -> None:
    share, members = crowd(clock)
    assert all(one.begins() for one in members)
    clock.advance(70)
    lowered(share, clock, 0.1)
    alone = share.join(lambda: 0)
    assert all(alone.begins() for _ in range(20))


def test_one_that_comes_late_or_back_begins_level(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    answers = [500] * 3
    old = [share.join(lambda n=n: answers[n]) for n in range(3)]  # type: ignore[misc]
    lowered(share, clock, 0.5)
    for _ in range(3):
        answers[:2] = answers[0] + 500, answers[1] + 500
        clock.advance(25)
        share._level.part = 0.5
        assert old[0].begins() or old[1].begins()
    for newcomer in (share.join(lambda: 0), old[2]):
        newcomer.begins()
        clock.advance(1)
        newcomer.begins()
        assert share._leads(clock())[newcomer] == pytest.approx(1.0, abs=0.3)


def test_who_had_more_while_there_was_enough_for_all_owes_nothing(clock: FakeClock) -> None:
    share = DecodeShare(clock)
    answers = [0, 0]
    slow, fast = (share.join(lambda n=n: answers[n]) for n in range(2))  # type: ignore[misc]
    for _ in range(3):
        answers[:] = answers[0] + 1000, answers[1] + 9000
        for _ in range(9):
            clock.advance(400)
            assert slow.begins()
            assert fast.begins()
        lowered(share, clock, 0.5)
        assert share._leads(clock()) == {slow: 1.0, fast: 1.0}
        share._level.part = 1.0


def test_what_must_be_decoded_is(clock: FakeClock) -> None:
    share, members = crowd(clock)
    lowered(share, clock, 0.1)
    assert all(one.begins(must=True) for one in members)


def test_files_that_began_together_are_played_apart(clock: FakeClock) -> None:
    _, members = crowd(clock)
    apart_s = sorted(one.apart_s for one in members)
    gaps = [after - before for before, after in itertools.pairwise(apart_s)]
    assert max(gaps) < 0.25
    assert apart_s[-1] < 2.0
    assert DecodeShare(clock).join(lambda: 0).apart_s == 0.0


@dataclass
class Player:
    """A file that is played like a camera, and what becomes of its pictures."""

    weight: float
    apart_s: float
    leap: Leap = field(init=False)
    lane: deque[int] = field(default_factory=lambda: deque(maxlen=2))
    picture: int = 0
    left_ms: float = 0.0
    answered: int = 0


class Machine:
    """Two cores that decode and infer: pictures take 7 ms, the model 45 ms."""

    def __init__(self, clock: FakeClock, weights: list[float], keys: list[int]) -> None:
        self._clock = clock
        self._keys = set(keys)
        self._loop = 500
        self._share = DecodeShare(clock)
        self._turns = FairShare()
        self.decoded = 0
        self.players = [Player(weight, 2.0 * (n * 0.618 % 1.0)) for n, weight in enumerate(weights)]
        for n, one in enumerate(self.players):
            member = self._share.join(lambda one=one: one.answered, one.weight)  # type: ignore[misc]
            one.leap = Leap(member, is_live=False)
            self._turns.add(str(n), one.weight)
        self._inferred: list[tuple[Player, float]] = []

    def run(self, seconds: float) -> None:
        """Let time pass, in steps of 4 ms."""
        for _ in range(round(seconds * 250)):
            self._clock.advance(0.004)
            for n, one in enumerate(self.players):
                self._begin(one, str(n))
            self._infer()
            busy = sum(one.left_ms > 0 for one in self.players) + len(self._inferred)
            self._work(4.0 * min(1.0, 2.0 / max(1, busy)))

    def _begin(self, one: Player, name: str) -> None:
        """Look for a picture to decode, up to the one that is due."""
        while one.left_ms <= 0:
            due_s = one.apart_s + one.picture / RATE_FPS
            if due_s > self._clock():
                return
            is_key = one.picture % self._loop in self._keys
            if one.leap.passes_over(one.picture / RATE_FPS, is_key=is_key):
                self._turns.excuse(name)
                one.picture += 1
                continue
            one.left_ms = 7.0
            late_s = self._clock() - due_s
            one.leap.note_lag(late_s)
            if late_s > 0.5:
                one.leap.begin(late_s)

    def _infer(self) -> None:
        while len(self._inferred) < 2:
            name = self._turns.next(str(n) for n, one in enumerate(self.players) if one.lane)
            if name is None:
                return
            self._turns.charge(name)
            one = self.players[int(name)]
            one.lane.popleft()
            self._inferred.append((one, 45.0))

    def _work(self, each_ms: float) -> None:
        for one in self.players:
            if 0 < one.left_ms <= each_ms:
                one.lane.append(one.picture)
                one.picture += 1
                self.decoded += 1
            one.left_ms = max(0.0, one.left_ms - each_ms)
        left = [(one, left_ms - each_ms) for one, left_ms in self._inferred]
        for one, left_ms in left:
            one.answered += left_ms <= 0
        self._inferred = [(one, left_ms) for one, left_ms in left if left_ms > 0]


UNEVEN = [0, 30, 76, 126, 137, 187, 237, 242, 257, 307, 312, 362, 412, 423, 469]


@pytest.mark.parametrize("keys", [[*range(0, 500, 50)], [*range(0, 500, 10)], UNEVEN])
@pytest.mark.parametrize("weights", [[1.0] * 16, [1.0, 2.0, 4.0] * 5 + [1.0]])
def test_answers_are_as_the_weights_where_there_is_no_time_to_decode_all(
    clock: FakeClock, weights: list[float], keys: list[int]
) -> None:
    machine = Machine(clock, weights, keys)
    machine.run(120)
    shares = [one.answered / one.weight for one in machine.players]
    assert max(shares) / min(shares) < (1.05 if len(set(weights)) == 1 else 1.1)
    answered = sum(one.answered for one in machine.players)
    assert answered > 120 * 24, "the model alone could answer 44 a second"
    assert machine.decoded < 5 * answered
