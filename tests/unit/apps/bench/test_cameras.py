"""The search for the number of cameras, on machines that are a formula."""

from __future__ import annotations

import pytest

from tests.bench_rows import make_result
from vidpipe.apps.bench.cameras import Wanted, guess_from, search_cameras, why_not
from vidpipe.apps.bench.job import RunResult
from vidpipe.errors import UsageError

WANTED = Wanted(rate_fps=5.0, source_fps=25.0, limit_ms=200.0, cores=2)


class Machine:
    """Holds so many cameras; beyond that, frames are lost."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.tried: list[int] = []

    def run(self, count: int) -> RunResult:
        self.tried.append(count)
        captured = round(2.0 * 25 * count)
        is_over = count > self.most
        return make_result(
            frames=round(2.0 * 5 * count),
            captured_of={"gate": captured},
            dropped=captured // 10 if is_over else 0,
            cpu_s=min(4.0, 4.0 * count / (self.most + 0.5)),
        )


@pytest.mark.parametrize("most", [1, 2, 3, 7, 20, 63])
@pytest.mark.parametrize("guess", [1, 5, 40, 500])
def test_the_number_is_found_from_any_guess(most: int, guess: int) -> None:
    machine = Machine(most)
    found = search_cameras(WANTED, guess, machine.run)
    assert found.count == most
    assert found.is_bounded
    assert machine.tried[-1] == most, "and confirmed"
    assert f"with {most + 1}, 10 % of the frames are lost" in found.why


def test_none_may_fit() -> None:
    found = search_cameras(WANTED, 4, Machine(0).run)
    assert found.count == 0
    assert "no cameras hold" in found.why


def test_a_number_that_holds_but_once_does_not_count() -> None:
    machine = Machine(10)
    runs: dict[int, int] = {}

    def run(count: int) -> RunResult:
        runs[count] = runs.get(count, 0) + 1
        if count == 10 and runs[count] > 1:
            return make_result(dropped=100)
        return machine.run(count)

    found = search_cameras(WANTED, 8, run)
    assert found.count == 9


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"cpu_s": 4.0}, "inference"),
        ({"cpu_s": 4.0, "cpu_of": {"decode": 3.0, "inference": 1.0}}, "decode"),
        ({"cpu_s": 4.0, "cpu_of": {"encode": 2.0, "inference": 1.0, "other": 9.0}}, "encode"),
        ({"cpu_s": 2.5, "busiest_s": 1.95}, "decode"),
        ({"cpu_s": 1.0}, "inference"),
    ],
)
def test_what_gives_out_first_is_named(changes: dict[str, object], limit: str) -> None:
    def run(count: int) -> RunResult:
        return make_result(**({"dropped": 100, **changes} if count > 1 else KEEPS_UP))

    found = search_cameras(WANTED, 1, run)
    assert (found.count, found.limit) == (1, limit)


KEEPS_UP: dict[str, object] = {}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dropped": 10}, "5 % of the frames are lost"),
        ({"captured_of": {"gate": 90}, "frames": 20}, "45 of 50 frames/s are decoded"),
        ({"frames": 15}, "8 of 10 results a second come"),
        ({"p95_ms": 201.0}, "p95 is 201 ms, above 200 ms"),
        ({}, None),
    ],
)
def test_why_a_number_does_not_hold(changes: dict[str, object], reason: str | None) -> None:
    fields: dict[str, object] = {"captured_of": {"gate": 200}, **changes}
    assert why_not(WANTED, 2, make_result(**fields)) == reason


def test_a_paced_machine_is_expected_to_do_less() -> None:
    assert guess_from(100.0, 5.0) == 16
    assert guess_from(1.0, 5.0) == 1
    with pytest.raises(UsageError, match="say no rate"):
        guess_from(100.0, 0.0)
