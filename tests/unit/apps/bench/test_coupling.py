from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from vidpipe.apps.bench.coupling import LEAD, Coupling, make_board
from vidpipe.runtime.supervisor import ThreadGroup

LONG_S = 30.0


@pytest.fixture
def board(tmp_path: Path) -> Path:
    path = tmp_path / "board"
    make_board(path, 2)
    return path


def test_all_begin_once_the_last_is_ready(board: Path) -> None:
    begun: list[bool] = []
    threads = ThreadGroup()
    with Coupling(board, 0, 2) as one, Coupling(board, 1, 2) as other:
        threads.spawn("one", lambda: begun.append(one.begin()))
        assert not begun
        assert other.begin()
        threads.join(LONG_S)
    assert begun == [True]


def test_one_that_is_ahead_waits_for_the_slower_one(board: Path) -> None:
    passed: list[float] = []
    threads = ThreadGroup()
    with Coupling(board, 0, 2) as quick, Coupling(board, 1, 2) as slow:
        slow.advance(0.0, math.inf)
        quick.advance(LEAD, math.inf)  # just within its lead

        def run_ahead() -> None:
            quick.advance(LEAD + 5.0, math.inf)
            passed.append(time.monotonic())

        threads.spawn("quick", run_ahead)
        freed_at = time.monotonic()
        slow.advance(6.0, math.inf)
        threads.join(LONG_S)
    assert passed
    assert passed[0] >= freed_at


def test_nobody_waits_for_one_that_has_ended(board: Path) -> None:
    with Coupling(board, 0, 2) as quick:
        with Coupling(board, 1, 2) as slow:
            slow.advance(0.0, math.inf)
        quick.advance(1e6, math.inf)


def test_nobody_waits_beyond_the_end_of_the_measuring(board: Path) -> None:
    with Coupling(board, 0, 2) as quick, Coupling(board, 1, 2) as slow:
        slow.advance(0.0, math.inf)
        quick.advance(1e6, time.monotonic() + 0.01)


def test_what_the_waiting_takes_is_known(board: Path) -> None:
    with Coupling(board, 0, 2) as quick, Coupling(board, 1, 2) as slow:
        slow.advance(0.0, math.inf)
        assert quick.waiting_cpu_s == 0.0
        quick.advance(1e6, time.monotonic() + 0.05)
        assert 0.0 < quick.waiting_cpu_s < 0.05
