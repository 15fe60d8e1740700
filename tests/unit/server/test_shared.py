from __future__ import annotations

import asyncio

import pytest

from tests.fakes import FakeClock
from vidpipe.server.shared import SharedAnswer


class Maker:
    """Makes numbers, each in a tenth of a second."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.made: list[str] = []
        self.failure: Exception | None = None

    def __call__(self, kind: str) -> int:
        self.clock.advance(0.1)
        if self.failure is not None:
            raise self.failure
        self.made.append(kind)
        return len(self.made)


def test_all_who_ask_at_once_get_one_answer(clock: FakeClock) -> None:
    maker = Maker(clock)
    answer = SharedAnswer(maker, clock)

    async def ask() -> list[int]:
        return await asyncio.gather(*(answer.get() for _ in range(50)))

    assert asyncio.run(ask()) == [1] * 50


def test_an_answer_is_good_for_nine_times_as_long_as_it_took(clock: FakeClock) -> None:
    answer = SharedAnswer(Maker(clock), clock)
    assert asyncio.run(answer.get()) == 1
    clock.advance(0.89)
    assert asyncio.run(answer.get()) == 1
    clock.advance(0.02)
    assert asyncio.run(answer.get()) == 2


def test_kinds_are_made_apart(clock: FakeClock) -> None:
    maker = Maker(clock)
    answer = SharedAnswer(maker, clock)
    assert [asyncio.run(answer.get(kind)) for kind in ("a", "b", "a")] == [1, 2, 1]
    assert maker.made == ["a", "b"]


def test_a_failure_is_kept_for_nobody(clock: FakeClock) -> None:
    maker = Maker(clock)
    answer = SharedAnswer(maker, clock)
    maker.failure = ValueError("a fault")
    with pytest.raises(ValueError, match="a fault"):
        asyncio.run(answer.get())
    maker.failure = None
    assert asyncio.run(answer.get()) == 1
