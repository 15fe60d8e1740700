"""The time left, and the lines that say it where there is no terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tests.fakes import FakeClock
from vidpipe.apps.bench.progress import BenchProgress, bench_progress


def plain(clock: FakeClock) -> tuple[BenchProgress, StringIO]:
    out = StringIO()
    return BenchProgress(Console(file=out), None, expected_s=6.0, clock=clock), out


def test_the_time_left_is_reckoned_from_the_runs_so_far(clock: FakeClock) -> None:
    progress, out = plain(clock)
    progress.expect(4)
    progress.begin("one")
    clock.advance(10.0)
    progress.end()
    progress.begin("two")
    clock.advance(20.0)
    progress.end()
    progress.begin("three")
    assert out.getvalue().splitlines() == [
        "[1/4] one (24 s left)",
        "[2/4] two (30 s left)",
        "[3/4] three (30 s left)",
    ]


def test_what_comes_later_counts_and_is_taken_off_when_it_comes(clock: FakeClock) -> None:
    progress, out = plain(clock)
    progress.expect(1)
    progress.expect_later(20)
    progress.begin("one")
    progress.end()
    progress.expect_later(-20)
    progress.expect(3)
    progress.begin("two")
    assert out.getvalue().splitlines() == ["[1/21] one (2:06 left)", "[2/4] two (0 s left)"]


def test_a_terminal_gets_a_bar_and_it_is_gone_at_the_end() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with bench_progress(console, expected_s=1.0) as progress:
        progress.expect(2)
        progress.begin("requests [4]")
        progress.say("a line [b]")
        progress.end()
    assert "requests [4]" in out.getvalue()
    assert "a line [b]" in out.getvalue()
