from __future__ import annotations

import time

import pytest

from vidpipe.apps.bench.stagemix import Part, cpu_ms_of, mixed, part_of


def test_kinds_of_streams_are_mixed_by_how_many_they_are() -> None:
    cost = mixed("decode", [Part(3, 1.0, 1000.0, "small"), Part(1, 9.0, 100.0, "large")])
    assert cost.cpu_ms == pytest.approx(3.0)
    # 3 ms for three small ones and 10 ms for the large one: four frames in 13 ms
    assert cost.fps == pytest.approx(4 / 0.013)
    assert cost.detail == "small; large"


def test_a_kind_that_is_there_twice_is_named_once() -> None:
    cost = mixed("resize", [Part(1, 1.0, 10.0, "to 300x300"), Part(1, 1.0, 10.0, "to 300x300")])
    assert cost.detail == "to 300x300"


def test_threads_share_the_cores() -> None:
    assert part_of(1, 2.0, 4, "").fps == pytest.approx(2000.0)


def test_waiting_costs_nothing_and_computing_does() -> None:
    def compute(_: int) -> None:
        until = time.process_time() + 0.002
        while time.process_time() < until:
            pass

    assert cpu_ms_of(compute, 3, 0.0) >= 1.9
    assert cpu_ms_of(lambda _: time.sleep(0.005), 3, 0.0) < 4.0


def test_every_turn_is_taken_as_often_in_a_short_time() -> None:
    seen: list[int] = []
    cpu_ms_of(seen.append, 4, 0.0)
    assert seen == [0, 1, 2, 3, 0, 1, 2, 3]
